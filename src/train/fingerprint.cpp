#include "train/fingerprint.h"

#include <algorithm>
#include <set>

#include "data/deflate.h"
#include "ir/rewrite.h"
#include "text/text.h"

namespace onward {
namespace {

class Checksum {
 public:
  void add(std::span<const std::byte> bytes) {
    add_number(bytes.size());
    crc_ = crc32_of(bytes, crc_);
  }
  void add(const std::string& text) { add(std::as_bytes(std::span(text))); }
  void add(const Tensor& tensor) {
    if (tensor.dtype() != DType::string) return add(tensor.bytes());
    for (const std::string& text : tensor.strings()) add(text);
  }
  uint32_t value() const { return crc_; }

 private:
  void add_number(uint64_t number) { crc_ = crc32_of(std::as_bytes(std::span(&number, 1)), crc_); }

  uint32_t crc_ = 0;
};

std::set<std::string> state_names(const Model& model) {
  std::set<std::string> names;
  for (const TrainingInfo& info : model.training) {
    for (const auto* bindings : {&info.initialization_bindings, &info.update_bindings}) {
      for (const Binding& binding : *bindings) names.insert(binding.target->name());
    }
  }
  return names;
}

}  // namespace

uint32_t model_fingerprint(const Model& model) {
  const std::set<std::string> state = state_names(model);
  Checksum checksum;
  for_each_top_level_graph(model, [&](const Graph& graph, GraphRole) {
    for (const Value* input : graph.inputs()) {
      checksum.add(input->name() + " " + to_string(input->type));
    }
    for (const Value* value : graph.initializers()) {
      const Tensor* tensor = value->tensor();
      checksum.add(value->name() + (tensor ? to_string(tensor->type()) : ""));
      if (tensor && !state.contains(value->name())) checksum.add(*tensor);
    }
    for (const auto& node : graph.nodes()) {
      checksum.add(to_text(*node, {.max_elements = PrintOptions::kAllElements}));
    }
    for (const Value* output : graph.outputs()) checksum.add(output->name());
  });
  for (const TrainingInfo& info : model.training) {
    for (const auto* bindings : {&info.initialization_bindings, &info.update_bindings}) {
      for (const Binding& binding : *bindings) {
        checksum.add(binding.target->name() + " <- " + binding.source->name());
      }
    }
  }
  return checksum.value();
}

std::map<std::string, uint32_t> kept_state(const Model& model) {
  std::map<std::string, uint32_t> kept;
  std::set<std::string> changed;
  for (const TrainingInfo& info : model.training) {
    for (const Binding& binding : info.update_bindings) {
      const Node* node = binding.source->producer();
      const bool is_kept =
          node && node->op == "Identity" && node->domain.empty() &&
          std::ranges::find(node->inputs(), binding.target) != node->inputs().end();
      if (!is_kept) changed.insert(binding.target->name());
    }
  }
  const std::set<std::string> state = state_names(model);
  for_each_top_level_graph(model, [&](const Graph& graph, GraphRole) {
    for (const Value* value : graph.initializers()) {
      const std::string& name = value->name();
      if (!value->tensor() || !state.contains(name) || changed.contains(name)) continue;
      Checksum checksum;
      checksum.add(*value->tensor());
      kept[name] = checksum.value();
    }
  });
  return kept;
}

uint32_t tensors_checksum(const Model& model) {
  Checksum checksum;
  for_each_top_level_graph(model, [&](const Graph& graph, GraphRole) {
    for (const Value* value : graph.initializers()) {
      checksum.add(value->name());
      if (const Tensor* tensor = value->tensor()) checksum.add(*tensor);
    }
  });
  return checksum.value();
}

}  // namespace onward
