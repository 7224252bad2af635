#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "ir/tensor.h"

namespace onward::eval {

class RuntimeValue;

struct RuntimeSequence {
  Type element;  // also of an empty sequence; shapes may differ from element to element
  std::vector<RuntimeValue> values;
};

struct RuntimeOptional {
  Type element;
  std::vector<RuntimeValue> value;  // one, or none
};

struct RuntimeMap {
  Tensor keys;  // a vector of integers or strings
  std::vector<RuntimeValue> values;
};

/// What a value of a graph is while it runs: a tensor, or one of the standard's containers. Strings
/// are tensors of strings.
class RuntimeValue {
 public:
  RuntimeValue() = default;
  RuntimeValue(Tensor tensor) : value_(std::move(tensor)) {}
  RuntimeValue(RuntimeSequence sequence) : value_(std::move(sequence)) {}
  RuntimeValue(RuntimeOptional optional) : value_(std::move(optional)) {}
  RuntimeValue(RuntimeMap map) : value_(std::move(map)) {}

  Type type() const;
  bool is_tensor() const { return std::holds_alternative<Tensor>(value_); }
  bool is_optional() const { return std::holds_alternative<RuntimeOptional>(value_); }

  // Throw Error where it is of another kind.
  const Tensor& tensor() const { return get<Tensor>("tensor"); }
  const RuntimeSequence& sequence() const { return get<RuntimeSequence>("sequence"); }
  const RuntimeOptional& optional() const { return get<RuntimeOptional>("optional"); }
  const RuntimeMap& map() const { return get<RuntimeMap>("map"); }

 private:
  template <typename T>
  const T& get(std::string_view wanted) const {
    if (const T* found = std::get_if<T>(&value_)) return *found;
    refuse(wanted);
  }
  [[noreturn]] void refuse(std::string_view wanted) const;

  std::variant<Tensor, RuntimeSequence, RuntimeOptional, RuntimeMap> value_;
};

}  // namespace onward::eval
