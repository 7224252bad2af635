#include "onward/tensor.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "api/data.h"

namespace onward::api {
namespace {

// Headers that programs include take nothing from ir/, so that the element types are listed there
// once more: the same names with the same numbers.
using Inner = onward::DType;
// clang-format off
constexpr std::pair<DType, Inner> kElementTypes[] = {
    {DType::undefined, Inner::undefined}, {DType::f32, Inner::f32}, {DType::u8, Inner::u8},
    {DType::i8, Inner::i8}, {DType::u16, Inner::u16}, {DType::i16, Inner::i16},
    {DType::i32, Inner::i32}, {DType::i64, Inner::i64}, {DType::string, Inner::string},
    {DType::boolean, Inner::boolean}, {DType::f16, Inner::f16}, {DType::f64, Inner::f64},
    {DType::u32, Inner::u32}, {DType::u64, Inner::u64}, {DType::c64, Inner::c64},
    {DType::c128, Inner::c128}, {DType::bf16, Inner::bf16}, {DType::f8e4m3fn, Inner::f8e4m3fn},
    {DType::f8e4m3fnuz, Inner::f8e4m3fnuz}, {DType::f8e5m2, Inner::f8e5m2},
    {DType::f8e5m2fnuz, Inner::f8e5m2fnuz}, {DType::u4, Inner::u4}, {DType::i4, Inner::i4},
    {DType::f4e2m1, Inner::f4e2m1}, {DType::f8e8m0, Inner::f8e8m0}, {DType::u2, Inner::u2},
    {DType::i2, Inner::i2}, {DType::f6e2m3, Inner::f6e2m3}, {DType::f6e3m2, Inner::f6e3m2},
};
// clang-format on
constexpr bool are_the_same() {
  for (size_t i = 0; i < std::size(kElementTypes); ++i) {
    const auto& [shown, inside] = kElementTypes[i];
    if (static_cast<size_t>(shown) != i || static_cast<size_t>(inside) != i) return false;
  }
  return std::size(kElementTypes) == kDTypeCount;
}
static_assert(are_the_same());

onward::DType inner(DType dtype) {
  if (const auto known = dtype_from_onnx(static_cast<int64_t>(dtype))) return *known;
  throw Error(fmt::format("there is no element type {}", static_cast<int>(dtype)),
              ErrorCode::invalid_argument);
}

}  // namespace

onward::Tensor copied(const onward::Tensor& tensor) {
  if (tensor.dtype() == onward::DType::string) return tensor;
  auto bytes = std::make_shared<std::string>(reinterpret_cast<const char*>(tensor.bytes().data()),
                                             tensor.bytes().size());
  return onward::Tensor::from_bytes(tensor.dtype(), tensor.dims(), std::move(bytes));
}

Tensor TensorData::wrap(onward::Tensor tensor) {
  return Tensor(std::make_shared<const TensorData>(TensorData{std::move(tensor)}));
}

Tensors wrap(const TensorMap& tensors) {
  Tensors wrapped;
  for (const auto& [name, tensor] : tensors) wrapped.emplace(name, TensorData::wrap(tensor));
  return wrapped;
}

TensorMap unwrap(const Tensors& tensors) {
  TensorMap inside;
  for (const auto& [name, tensor] : tensors) inside.emplace(name, TensorData::of(tensor));
  return inside;
}

TensorMap unwrap_copies(const Tensors& tensors) {
  TensorMap inside;
  for (const auto& [name, tensor] : tensors) inside.emplace(name, copied(TensorData::of(tensor)));
  return inside;
}

Tensor::Tensor() : Tensor(std::make_shared<const TensorData>()) {}

Tensor::Tensor(std::shared_ptr<const TensorData> data) : data_(std::move(data)) {}

Tensor::Tensor(DType dtype, std::vector<int64_t> shape, std::span<const std::byte> bytes)
    : data_(with_code(ErrorCode::invalid_argument, [&] {
        auto copy = std::make_shared<const std::string>(reinterpret_cast<const char*>(bytes.data()),
                                                        bytes.size());
        return std::make_shared<const TensorData>(TensorData{
            onward::Tensor::from_bytes(inner(dtype), std::move(shape), std::move(copy))});
      })) {}

Tensor Tensor::view(DType dtype, std::vector<int64_t> shape, std::span<const std::byte> bytes) {
  return with_code(ErrorCode::invalid_argument, [&] {
    return TensorData::wrap(
        onward::Tensor::view(inner(dtype), std::move(shape), bytes, std::make_shared<char>()));
  });
}

DType Tensor::dtype() const { return static_cast<DType>(data_->tensor.dtype()); }
const std::vector<int64_t>& Tensor::shape() const { return data_->tensor.dims(); }
int64_t Tensor::size() const { return data_->tensor.size(); }
std::string Tensor::type() const { return to_string(data_->tensor.type()); }
std::span<const std::byte> Tensor::bytes() const { return data_->tensor.bytes(); }
const std::vector<std::string>& Tensor::strings() const {
  if (dtype() == DType::string) return data_->tensor.strings();
  throw Error(fmt::format("the tensor is {}, not of strings", type()), ErrorCode::invalid_argument);
}

double Tensor::number(int64_t index) const {
  if (index < 0 || index >= size()) {
    throw Error(fmt::format("element {} of {} is none of its {}", index, type(), size()),
                ErrorCode::invalid_argument);
  }
  return with_code(ErrorCode::invalid_argument, [&] { return data_->tensor.number(index); });
}

void Tensor::require(DType dtype) const {
  if (this->dtype() == dtype) return;
  throw Error(fmt::format("the tensor is {}, and can't be read as {}", type(), name(inner(dtype))),
              ErrorCode::invalid_argument);
}

}  // namespace onward::api
