#pragma once

#include "ir/model.h"

namespace onward {

/// What a tensor of an inference model is for, by the nodes that read it.
enum class TensorRole : uint8_t {
  parameter,  // weight, bias, scale, embedding ...: what training changes
  statistic,  // running mean and variance of BatchNormalization: updated, but not trained
  other,      // all else: constants
};

struct RoleOfTensor {
  TensorRole role;
  std::string reason;  // "weight of Conv 'conv1'"
  /// A parameter that is a bias, or a normalization's scale, wherever it is read.
  bool is_bias_or_scale = false;
};

/// Decides by the operators that read the value, also through nodes that only move its elements
/// (Transpose, Reshape, Cast ...). That a tensor holds floats, or is an initializer, says nothing.
RoleOfTensor role_of(const Value& value);

/// What PyTorch's exporter noted of the value ("PARAMETER", "BUFFER"), or "".
std::string torch_kind(const Value& value);

}  // namespace onward
