// What definitions say of operators is true: every trait is held against what the reference kernels
// compute in the cases and in their differentiated steps, and against the standard's schemas.

#include <gtest/gtest.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "eval/interpreter.h"
#include "grad/differentiate.h"
#include "grad/step.h"
#include "ops/op_def.h"
#include "tests/ops/case.h"

namespace onward {
namespace {

using Inputs = std::vector<const Tensor*>;

/// A node that ran.
struct Ran {
  const Node& node;
  const OpDef& definition;
  Inputs inputs;
  std::vector<Tensor> outputs;

  std::vector<Tensor> again(const Inputs& with, const eval::RandomKey& key = {}) const {
    return eval::run_node(node, with, key);
  }
  /// Whether the result has type and shape of the first input.
  bool keeps_type() const {
    return inputs[0]->dtype() == outputs[0].dtype() && inputs[0]->dims() == outputs[0].dims();
  }
};

bool same(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.dims() == b.dims() && std::ranges::equal(a.bytes(), b.bytes());
}

bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

std::vector<double> numbers(const Tensor& tensor) {
  std::vector<double> list;
  for (int64_t i = 0; i < tensor.size(); ++i) list.push_back(tensor.number(i));
  return list;
}

std::vector<double> sorted(std::vector<double> list) {
  std::ranges::sort(list);
  return list;
}

/// Which element of an operand a position of the result goes with.
int64_t operand_index(const std::vector<int64_t>& dims, const std::vector<int64_t>& result,
                      int64_t position) {
  int64_t index = 0, step = 1;
  for (size_t d = 0; d < result.size(); ++d) {  // the last dimension first
    const int64_t size = result[result.size() - 1 - d];
    const int64_t at = position % size;
    position /= size;
    if (d >= dims.size()) continue;
    const int64_t own = dims[dims.size() - 1 - d];
    if (own != 1) index += at * step;
    step *= own;
  }
  return index;
}

std::vector<int64_t> broadcast(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  std::vector<int64_t> result(std::max(a.size(), b.size()), 1);
  for (const auto* dims : {&a, &b}) {
    for (size_t d = 0; d < dims->size(); ++d) {
      int64_t& dim = result[result.size() - dims->size() + d];
      if ((*dims)[d] != 1) dim = (*dims)[d];
    }
  }
  return result;
}

/// The tensor with all elements changed but one.
Tensor changed_but(const Tensor& tensor, int64_t kept) {
  eval::Array<double> array = eval::to_array<double>(tensor);
  for (int64_t i = 0; i < array.size(); ++i) {
    if (i == kept) continue;
    array[i] = tensor.dtype() == DType::boolean ? 1 - array[i] : array[i] + 1;
  }
  return eval::to_tensor(array, tensor.dtype());
}

void check_elementwise(const Ran& ran) {
  const Tensor& y = ran.outputs[0];
  const bool broadcasts = ran.definition.has(kBroadcasts);
  std::vector<int64_t> dims = ran.inputs[0]->dims();
  for (const Tensor* input : ran.inputs) {
    if (input && broadcasts) dims = broadcast(dims, input->dims());
  }
  ASSERT_EQ(y.dims(), dims);
  for (const int64_t position : {int64_t{0}, y.size() / 2, y.size() - 1}) {
    if (position < 0 || position >= y.size()) continue;
    std::vector<Tensor> changed;
    changed.reserve(ran.inputs.size());
    Inputs inputs = ran.inputs;
    for (const Tensor*& input : inputs) {
      if (!input || (!broadcasts && input != ran.inputs[0])) continue;
      const int64_t own = operand_index(input->dims(), dims, position);
      input = &changed.emplace_back(changed_but(*input, own));
    }
    const Tensor other = ran.again(inputs)[0];
    ASSERT_EQ(other.dims(), dims);
    const double before = y.number(position), after = other.number(position);
    EXPECT_TRUE(same_number(before, after)) << before << " " << after;
  }
}

void check_view(const Ran& ran) {
  EXPECT_EQ(ran.inputs[0]->dtype(), ran.outputs[0].dtype());
  EXPECT_TRUE(std::ranges::equal(ran.inputs[0]->bytes(), ran.outputs[0].bytes()));
}

void check_permutes(const Ran& ran) {
  EXPECT_EQ(sorted(numbers(*ran.inputs[0])), sorted(numbers(ran.outputs[0])));
}

/// A sum of one element may lose the sign of a zero.
void check_keeps_same_type(const Ran& ran) {
  const auto x = numbers(*ran.inputs[0]), y = numbers(ran.outputs[0]);
  EXPECT_TRUE(std::ranges::equal(x, y, same_number));
}

void check_moves_data(const Ran& ran) {
  std::set<double> given;
  for (size_t i = 0; i < ran.inputs.size(); ++i) {
    const InputRole role = ran.definition.inputs.of(i);
    if (!ran.inputs[i] || (role != InputRole::data && role != InputRole::embedding)) continue;
    for (const double number : numbers(*ran.inputs[i])) given.insert(number);
  }
  for (const Tensor& output : ran.outputs) {
    for (const double number : numbers(output)) EXPECT_TRUE(given.contains(number)) << number;
  }
}

/// Also of what is not said to be random: it must not be.
void check_random(const Ran& ran) {
  const eval::RandomKey first{.step = 1}, second{.step = 2};
  const auto a = ran.again(ran.inputs, first), b = ran.again(ran.inputs, second);
  EXPECT_TRUE(std::ranges::equal(a, ran.again(ran.inputs, first), same));
  const bool draws =
      ran.definition.has(kRandom) && (!ran.definition.trains || ran.definition.trains(ran.node));
  EXPECT_TRUE(draws || std::ranges::equal(a, b, same));
}

/// The results where each input has been multiplied by a number.
std::vector<Tensor> scaled_results(const Ran& ran, double by) {
  std::vector<Tensor> moved;
  moved.reserve(ran.inputs.size());
  Inputs inputs = ran.inputs;
  for (const Tensor*& input : inputs) {
    if (!input || !is_float(input->dtype())) continue;
    eval::Array<double> array = eval::to_array<double>(*input);
    for (int64_t i = 0; i < array.size(); ++i) array[i] *= by;
    input = &moved.emplace_back(eval::to_tensor(array, input->dtype()));
  }
  return ran.again(inputs);
}

/// Results that are not differentiated do not follow the inputs. Inputs may lie where results
/// jump, as the integers of a Ceil: on one side they stay even there.
void check_no_gradient(const Ran& ran) {
  EXPECT_TRUE(std::ranges::equal(ran.outputs, scaled_results(ran, 1 + 1e-9), same) ||
              std::ranges::equal(ran.outputs, scaled_results(ran, 1 - 1e-9), same));
}

/// Results lie where the rule says, given where the operands do.
void check_range(const Ran& ran) {
  std::vector<Range> operands;
  for (const Tensor* input : ran.inputs) {
    if (!input) continue;
    const std::vector<double> all = sorted(numbers(*input));
    if (all.empty() || !std::isfinite(all.front()) || !std::isfinite(all.back())) return;
    operands.push_back({all.front(), all.back()});
  }
  const bool same = operands.size() == 2 && ran.inputs[0] == ran.inputs[1];
  const auto range = ran.definition.range(operands, same);
  if (!range) return;
  const double room = 1e-6 * (1 + std::max(std::fabs(range->low), std::fabs(range->high)));
  for (const double number : numbers(ran.outputs[0])) {
    EXPECT_TRUE(number >= range->low - room && number <= range->high + room) << number;
  }
}

/// A trait, what it means of a node that ran, and whether that node can show it.
struct TraitCheck {
  std::string_view name;
  bool (*applies)(const Ran&);
  void (*check)(const Ran&);
};

const TraitCheck kChecks[] = {
    {"elementwise", [](const Ran& ran) { return ran.definition.has(kElementwise); },
     check_elementwise},
    {"view", [](const Ran& ran) { return ran.definition.has(kView); }, check_view},
    {"permutes", [](const Ran& ran) { return ran.definition.has(kPermutes); }, check_permutes},
    {"keeps same type",
     [](const Ran& ran) { return ran.definition.has(kKeepsSameType) && ran.keeps_type(); },
     check_keeps_same_type},
    {"moves data",
     [](const Ran& ran) {
       return ran.definition.has(kMovesData) && ran.inputs[0]->dtype() == ran.outputs[0].dtype();
     },
     check_moves_data},
    {"random", [](const Ran&) { return true; }, check_random},
    {"range",
     [](const Ran& ran) {
       return ran.definition.range != nullptr && !is_integer(ran.outputs[0].dtype());
     },
     check_range},
    {"no gradient", [](const Ran& ran) { return !ran.definition.no_gradient.empty(); },
     check_no_gradient},
};

/// Which operators showed which traits.
using Seen = std::map<std::string_view, std::set<std::string_view>>;

/// What takes or gives sequences and optional values, or has graphs inside, is not looked at.
bool is_of_tensors(const Node& node, const eval::Environment& environment) {
  const auto is_tensor = [&](const Value* value) {
    return !value || environment.at(value).is_tensor();
  };
  return node.subgraphs().empty() && std::ranges::all_of(node.inputs(), is_tensor) &&
         std::ranges::all_of(node.outputs(),
                             [&](const auto& each) { return is_tensor(each.get()); });
}

void check_nodes(const Graph& graph, eval::Environment environment, Seen& seen) {
  eval::run_graph(graph, environment);
  for (const auto& node : graph.nodes()) {
    const OpDef* definition = find_op_def(*node);
    ASSERT_TRUE(definition) << node->op;
    if (!is_of_tensors(*node, environment)) {
      seen["other values"].insert(definition->name);
      continue;
    }
    Inputs inputs;
    for (const Value* input : node->inputs()) {
      inputs.push_back(input ? &environment.at(input).tensor() : nullptr);
    }
    Ran ran{*node, *definition, inputs, {}};
    ran.outputs = ran.again(inputs);
    for (const TraitCheck& each : kChecks) {
      if (!each.applies(ran)) continue;
      SCOPED_TRACE(node->op + " '" + node->label() + "': " + std::string(each.name));
      each.check(ran);
      seen[each.name].insert(definition->name);
    }
  }
}

eval::Environment environment_of(const Case& tested, const Graph& graph) {
  const TensorMap tensors = case_tensors(tested);
  eval::Environment environment;
  for (const Value* input : graph.inputs()) environment.emplace(input, tensors.at(input->name()));
  return environment;
}

/// Of an operator that only expansions have.
void check_swap_last_two(Seen& seen) {
  const Tensor matrices = case_tensor(f64("x", {2, 3, 4}), 1);
  Graph graph;
  Value* x = graph.add_input("x", matrices.type());
  Node* node = graph.add_node("SwapLastTwo", {x});
  node->domain = kInternalDomain;
  node->add_output("y", Type::tensor(DType::f64));
  check_nodes(graph, {{x, matrices}}, seen);
}

TEST(Traits, AreWhatTheCasesShow) {
  Seen seen;
  check_swap_last_two(seen);
  std::vector<Case> cases = all_cases();
  for (const Case& tested : helper_cases()) cases.push_back(tested.without_gradient());
  for (const Case& tested : cases) {
    if (!tested.error.empty()) continue;
    SCOPED_TRACE(tested.name);
    const Model forward = case_model(tested, Shapes::fixed);
    check_nodes(*forward.graph, environment_of(tested, *forward.graph), seen);
    if (!tested.has_gradient) continue;
    Model step = join_step(gradient_model(tested, Shapes::fixed), 0);
    replace_gradients(step);
    check_nodes(*step.graph, environment_of(tested, *step.graph), seen);
  }
  for (const OpDef& definition : op_defs()) {
    if (!definition.missing.empty() || is_tested_elsewhere(definition.name)) continue;
    const auto expect_seen = [&](std::string_view trait) {
      EXPECT_TRUE(seen[trait].contains(definition.name)) << definition.name << ": " << trait;
    };
    if (definition.has(kElementwise)) expect_seen("elementwise");
    if (definition.has(kView)) expect_seen("view");
    if (definition.has(kPermutes)) expect_seen("permutes");
    if (definition.has(kKeepsSameType) && !definition.has(kView)) expect_seen("keeps same type");
    if (definition.has(kMovesData)) expect_seen("moves data");
    if (definition.range) expect_seen("range");
    const bool takes_others = seen["other values"].contains(definition.name);
    if (definition.domain.empty() && !definition.no_gradient.empty() && !takes_others) {
      expect_seen("no gradient");
    }
  }
}

TEST(Traits, OfRandomOperatorsShowInTwoSteps) {
  std::set<std::string_view> drawn;
  for (const Case& tested : random_cases()) {
    if (!tested.error.empty()) continue;
    const Model model = case_model(tested, Shapes::fixed);
    const auto run = [&](uint64_t step) {
      eval::Environment environment = environment_of(tested, *model.graph);
      eval::run_graph(*model.graph, environment, {.step = step});
      return environment;
    };
    const eval::Environment first = run(1), second = run(2);
    for (const auto& node : model.graph->nodes()) {
      const Value* result = node->output(0);
      if (result && !same(first.at(result).tensor(), second.at(result).tensor()) &&
          has_traits(*node, kRandom)) {
        drawn.insert(find_op_def(*node)->name);
      }
    }
  }
  for (const OpDef& definition : op_defs()) {
    if (definition.missing.empty() && definition.has(kRandom)) {
      EXPECT_TRUE(drawn.contains(definition.name)) << definition.name;
    }
  }
}

/// Whether the formal input may have that type.
bool takes(const onnx::OpSchema::FormalParameter& input, const std::string& type) {
  return std::ranges::any_of(input.GetTypes(), [&](const auto* each) { return *each == type; });
}

TEST(Roles, FitTheTypesOfInputs) {
  for (const OpDef& definition : op_defs()) {
    if (definition.domain == kInternalDomain) continue;
    const auto* schema = onnx::OpSchemaRegistry::Schema(std::string(definition.name),
                                                        std::string(definition.domain));
    ASSERT_TRUE(schema) << definition.name;
    const auto& formal = schema->inputs();
    EXPECT_LE(definition.inputs.count(), std::max<size_t>(formal.size(), 1)) << definition.name;
    for (size_t i = 0; i < formal.size(); ++i) {
      const InputRole role = definition.inputs.of(i);
      if (role == InputRole::data || role == InputRole::setting) continue;
      const bool counts =
          role == InputRole::index || role == InputRole::shape || role == InputRole::label;
      EXPECT_TRUE(takes(formal[i], counts ? "tensor(int64)"
                                          : "tensor("
                                            "float)"))
          << definition.name << ", input " << i << ": " << name(role);
    }
  }
}

TEST(Traits, FitTheSchemas) {
  for (const OpDef& definition : op_defs()) {
    if (!definition.domain.empty()) continue;
    const auto* schema = onnx::OpSchemaRegistry::Schema(std::string(definition.name));
    const auto& attributes = schema->attributes();
    const bool has_training_mode = attributes.contains("training_mode") ||
                                   std::ranges::any_of(schema->inputs(), [](const auto& input) {
                                     return input.GetName() ==
                                            "training"
                                            "_mode";
                                   });
    EXPECT_EQ(definition.trains != nullptr, has_training_mode) << definition.name;
    if (!definition.missing.empty()) continue;
    // A transposed convolution slides it over its result.
    const bool has_windows = attributes.contains("auto_pad") && attributes.contains("pads") &&
                             !attributes.contains("output_padding");
    EXPECT_EQ(definition.has(kWindows), has_windows) << definition.name;
    EXPECT_EQ(definition.has(kRandom), attributes.contains("seed")) << definition.name;
  }
}

TEST(Gradients, AreThereOrHaveOneReason) {
  for (const OpDef& definition : op_defs()) {
    const bool has_gradient =
        definition.vjp || (definition.expansion && definition.no_gradient.empty());
    const int answers =
        int{has_gradient} + int{!definition.no_gradient.empty()} + int{!definition.missing.empty()};
    EXPECT_EQ(answers, 1) << definition.name;
  }
}

}  // namespace
}  // namespace onward
