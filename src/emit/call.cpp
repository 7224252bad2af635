#include "emit/call.h"

#include <fmt/format.h>

#include <algorithm>

#include "emit/helpers.h"
#include "ir/rewrite.h"
#include "onward/error.h"

namespace onward::emit {

DType Call::result_dtype() const {
  const Value* result = node_.output(0);
  return result ? result->type.dtype : DType::undefined;
}

bool Call::is_number(size_t index) const {
  const Value* value = node_.input(index);
  const Known& known = *body_.context().known;
  if (!value || !known.is_literal(value)) return false;
  const size_t own_rank = known.find(value)->dims().size();
  for (size_t i = 0; i < inputs(); ++i) {
    const Value* other = node_.input(i);
    if (i == index || !other || known.is_literal(other)) continue;
    const auto other_rank = onward::rank(other);
    if (own_rank == 0 || (other_rank && static_cast<size_t>(*other_rank) >= own_rank)) return true;
  }
  return false;
}

std::string Call::operand(size_t index) const {
  if (!is_number(index)) return in(index);
  return python_element(*body_.context().known->find(node_.input(index)), 0);
}

std::optional<std::vector<int64_t>> Call::known(size_t index) const {
  const Value* value = node_.input(index);
  if (value && value->type.shape && element_count(*value->type.shape) == 0) {
    return std::vector<int64_t>{};  // a list that is always empty
  }
  return body_.context().known->integers(value);
}

// Layers, fit and predict run in graphs, where tensors have no numbers yet.
void Call::throw_unknown(size_t index) const {
  throw Error(fmt::format("its input '{}' is only known when it runs; make it a constant",
                          node_.input(index)->name()));
}

std::string Call::ints(size_t index) const {
  if (const auto numbers = known(index)) return python_tuple(*numbers);
  if (dialect().numbers.empty()) throw_unknown(index);
  if (const auto sizes = body_.sizes(node_.input(index))) return python_tuple(*sizes);
  return fmt::format(fmt::runtime(dialect().numbers), plain(index));
}

const Tensor* Call::constant(size_t index) const {
  return body_.context().known->find(node_.input(index));
}

std::string Call::floats(size_t index) const {
  if (const Tensor* known = constant(index)) {
    std::vector<std::string> numbers;
    for (int64_t i = 0; i < known->size(); ++i) numbers.push_back(python_float(known->number(i)));
    return python_tuple(numbers);
  }
  if (dialect().numbers.empty()) throw_unknown(index);
  return fmt::format(fmt::runtime(dialect().numbers), plain(index));
}

std::string Call::sizes(size_t index) const {
  if (!dialect().takes_sizes_as_tensors || known(index)) return ints(index);
  const auto sizes = body_.sizes(node_.input(index));
  return sizes ? python_tuple(*sizes) : plain(index);
}

std::string Call::scalar(size_t index) const {
  const Tensor* number = body_.context().known->find(node_.input(index));
  if (number && number->size() == 1) return python_element(*number, 0);
  if (const std::string* text = body_.number(node_.input(index))) return *text;
  if (dialect().number.empty()) throw_unknown(index);
  if (const auto sizes = body_.sizes(node_.input(index))) return sizes->at(0);
  return fmt::format(fmt::runtime(dialect().number), plain(index));
}

std::optional<std::vector<std::string>> Call::size_texts(size_t index) const {
  return body_.sizes(node_.input(index));
}

size_t Call::rank(size_t index) const {
  const auto rank = onward::rank(node_.input(index));
  if (rank) return static_cast<size_t>(*rank);
  throw Error(fmt::format("the rank of its input '{}' is not known; declare the input's shape",
                          node_.input(index)->name()));
}

std::optional<int64_t> Call::dim(size_t index, size_t axis) const {
  const auto& shape = node_.input(index)->type.shape;
  return shape && axis < shape->size() ? (*shape)[axis].value : std::nullopt;
}

std::vector<int64_t> Call::ints_attribute(std::string_view name) const {
  const auto* found = node_.get<std::vector<int64_t>>(name);
  return found ? *found : std::vector<int64_t>{};
}

std::string Call::float_attribute(std::string_view name, float fallback) const {
  return python_float(node_.float_or(name, fallback), has(0) ? dtype(0) : result_dtype());
}

int64_t Call::axis(int64_t axis) const {
  if (form_ == Form::plain) return axis;
  const auto dimensions = static_cast<int64_t>(rank(0));
  const int64_t from_front = axis < 0 ? axis + dimensions : axis;
  return from_front == 0 ? 0 : from_front == 1 ? dimensions - 1 : from_front - 1;
}

std::string Call::dtype_name(DType dtype) const { return dtype_text(dialect(), dtype); }

std::string Call::module(std::string_view name) const {
  if (name == "np" && !dialect().np.empty()) name = dialect().np;
  if (name == "nn" && !dialect().nn.empty()) name = dialect().nn;
  // Of "jax.nn" it is jax that is imported.
  const std::string_view imported = name.substr(0, name.find('.'));
  const auto found = std::ranges::find(dialect().imports, imported, &Import::name);
  if (found == dialect().imports.end()) {
    throw Bug(fmt::format("{} imports no '{}'", dialect().framework, imported));
  }
  body_.context().modules.emplace(imported);
  return std::string(name);
}

std::string Call::function(std::string_view helper) const {
  if (!has_helper(dialect(), helper)) {
    throw Error(fmt::format("it needs a function '{}' that source for {} does not have yet", helper,
                            dialect().framework));
  }
  body_.context().helpers.emplace(helper);
  return std::string(helper);
}

}  // namespace onward::emit
