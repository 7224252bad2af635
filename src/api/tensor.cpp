#include "onward/tensor.h"

#include <fmt/format.h>

#include "api/data.h"

namespace onward::api {
namespace {

onward::DType inner(DType dtype) {
  static_assert(static_cast<int>(DType::f6e3m2) + 1 == kDTypeCount);
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
