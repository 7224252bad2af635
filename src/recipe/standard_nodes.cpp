#include "recipe/standard_nodes.h"

#include <fmt/format.h>

#include <algorithm>

#include "recipe/loss_def.h"
#include "recipe/optimizer_def.h"

namespace onward {
namespace {

/// A number as its author wrote it: the shortest that rounds to the attribute's float32.
double as_written(const Node& node, std::string_view name, float fallback) {
  return std::stod(fmt::format("{}", node.float_or(name, fallback)));
}

/// Whether the node is what the row says: of its mode, and without numbers that are another row's.
bool is_of(const Node& node, const OptimizerDef& def) {
  if (node.domain != kTrainingDomain || node.op != def.node.op) return false;
  if (!def.node.mode.empty() && node.string_or("mode", "standard") != def.node.mode) return false;
  return std::ranges::all_of(node.attributes(), [&](const Attribute& each) {
    return std::ranges::find(def.settings, each.name, &SettingDef::option) != def.settings.end() ||
           !node.get<float>(each.name) || node.float_or(each.name, 0) == 0;
  });
}

const OptimizerDef* find_standard(const Node& node) {
  const auto found =
      std::ranges::find_if(optimizers(), [&](const OptimizerDef& def) { return is_of(node, def); });
  return found == optimizers().end() ? nullptr : &*found;
}

OptimizerSettings settings_of(const Node& node, const OptimizerDef& def) {
  OptimizerSettings settings(def);
  for (const SettingDef& each : def.settings) {
    if (each.option.empty()) continue;
    const double preset = each.is_complement ? 1 - each.preset : each.preset;
    const double number = as_written(node, each.option, static_cast<float>(preset));
    settings.set(each.name, each.is_complement ? 1 - number : number);
  }
  return settings;
}

class StandardReader {
 public:
  StandardReader(const Model& model, const TrainingInfo& info) : model_(model), info_(info) {}

  std::optional<Recognised> read() {
    if (info_.initialization || !find_nodes()) return std::nullopt;
    const auto* xs = gradient_->get<References>("xs");
    const auto* y = gradient_->get<References>("y");
    const size_t count = optimizer_->inputs().size() < 2 ? 0 : optimizer_->inputs().size() - 2;
    const size_t lists = 2 + form_->slots.size();
    if (!xs || !y || count == 0 || count % lists != 0) return std::nullopt;
    result_.recipe.optimizer = settings_of(*optimizer_, *form_);
    result_.loss = y->values.at(0);
    if (!read_tensors(*xs, count / lists) || !read_rate() || !read_step()) return std::nullopt;
    read_loss();
    return std::move(result_);
  }

 private:
  bool find_nodes() {
    for (const auto& node : info_.algorithm->nodes()) {
      const Node** place = nullptr;
      if (node->domain == kTrainingDomain && node->op == "Gradient") place = &gradient_;
      if (find_standard(*node)) place = &optimizer_;
      if (!place) continue;
      if (*place) return false;  // several
      *place = node.get();
    }
    form_ = optimizer_ ? find_standard(*optimizer_) : nullptr;
    return gradient_ && form_;
  }

  const Value* bound_to(const Value* target) const {
    for (const Binding& binding : info_.update_bindings) {
      if (binding.target == target) return binding.source;
    }
    return nullptr;
  }

  /// Every tensor is bound to its new value, and there are no other bindings than these and T's.
  bool read_tensors(const References& xs, size_t trained) {
    bound_ = 0;
    for (size_t i = 0; i < trained; ++i) {
      TrainedTensor tensor{optimizer_->input(2 + i), optimizer_->input(2 + trained + i), {}};
      const auto x = std::find(xs.values.begin(), xs.values.end(), tensor.parameter);
      if (x == xs.values.end() || !tensor.parameter->tensor()) return false;
      const auto index = static_cast<size_t>(x - xs.values.begin());
      if (gradient_->output(index) != tensor.gradient || gradient_->input(index) != *x)
        return false;
      if (bound_to(tensor.parameter) != optimizer_->output(i)) return false;
      ++bound_;
      for (size_t s = 0; s < form_->slots.size(); ++s) {
        const Value* slot = optimizer_->input(2 + (2 + s) * trained + i);
        if (!slot->tensor() || bound_to(slot) != optimizer_->output((1 + s) * trained + i)) {
          return false;
        }
        tensor.slots.push_back({std::string(form_->slots[s].name), slot});
        ++bound_;
      }
      result_.trained.push_back(std::move(tensor));
    }
    return true;
  }

  bool read_rate() {
    const Value* rate = optimizer_->input(0);
    if (!rate->tensor() || rate->tensor()->size() != 1) return false;
    if (const Value* next = bound_to(rate)) {
      const Node* node = next->producer();
      if (!node || node->op != "Identity" || node->input(0) != rate) return false;
      ++bound_;
    }
    result_.learning_rate = rate;
    result_.recipe.optimizer.set("learning_rate", rate->tensor()->number(0));
    return true;
  }

  /// T grows by one, or is left alone where it makes no difference.
  bool read_step() {
    const Value* step = optimizer_->input(1);
    if (!step->tensor()) return false;
    const Value* next = bound_to(step);
    const std::string_view reason = form_->node.counts_for;
    const bool counts = reason.empty() || result_.recipe.optimizer.is_on(reason);
    if (!next) return !counts && bound_ == info_.update_bindings.size();
    const Node* add = next->producer();
    if (!add || !add->domain.empty() || add->op != "Add") return false;
    const Value* one = add->input(0) == step ? add->input(1) : add->input(0);
    const bool reads_step = add->input(0) == step || add->input(1) == step;
    if (!reads_step || !is_one(one)) return false;
    result_.step = step;
    return bound_ + 1 == info_.update_bindings.size();
  }

  static bool is_one(const Value* value) {
    const Tensor* tensor = value->tensor();
    if (!tensor && value->producer() && value->producer()->op == "Constant") {
      tensor = value->producer()->get<Tensor>("value");
    }
    return tensor && tensor->size() == 1 && tensor->number(0) == 1;
  }

  /// The losses that have a node of their own; all others are custom.
  void read_loss() {
    Recipe& recipe = result_.recipe;
    recipe.loss = kCustomLoss;
    const Node* node = result_.loss->producer();
    if (!node || !node->domain.empty()) return;
    const auto def = std::ranges::find(losses(), node->op, &LossDef::node);
    if (def == losses().end()) return;
    const bool plain = node->string_or("reduction", "mean") == "mean" && !node->input(2) &&
                       !node->attribute("ignore_index");
    const Value* prediction = node->input(0);
    const Value* label = node->input(1);
    if (!plain || &prediction->graph() != model_.graph.get() || !label->is_input() ||
        &label->graph() != info_.algorithm.get()) {
      return;
    }
    recipe.loss = def->name;
    result_.prediction = prediction;
    result_.label = label;
    const auto outputs = model_.graph->outputs();
    if (std::find(outputs.begin(), outputs.end(), prediction) != outputs.end()) {
      recipe.output = prediction->name();
    }
  }

  const Model& model_;
  const TrainingInfo& info_;
  const Node* gradient_ = nullptr;
  const Node* optimizer_ = nullptr;
  const OptimizerDef* form_ = nullptr;
  size_t bound_ = 0;
  Recognised result_;
};

}  // namespace

std::optional<Recognised> by_standard_nodes(const Model& model, const TrainingInfo& info) {
  return StandardReader(model, info).read();
}

}  // namespace onward
