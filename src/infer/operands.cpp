#include "infer/operands.h"

#include "infer/context.h"

namespace onward {
namespace {

/// More numbers are data: nothing is asked of them here.
constexpr int64_t kMaxNumbers = KnownData::kMaxConstantElements;

std::optional<std::vector<double>> numbers_of(const Tensor& tensor) {
  const bool real = is_float(tensor.dtype()) || is_integer(tensor.dtype());
  if (!real || tensor.size() > kMaxNumbers) return std::nullopt;
  std::vector<double> numbers;
  for (int64_t i = 0; i < tensor.size(); ++i) numbers.push_back(tensor.number(i));
  return numbers;
}

}  // namespace

std::optional<Shape> Operands::shape(size_t input) const {
  if (!has(input)) return std::nullopt;
  if (known_) return read_type(*node_.input(input)).shape;
  return tensors_[input]->type().shape;
}

std::optional<int64_t> Operands::rank(size_t input) const {
  const auto found = shape(input);
  return found ? std::optional(static_cast<int64_t>(found->size())) : std::nullopt;
}

std::optional<int64_t> Operands::dim(size_t input, size_t index) const {
  const auto found = shape(input);
  return found && index < found->size() ? (*found)[index].value : std::nullopt;
}

std::optional<std::vector<double>> Operands::numbers(size_t input) const {
  if (!has(input)) return std::nullopt;
  if (!known_) return numbers_of(*tensors_[input]);
  const Value& value = *node_.input(input);
  if (const Tensor* tensor = known_->constant(value)) return numbers_of(*tensor);
  const auto partial = known_->find(value);
  if (!partial || !partial->all_known()) return std::nullopt;
  std::vector<double> numbers;
  for (const Dim& element : partial->elements) {
    numbers.push_back(static_cast<double>(*element.value));
  }
  return numbers;
}

}  // namespace onward
