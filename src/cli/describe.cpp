#include <fmt/format.h>

#include <map>

#include "cli/show.h"
#include "ir/roles.h"
#include "ir/utf8.h"
#include "recipe/optimizer_def.h"
#include "recipe/recipe.h"
#include "recipe/schedule_def.h"
#include "text/text.h"

namespace onward::cli {
namespace {

using Json = nlohmann::ordered_json;

int64_t byte_size(const Initializer& initializer) {
  if (const Tensor* dense = initializer.dense()) {
    if (dense->dtype() != DType::string) return static_cast<int64_t>(dense->bytes().size());
    int64_t total = 0;
    for (const std::string& text : dense->strings()) total += static_cast<int64_t>(text.size());
    return total;
  }
  const SparseTensor* sparse = initializer.sparse();
  return static_cast<int64_t>(sparse->values.bytes().size() + sparse->indices.bytes().size());
}

/// A scalar's value, or that of a tensor with one element; null for all else.
Json single_value(const Value& value) {
  const Tensor* tensor = value.tensor();
  if (!tensor || tensor->size() != 1 || is_complex(tensor->dtype())) return nullptr;
  if (tensor->dtype() == DType::string) return printable(tensor->strings()[0]);
  if (tensor->dtype() == DType::boolean) return tensor->integer(0) != 0;
  if (tensor->dtype() == DType::u64) return tensor->data<uint64_t>()[0];
  if (is_integer(tensor->dtype())) return tensor->integer(0);
  if (tensor->dtype() == DType::f32) {
    // The shortest text that means this float: 0.2, not 0.20000000298.
    return std::stod(fmt::format("{}", tensor->data<float>()[0]));
  }
  return tensor->number(0);
}

Json describe_value(const Value& value) {
  return {{"name", value.name()}, {"type", to_string(value.type)}};
}

Json describe_values(std::span<Value* const> values) {
  Json list = Json::array();
  for (const Value* value : values) list.push_back(describe_value(*value));
  return list;
}

Json describe_initializer(const InitializerRole& role) {
  const Value& value = *role.value;
  Json json = {{"name", value.name()}, {"type", to_string(value.initializer()->type())}};
  json["bytes"] = byte_size(*value.initializer());
  if (const Json number = single_value(value); !number.is_null()) json["value"] = number;
  json["reason"] = role.reason;
  return json;
}

Json describe_bindings(const std::vector<Binding>& bindings) {
  Json list = Json::array();
  for (const Binding& binding : bindings) {
    list.push_back({{"target", binding.target->name()}, {"source", binding.source->name()}});
  }
  return list;
}

Json describe_gradient(const Node& node) {
  Json list = Json::array();
  const auto* xs = node.get<References>("xs");
  const auto* y = node.get<References>("y");
  if (!xs || !y) return list;
  for (size_t i = 0; i < xs->values.size(); ++i) {
    const Value* result = node.output(i);
    if (!result) continue;
    list.push_back({{"gradient", result->name()},
                    {"of", y->values[0]->name()},
                    {"by", xs->values[i]->name()}});
  }
  return list;
}

bool is_optimizer(const Node& node) {
  return node.domain == kTrainingDomain && node.op != "Gradient";
}

/// How a scalar that an optimizer reads is shown: its value where it is an initializer.
Json operand(const Value* value) {
  if (!value) return nullptr;
  Json number = single_value(*value);
  return number.is_null() ? Json(value->name()) : number;
}

/// The standard's optimizers take R, T, and then parameters, gradients and slots, a list of each.
Json describe_optimizer(const Node& node) {
  Json json = {{"op", node.op}, {"node", node.label()}};
  json["R"] = operand(node.input(0));
  json["T"] = operand(node.input(1));
  for (const Attribute& attribute : node.attributes()) {
    if (const auto* number = std::get_if<float>(&attribute.value)) {
      json["attributes"][attribute.name] = std::stod(fmt::format("{}", *number));
    } else if (const auto* text = std::get_if<std::string>(&attribute.value)) {
      json["attributes"][attribute.name] = *text;
    }
  }
  const size_t lists = node.op == "Adam" ? 4 : 3;
  const size_t count = node.inputs().size() < 2 ? 0 : (node.inputs().size() - 2) / lists;
  json["updates"] = Json::array();
  for (size_t i = 0; i < count; ++i) {
    if (const Value* parameter = node.input(2 + i)) json["updates"].push_back(parameter->name());
  }
  return json;
}

/// A float32, as a learning rate may be kept, by the shortest text that means it: 0.001, not
/// 0.0010000000475.
double shortest(double number) {
  const auto rounded = static_cast<float>(number);
  return static_cast<double>(rounded) == number ? std::stod(fmt::format("{}", rounded)) : number;
}

/// The recipe that a training info was written by: the loss and the optimizer by name.
Json describe_recipe(const Model& model, size_t info) {
  const auto found = recognise(model, info);
  if (!found) return nullptr;
  const OptimizerSettings& optimizer = found->recipe.optimizer;
  Json json = {{"loss", found->recipe.loss},
               {"reduction", to_string(found->recipe.reduction)},
               {"optimizer", optimizer.name()},
               {"formula", to_string(optimizer.formula())}};
  const Recipe& recipe = found->recipe;
  for (const auto& [name, value] : recipe.loss_settings) json["loss_settings"][name] = value;
  if (!recipe.class_weights.empty()) json["loss_settings"]["class_weights"] = recipe.class_weights;
  if (recipe.class_axis != 1) json["loss_settings"]["class_axis"] = recipe.class_axis;
  if (has_schedule(recipe)) {
    json["schedule"]["name"] = recipe.schedule;
    for (const auto& [name, value] : recipe.schedule_settings) json["schedule"][name] = value;
  }
  if (recipe.clip.norm) json["clipping"]["clip_norm"] = *recipe.clip.norm;
  if (recipe.clip.norm_each) json["clipping"]["clip_norm_each"] = *recipe.clip.norm_each;
  if (recipe.clip.value) json["clipping"]["clip_value"] = *recipe.clip.value;
  if (recipe.ema) json["ema"] = *recipe.ema;
  for (const ParameterGroup& each : recipe.groups) json["groups"][each.pattern] = each.settings;
  if (!recipe.decays_biases) json["decay_biases"] = false;
  for (const SettingDef& each : optimizer.def().settings) {
    json["settings"][std::string(public_name(each.name))] = shortest(optimizer[each.name]);
  }
  return json;
}

Json describe_training_info(const Model& model, size_t index) {
  const TrainingInfo& info = model.training[index];
  Json json;
  json["recipe"] = describe_recipe(model, index);
  json["initialization"] =
      info.initialization ? Json(to_text(*info.initialization)) : Json(nullptr);
  json["initialization_bindings"] = describe_bindings(info.initialization_bindings);
  json["inputs"] = info.algorithm ? describe_values(info.algorithm->inputs()) : Json::array();
  json["outputs"] = info.algorithm ? describe_values(info.algorithm->outputs()) : Json::array();
  json["losses"] = Json::array();
  json["gradients"] = Json::array();
  json["optimizers"] = Json::array();
  if (info.algorithm) {
    for (const auto& node : info.algorithm->nodes()) {
      for (const Json& gradient : describe_gradient(*node)) {
        json["gradients"].push_back(gradient);
        const Json& loss = gradient["of"];
        auto& losses = json["losses"];
        if (std::find(losses.begin(), losses.end(), loss) == losses.end()) losses.push_back(loss);
      }
      if (is_optimizer(*node)) json["optimizers"].push_back(describe_optimizer(*node));
    }
  }
  json["update_bindings"] = describe_bindings(info.update_bindings);
  json["algorithm"] = info.algorithm ? Json(to_text(*info.algorithm)) : Json(nullptr);
  return json;
}

Json describe_operators(const Model& model) {
  std::map<std::pair<std::string, std::string>, int> counts;
  for_each_top_level_graph(model, [&](const Graph& graph, GraphRole) {
    for_each_node(graph, [&](const Node& node) { ++counts[{node.domain, node.op}]; });
  });
  Json list = Json::array();
  for (const auto& [op, count] : counts) {
    list.push_back({{"op", op.second}, {"domain", op.first}, {"count", count}});
  }
  return list;
}

}  // namespace

Json describe(const Model& model) {
  Json json;
  json["name"] = model.graph->name;
  json["form"] = model.from_draft ? "2019 draft, read as the standard's form" : "standard";
  json["ir_version"] = model.ir_version;
  for (const OpsetImport& import : model.opsets) {
    json["opsets"][import.domain.empty() ? "ai.onnx" : import.domain] = import.version;
  }
  json["producer"] =
      model.producer_name + (model.producer_version.empty() ? "" : " ") + model.producer_version;
  json["inputs"] = describe_values(model.graph->inputs());
  json["outputs"] = describe_values(model.graph->outputs());
  for (const char* kind : {"parameters", "state", "constants"}) json[kind] = Json::array();
  for (const InitializerRole& role : initializer_roles(model)) {
    const char* kind = role.role == Role::parameter ? "parameters"
                       : role.role == Role::state   ? "state"
                                                    : "constants";
    json[kind].push_back(describe_initializer(role));
  }
  json["training"] = Json::array();
  for (size_t i = 0; i < model.training.size(); ++i) {
    json["training"].push_back(describe_training_info(model, i));
  }
  json["operators"] = describe_operators(model);
  return json;
}

}  // namespace onward::cli
