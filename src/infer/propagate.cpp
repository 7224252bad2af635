#include "infer/propagate.h"

#include <fmt/format.h>

namespace onward {
namespace {

/// A bound on what a hostile chain of nodes can make us remember: some tens of megabytes.
constexpr int64_t kMaxKeptElements = 1 << 18;

template <typename T>
std::optional<Tensor> list_tensor(const Attribute& attribute) {
  const auto* list = std::get_if<std::vector<T>>(&attribute.value);
  if (!list || static_cast<int64_t>(list->size()) > KnownData::kMaxConstantElements) return {};
  return Tensor::of<T>({static_cast<int64_t>(list->size())}, *list);
}

template <typename T>
std::optional<Tensor> scalar_tensor(const Attribute& attribute) {
  const auto* number = std::get_if<T>(&attribute.value);
  return number ? std::optional(Tensor::scalar<T>(*number)) : std::nullopt;
}

/// The tensor that a Constant node holds, in whichever of its attributes.
std::optional<Tensor> tensor_of_constant(const Node& node) {
  if (const auto* tensor = node.get<Tensor>("value")) {
    return tensor->size() <= KnownData::kMaxConstantElements ? std::optional(*tensor)
                                                             : std::nullopt;
  }
  using Reader = std::optional<Tensor> (*)(const Attribute&);
  constexpr std::pair<std::string_view, Reader> kReaders[] = {
      {"value_int", scalar_tensor<int64_t>},
      {"value_ints", list_tensor<int64_t>},
      {"value_float", scalar_tensor<float>},
      {"value_floats", list_tensor<float>},
  };
  for (const auto& [name, read] : kReaders) {
    if (const Attribute* attribute = node.attribute(name)) return read(*attribute);
  }
  return std::nullopt;
}

std::optional<PartialTensor> to_partial(const Tensor& tensor) {
  if (!can_be_partial(tensor.dtype(), tensor.dims())) return std::nullopt;
  PartialTensor partial{.dtype = tensor.dtype(), .dims = tensor.dims(), .elements = {}};
  for (const int64_t element : tensor.integers()) {
    partial.elements.push_back(fitted(tensor.dtype(), Dim::known(element)));
  }
  return partial;
}

std::optional<std::vector<int64_t>> known_dims(const Type& type) {
  if (!type.is_tensor() || !type.shape || type.shape->size() > PartialTensor::kMaxDims) return {};
  std::vector<int64_t> dims;
  for (const Dim& dim : *type.shape) {
    if (!dim.value) return std::nullopt;
    dims.push_back(*dim.value);
  }
  return dims;
}

}  // namespace

KnownData::KnownData(const Model& model) : defaults_are_constants_(model.ir_version < 4) {
  for (const TrainingInfo& info : model.training) {
    for (const Binding& binding : info.initialization_bindings) state_.insert(binding.target);
    for (const Binding& binding : info.update_bindings) state_.insert(binding.target);
  }
}

const Tensor* KnownData::constant(const Value& value) const {
  if (const Tensor* tensor = value.tensor()) {
    if (tensor->size() > kMaxConstantElements || state_.contains(&value)) return nullptr;
    return value.is_input() && !defaults_are_constants_ ? nullptr : tensor;
  }
  const auto found = constants_.find(&value);
  return found == constants_.end() ? nullptr : &found->second;
}

std::optional<PartialTensor> KnownData::find(const Value& value) const {
  if (const auto found = followed_.find(&value); found != followed_.end()) return found->second;
  if (const Tensor* tensor = constant(value)) return to_partial(*tensor);
  auto dims = known_dims(value.type);
  return dims ? unknown_elements(value.type.dtype, std::move(*dims)) : std::nullopt;
}

void KnownData::follow(const Node& node) {
  if (!node.domain.empty()) return;
  if (node.op == "Constant") {
    const Value* output = node.output(0);
    if (auto tensor = tensor_of_constant(node); tensor && output) {
      constants_.emplace(output, std::move(*tensor));
    }
    return;
  }
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    const Value* output = node.output(i);
    if (!output) continue;
    auto tensor = propagate(node, i, *this);
    if (tensor && tensor->any_known()) keep(*output, std::move(*tensor));
  }
}

void KnownData::keep(const Value& value, PartialTensor tensor) {
  const auto count = static_cast<int64_t>(tensor.elements.size());
  if (kept_elements_ + count > kMaxKeptElements) return;
  // What contradicts the type of the value is reported elsewhere and not worth following.
  const Type type = Type::tensor(tensor.dtype, std::span<const int64_t>(tensor.dims));
  if (conflict(type, value.type)) return;
  kept_elements_ += count;
  followed_.emplace(&value, std::move(tensor));
}

}  // namespace onward
