#include "eval/runtime_value.h"

#include <fmt/format.h>

#include "onward/error.h"

namespace onward::eval {

Type RuntimeValue::type() const {
  if (const auto* tensor = std::get_if<Tensor>(&value_)) return tensor->type();
  if (const auto* sequence = std::get_if<RuntimeSequence>(&value_)) {
    return Type::sequence(sequence->element);
  }
  if (const auto* optional = std::get_if<RuntimeOptional>(&value_)) {
    return Type::optional(optional->element);
  }
  const auto& map = std::get<RuntimeMap>(value_);
  return Type::map(map.keys.dtype(), map.values.empty() ? Type::unknown() : map.values[0].type());
}

void RuntimeValue::refuse(std::string_view wanted) const {
  throw Error(fmt::format("a value is {}, not a {}", to_string(type()), wanted));
}

}  // namespace onward::eval
