#include "recipe/loss.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/clone.h"
#include "onward/error.h"
#include "recipe/loss_def.h"

namespace onward {
namespace {

std::string names_of(std::span<Value* const> values) {
  std::vector<std::string> names;
  for (const Value* value : values) names.push_back(fmt::format("'{}'", value->name()));
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Where dimensions are counted from the front; nothing where that needs a rank that is not known.
std::optional<int64_t> from_front(int64_t axis, const Value* value) {
  if (axis >= 0) return axis;
  const auto dimensions = rank(value);
  return dimensions ? std::optional(*dimensions + axis) : std::nullopt;
}

/// A Softmax along another dimension than that of the classes is no part of the loss.
bool is_over_classes(const Node& node, int64_t class_axis) {
  if (node.op == "Sigmoid") return true;
  const int64_t axis = node.int_or("axis", -1);
  if (axis == class_axis) return true;
  const auto place = from_front(axis, node.input(0));
  return place && place == from_front(class_axis, node.input(0));
}

void check_class_axis(const LossDef& def, const Recipe& recipe, const Value& prediction) {
  const auto dimensions = rank(&prediction);
  if (recipe.class_axis == 1) {
    if (!dimensions || *dimensions >= 2) return;
    throw Error(fmt::format("{} expects classes in dimension 1, but '{}' is {}", def.name,
                            prediction.name(), to_string(prediction.type)));
  }
  if (!dimensions) {
    throw Error(fmt::format("class_axis {} needs a prediction whose rank is known, but '{}' is {}",
                            recipe.class_axis, prediction.name(), to_string(prediction.type)));
  }
  const auto place = from_front(recipe.class_axis, &prediction);
  if (place < 1 || place >= *dimensions) {
    throw Error(fmt::format("class_axis {} is no dimension of '{}' after the first: it is {}",
                            recipe.class_axis, prediction.name(), to_string(prediction.type)));
  }
}

Value* behind_identities(Value* value) {
  while (value->producer() && value->producer()->domain.empty() &&
         value->producer()->op == "Identity") {
    value = value->producer()->input(0);
  }
  return value;
}

void require_floats(const Value& prediction) {
  if (!prediction.type.known()) return;
  if (prediction.type.is_tensor() && is_float(prediction.type.dtype)) return;
  throw Error(
      fmt::format("the loss cannot be computed from '{}': it is {}, not a floating-point tensor",
                  prediction.name(), to_string(prediction.type)));
}

Type label_type(Label label, const Type& prediction, int64_t class_axis) {
  if (label != Label::classes) return Type::tensor(prediction.dtype, prediction.shape);
  std::optional<Shape> shape = prediction.shape;
  if (shape) shape->erase(shape->begin() + class_axis);
  return Type::tensor(DType::i64, shape);
}

/// With the classes in dimension 1, where the formulas have them.
Expr with_classes_second(Expr x, int64_t class_axis) {
  const Shape& before = *x.value()->type.shape;
  std::vector<int64_t> order = {0, class_axis};
  for (int64_t i = 1; i < static_cast<int64_t>(before.size()); ++i) {
    if (i != class_axis) order.push_back(i);
  }
  Shape shape;
  for (const int64_t axis : order) shape.push_back(before[static_cast<size_t>(axis)]);
  return x.builder().add_value("Transpose", {x.value()}, Type::tensor(x.dtype(), shape),
                               {{"perm", order}});
}

Expr reduced(Expr each, Reduction reduction) {
  const std::string_view op = reduction == Reduction::mean ? "ReduceMean" : "ReduceSum";
  return each.builder().add(op, {each.value()}, each.dtype(), {{"keepdims", int64_t{0}}});
}

}  // namespace

Value* find_output(const Model& model, const std::string& name) {
  const auto outputs = model.graph->outputs();
  if (outputs.empty()) throw Error("the model has no output to compute a loss from");
  if (name.empty()) {
    if (outputs.size() == 1) return outputs[0];
    throw Error(
        fmt::format("the model has {} outputs, choose the one for the loss with --model-output: {}",
                    outputs.size(), names_of(outputs)));
  }
  const auto found = std::find_if(outputs.begin(), outputs.end(),
                                  [&](const Value* value) { return value->name() == name; });
  if (found == outputs.end()) {
    throw Error(fmt::format("the model has no output '{}': it has {}", name, names_of(outputs)));
  }
  return *found;
}

LossInput find_loss_input(const Model& model, const Recipe& recipe) {
  const LossDef& def = *find_loss(recipe.loss);
  Value* prediction = find_output(model, recipe.output);
  require_floats(*prediction);
  LossInput input{prediction, {}};
  const Node* node = behind_identities(prediction)->producer();
  const bool looks_through = recipe.loss_reads == LossReads::logits && node &&
                             node->domain.empty() &&
                             std::ranges::find(def.inside, node->op) != def.inside.end();
  if (looks_through && is_over_classes(*node, recipe.class_axis)) {
    input.prediction = node->input(0);
    input.note =
        fmt::format("the loss is computed from the logits '{}', before the {} that computes '{}'",
                    input.prediction->name(), node->op, prediction->name());
  }
  if (def.has_classes()) check_class_axis(def, recipe, *input.prediction);
  return input;
}

WrittenLoss write_loss(Algorithm& algorithm, const Recipe& recipe, Value* prediction) {
  const LossDef& def = *find_loss(recipe.loss);
  const int64_t class_axis =
      def.has_classes() ? from_front(recipe.class_axis, prediction).value() : 1;
  Value* label = algorithm.add_input("label", label_type(def.label, prediction->type, class_axis));
  Builder builder = algorithm.builder("loss/");
  Expr x = builder.expr(prediction), y = builder.expr(label);
  if (class_axis != 1) {
    x = with_classes_second(x, class_axis);
    if (def.label == Label::shares) y = with_classes_second(y, class_axis);
  }
  const LossParts parts{recipe, algorithm};
  Value* result =
      (def.each ? reduced(def.each(parts, x, y), recipe.reduction) : def.whole(parts, x, y))
          .value();
  algorithm.rename(result, "loss");
  result->type = Type::tensor(prediction->type.dtype, Shape{});
  return {result, label};
}

void check_custom_loss(const Model& model, const Graph& loss) {
  const auto outputs = model.graph->outputs();
  const bool reads_the_model =
      std::any_of(loss.inputs().begin(), loss.inputs().end(), [&](const Value* input) {
        return std::any_of(outputs.begin(), outputs.end(),
                           [&](const Value* output) { return output->name() == input->name(); });
      });
  if (!reads_the_model) {
    throw Error(fmt::format(
        "no input of the loss has the name of a model output: the loss has {}, the model {}",
        names_of(loss.inputs()), names_of(outputs)));
  }
  if (loss.outputs().size() != 1) {
    throw Error(fmt::format("the loss must have one output, a scalar, but has {}: {}",
                            loss.outputs().size(), names_of(loss.outputs())));
  }
  const Type& type = loss.outputs()[0]->type;
  const bool scalar = !type.shape || type.shape->empty();
  if (type.known() && !(type.is_tensor() && is_float(type.dtype) && scalar)) {
    throw Error(fmt::format("the output '{}' of the loss is {}, not a scalar float",
                            loss.outputs()[0]->name(), to_string(type)));
  }
}

WrittenLoss write_custom_loss(Algorithm& algorithm, const Graph& loss, const FindOutput& find) {
  ValueMap map;
  for (const Value* input : loss.inputs()) {
    if (input->initializer()) continue;  // a constant that old files list as an input too
    Value* output = find(input->name());
    if (!output) {
      map[input] = algorithm.add_input(input->name(), input->type);
      continue;
    }
    if (const auto reason = conflict(input->type, output->type)) {
      throw Error(fmt::format("the loss expects '{}' to be {}, but in the model it is {}: {}",
                              input->name(), to_string(input->type), to_string(output->type),
                              *reason));
    }
    map[input] = output;
  }
  for (const Value* value : loss.initializers()) {
    if (value->uses().empty()) continue;
    if (!value->tensor()) {
      throw Error(fmt::format("'{}' of the loss is a sparse tensor", value->name()));
    }
    map[value] = algorithm.add_state(value->name(), *value->tensor());
  }
  for (const auto& node : loss.nodes()) {
    const Node* copy = clone_node(*node, algorithm.graph(), map);
    for (const auto& output : copy->outputs()) {
      if (output) algorithm.rename(output.get(), output->name());
    }
  }
  Value* result = mapped(map, loss.outputs()[0]);
  if (&result->graph() != &algorithm.graph() || !result->producer()) {
    throw Error(
        fmt::format("no node of the loss computes its output '{}'", loss.outputs()[0]->name()));
  }
  return {result, nullptr};
}

}  // namespace onward
