#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/model.h"

namespace onward {

/// Tensors by the names of the values that they are for.
using TensorMap = std::map<std::string, Tensor, std::less<>>;

/// The tensors that training changes, by name: all targets of bindings. Programs read and write
/// them in place; whoever asks for one gets a copy.
class State {
 public:
  /// The state of a model, with the values that its initializers have.
  explicit State(const Model& model);

  bool has(std::string_view name) const { return tensors_.contains(name); }
  std::vector<std::string> names() const;

  Tensor get(std::string_view name) const;
  /// Throws Error where there is no such tensor, or `value` is of another type or shape.
  void set(std::string_view name, const Tensor& value);

 private:
  TensorMap tensors_;
};

}  // namespace onward
