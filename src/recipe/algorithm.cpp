#include "recipe/algorithm.h"

#include <cstring>

#include "ir/float_formats.h"
#include "onward/error.h"

namespace onward {

Tensor scalar_tensor(double number, DType dtype) { return filled_tensor(number, dtype, {}); }

Tensor filled_tensor(double number, DType dtype, const std::vector<int64_t>& dims) {
  std::string element;
  const auto put = [&](auto value) {
    element.assign(reinterpret_cast<const char*>(&value), sizeof value);
  };
  switch (dtype) {
    case DType::f64:
      put(number);
      break;
    case DType::f32:
      put(static_cast<float>(number));
      break;
    case DType::i64:
      put(static_cast<int64_t>(number));
      break;
    case DType::boolean:
      put(number != 0);
      break;
    case DType::f16:
    case DType::bf16:
      put(static_cast<uint16_t>(encode_small_float(dtype, number, Overflow::special)));
      break;
    default:
      throw Error("tensors of type " + std::string(name(dtype)) + " can't be trained");
  }
  const auto count = static_cast<size_t>(checked_element_count(dims));
  auto bytes = std::make_shared<std::string>();
  bytes->reserve(count * element.size());
  for (size_t i = 0; i < count; ++i) *bytes += element;
  return Tensor::from_bytes(dtype, dims, std::move(bytes));
}

Expr smaller(Expr a, Expr b) { return a.builder().add("Min", values({a, b}), a.dtype()); }

Algorithm::Algorithm(Model& model, int64_t opset)
    : opset_(opset), names_(model), graph_(std::make_unique<Graph>(model.graph.get())) {}

Value* Algorithm::add_input(const std::string& name, Type type) {
  Value* input = graph_->add_input(names_.fresh(name), std::move(type));
  input->declared = true;
  return input;
}

Value* Algorithm::add_state(const std::string& name, Tensor first) {
  const Type type = first.type();
  Value* state = graph_->add_initializer(names_.fresh(name), std::move(first));
  state->type = type;
  return state;
}

Value* Algorithm::constant(const std::string& name, double number, DType dtype) {
  const auto found = constants_.find({name, dtype});
  if (found == constants_.end()) {
    Value* value = add_state(name, scalar_tensor(number, dtype));
    constants_.emplace(std::pair(name, dtype), Constant{number, value});
    return value;
  }
  if (found->second.number != number) throw Bug("two constants of one name: " + name);
  return found->second.value;
}

Value* Algorithm::constants(const std::string& name, const std::vector<double>& numbers,
                            const std::vector<int64_t>& dims, DType dtype) {
  const auto [found, is_new] = lists_.try_emplace({name, dtype}, nullptr);
  if (is_new) {
    auto bytes = std::make_shared<std::string>();
    for (const double number : numbers) {
      const Tensor element = scalar_tensor(number, dtype);
      bytes->append(reinterpret_cast<const char*>(element.bytes().data()), element.bytes().size());
    }
    found->second = add_state(name, Tensor::from_bytes(dtype, dims, std::move(bytes)));
  }
  return found->second;
}

void Algorithm::update(Value* target, Value* source) {
  rename(source, target->name() + ".new");
  source->type = target->type;
  source->declared = true;
  updates_.push_back({target, source});
}

Value* Algorithm::updated(const Value* target) const {
  for (const Binding& each : updates_) {
    if (each.target == target) return each.source;
  }
  throw Bug("no step changes '" + target->name() + "'");
}

void Algorithm::rename(Value* value, const std::string& name) {
  graph_->rename(value, names_.fresh(name));
}

TrainingInfo Algorithm::finish() {
  for (const auto& node : graph_->nodes()) {
    // A graph of a model is in one version; what we write is the same in all since 13.
    if (node->domain.empty()) node->opset = opset_;
  }
  for (const Binding& update : updates_) graph_->add_output(update.source);
  TrainingInfo info;
  info.algorithm = std::move(graph_);
  info.update_bindings = std::move(updates_);
  return info;
}

}  // namespace onward
