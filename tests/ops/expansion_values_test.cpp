// Expansions where it is easy to be wrong: at kinks, ties, zeros of either sign, infinities and
// NaN, in each precision, and with no elements at all. They agree with the reference kernel of
// their operator, and so do their gradients with its rule.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "eval/array.h"
#include "eval/interpreter.h"
#include "grad/backward.h"
#include "grad/differentiate.h"
#include "grad/step.h"
#include "ir/clone.h"
#include "ir/copy.h"
#include "ops/infer_step.h"
#include "ops/legalize.h"
#include "opset/lift.h"
#include "tests/ops/case_emptied.h"
#include "text/text.h"

namespace onward {
namespace {

using Tensors = std::vector<Tensor>;

/// A node of a case's step, and what it reads there.
struct Instance {
  std::string name;
  const Node* node;
  Tensors inputs;  // of no type where one is left out
};

Model step_of_case(const Case& tested, int order) {
  Model step;
  if (tested.has_gradient) {
    step = join_step(gradient_model(tested, Shapes::fixed, order), 0);
    replace_gradients(step);
  } else {
    step = case_model(tested, Shapes::fixed);
    lift(step);
  }
  infer_step_types(step);
  return step;
}

eval::Environment environment_of(const Model& step, const Case& tested) {
  eval::Environment environment;
  const TensorMap tensors = case_tensors(tested);
  for (const Value* input : step.graph->inputs()) {
    environment.emplace(input, tensors.at(input->name()));
  }
  return environment;
}

/// Large ones show nothing more.
bool is_small(const Tensors& inputs) {
  constexpr int64_t kMaxElements = 400;
  int64_t elements = 0;
  for (const Tensor& input : inputs) elements += input.size();
  return elements <= kMaxElements;
}

/// Special numbers are put into tensors, and graphs inside read more than a node's inputs.
bool takes_tensors_alone(const Node& node, const eval::Environment& environment) {
  return node.subgraphs().empty() && std::ranges::all_of(node.inputs(), [&](const Value* input) {
           return !input || environment.at(input).is_tensor();
         });
}

/// Small nodes that differ in more than their names; `steps` keeps them.
std::vector<Instance> instances(const std::function<bool(const Node&)>& wanted,
                                std::vector<Model>& steps) {
  std::vector<Instance> all;
  std::set<std::string> seen;
  for (const Case& tested : all_cases()) {
    if (!tested.error.empty()) continue;
    steps.push_back(step_of_case(tested, tested.smooth ? 2 : 1));
    const Graph& graph = *steps.back().graph;
    eval::Environment environment = environment_of(steps.back(), tested);
    eval::run_graph(graph, environment);
    for (const auto& node : graph.nodes()) {
      if (!wanted(*node) || !takes_tensors_alone(*node, environment)) continue;
      Instance found{fmt::format("{} of '{}'", node->op, tested.name), node.get(), {}};
      std::string key = node->op;
      for (const Value* input : node->inputs()) {
        found.inputs.push_back(input ? environment.at(input).tensor() : Tensor());
        key += to_string(found.inputs.back().type());
      }
      const std::string text = to_text(*node);
      key += text.substr(text.find('='), text.find('(') - text.find('='));
      if (is_small(found.inputs) && seen.insert(key).second) all.push_back(std::move(found));
    }
  }
  return all;
}

/// Whether results have the shapes that are known in the step, or none.
enum class Sizes : uint8_t { known, computed };

/// A model of that node alone.
struct Alone {
  Model model;
  Node* node;

  Alone(const Node& original, const Tensors& inputs, Sizes sizes = Sizes::known) {
    model.ir_version = 10;
    model.opsets = {{"", inner_opset()}, {std::string(kInternalDomain), 1}};
    Graph& graph = *model.graph;
    ValueMap map;
    for (size_t i = 0; i < inputs.size(); ++i) {
      Value* value = original.input(i);
      if (!value || map.contains(value)) continue;
      map[value] = graph.add_input(fmt::format("input_{}", i), inputs[i].type());
    }
    node = clone_node(original, graph, map);
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      if (!node->output(i)) continue;
      const bool is_known = sizes == Sizes::known && i == 0;
      node->output(i)->type =
          is_known ? Type::tensor(inputs[0].dtype(), original.output(0)->type.shape) : Type();
    }
    infer_step_types(model);
  }

  eval::Environment environment(const Tensors& inputs) const {
    eval::Environment tensors;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (node->input(i)) tensors.emplace(node->input(i), inputs[i]);
    }
    return tensors;
  }
};

/// ConvTranspose by plain sums: the reference takes it for the very operator whose expansion it is.
Tensor conv_transpose(const Node& node, const Tensor& x, const Tensor& w) {
  const size_t rank = x.dims().size() - 2;
  const auto list = [&](const char* name) { return *node.get<std::vector<int64_t>>(name); };
  const auto strides = list("strides"), dilations = list("dilations"), pads = list("pads"),
             beyond = list("output_padding");
  const int64_t group = node.int_or("group", 1), outputs = w.dims()[1];
  std::vector<int64_t> dims = {x.dims()[0], group * outputs};
  for (size_t d = 0; d < rank; ++d) {
    dims.push_back((x.dims()[2 + d] - 1) * strides[d] + (w.dims()[2 + d] - 1) * dilations[d] + 1 +
                   beyond[d] - pads[d] - pads[rank + d]);
  }
  eval::Array<double> y(dims);
  eval::for_each_position(x.dims(), [&](std::span<const int64_t> at, int64_t xi) {
    eval::for_each_position(w.dims(), [&](std::span<const int64_t> tap, int64_t wi) {
      if (tap[0] != at[1]) return;
      int64_t place = at[0] * dims[1] + at[1] / (x.dims()[1] / group) * outputs + tap[1];
      for (size_t d = 0; d < rank; ++d) {
        const int64_t position = at[2 + d] * strides[d] + tap[2 + d] * dilations[d] - pads[d];
        if (position < 0 || position >= dims[2 + d]) return;
        place = place * dims[2 + d] + position;
      }
      y[place] += x.number(xi) * w.number(wi);
    });
  });
  return eval::to_tensor(y, x.dtype());
}

void run_plain(const Graph& graph, eval::Environment& environment) {
  const eval::Surroundings around{.captured = [&](const Value& value) {
    const auto found = environment.find(&value);
    return found == environment.end() ? nullptr : &found->second;
  }};
  for (const auto& node : graph.nodes()) {
    std::vector<const eval::RuntimeValue*> inputs;
    for (const Value* input : node->inputs()) {
      inputs.push_back(input ? &environment.at(input) : nullptr);
    }
    const bool is_written = node->op == "ConvTranspose" && node->attribute("output_padding") &&
                            node->attribute("pads") && !node->input(2);  // by an expansion
    const std::vector<eval::RuntimeValue> results =
        is_written ? std::vector<eval::RuntimeValue>{conv_transpose(*node, inputs[0]->tensor(),
                                                                    inputs[1]->tensor())}
                   : eval::run_node(*node, inputs, around);
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      if (node->output(i)) environment.insert_or_assign(node->output(i), results.at(i));
    }
  }
}

Tensors by_kernel(const Node& original, const Tensors& inputs) {
  const Alone alone(original, inputs);
  std::vector<const Tensor*> pointers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    pointers.push_back(alone.node->input(i) ? &inputs[i] : nullptr);
  }
  return eval::run_node(*alone.node, pointers);
}

Tensors by_expansion(const Node& original, const Tensors& inputs, Sizes sizes = Sizes::known) {
  Alone alone(original, inputs, sizes);
  eval::Environment environment = alone.environment(inputs);
  Names names(alone.model);
  Builder builder(*alone.model.graph, alone.node, names);
  const std::vector<Expr> results = expand_node(*alone.node, builder);
  alone.model.graph->remove_node(alone.node);
  run_plain(*alone.model.graph, environment);
  Tensors tensors;
  for (const Expr& result : results) {
    tensors.push_back(result.value() ? environment.at(result.value()).tensor() : Tensor());
  }
  return tensors;
}

/// A few roundings of a number of the type.
double roundings(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 1e-12;
    case DType::f32:
      return 1e-5;
    case DType::f16:
      return 0x1p-10;
    default:
      return 0x1p-7;
  }
}

double largest_of(const Tensor& tensor) {
  double largest = 1;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    if (std::isfinite(tensor.number(i))) largest = std::max(largest, std::fabs(tensor.number(i)));
  }
  return largest;
}

/// Sums are compared next to their largest element, and the sign of a zero depends on how they
/// begin. An elementwise operator gives each element, and its sign, by itself.
enum class Kind : uint8_t { sums, elementwise };

void expect_same(const Tensor& got, const Tensor& wanted, Kind kind) {
  ASSERT_EQ(got.type(), wanted.type());
  const double bound = roundings(wanted.dtype()), largest = largest_of(wanted);
  for (int64_t i = 0; i < got.size(); ++i) {
    const double a = got.number(i), b = wanted.number(i);
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a != b) {
      EXPECT_NEAR(a, b, bound * (kind == Kind::sums ? largest : std::fabs(b))) << "element " << i;
    } else if (kind == Kind::elementwise) {
      EXPECT_EQ(std::signbit(a), std::signbit(b)) << "element " << i << " is " << a;
    }
  }
}

Tensor with_numbers(const Tensor& tensor, DType dtype,
                    const std::function<double(int64_t)>& number) {
  eval::Array<double> array(tensor.dims());
  for (int64_t i = 0; i < array.size(); ++i) array[i] = number(i);
  return eval::to_tensor(array, dtype);
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Special {
  std::string name;
  /// What becomes of element `i` of float input `input`.
  std::function<double(double x, int64_t i)> number;
  bool is_finite = true, has_gradient = true;
};

const Special kSpecials[] = {
    {"as drawn", [](double x, int64_t) { return x; }},
    {"zeros", [](double, int64_t) { return 0.0; }},
    {"negative zeros", [](double, int64_t) { return -0.0; }},
    {"ties", [](double, int64_t) { return 1.0; }},
    {"kinks", [](double, int64_t i) { return static_cast<double>(i % 3) - 1; }},
    {"far from zero", [](double x, int64_t) { return x < 0 ? x - 6 : x + 6; }, true, false},
    {"one NaN", [](double x, int64_t i) { return i == 1 ? kNaN : x; }, false, false},
    {"one infinity", [](double x, int64_t i) { return i == 1 ? kInfinity : x; }, false, false},
    {"one negative infinity", [](double x, int64_t i) { return i == 1 ? -kInfinity : x; }, false,
     false},
};

/// The inputs in a type, one float of them changed, or all.
Tensors changed(const Tensors& inputs, DType dtype, std::optional<size_t> which,
                const Special& special) {
  Tensors result;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& input = inputs[i];
    if (!is_float(input.dtype())) {
      result.push_back(input);
      continue;
    }
    const bool is_changed = !which || *which == i;
    result.push_back(with_numbers(input, dtype, [&](int64_t e) {
      return is_changed ? special.number(input.number(e), e) : input.number(e);
    }));
  }
  return result;
}

std::vector<std::optional<size_t>> choices_of(const Tensors& inputs) {
  std::vector<std::optional<size_t>> which = {std::nullopt};
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (is_float(inputs[i].dtype())) which.emplace_back(i);
  }
  return which;
}

bool takes(const Node& node, const Tensors& inputs) {
  try {
    by_kernel(node, inputs);
    return true;
  } catch (const Error&) {
    return false;  // the standard does not have the operator in this type
  }
}

Kind kind_of(const Node& node, const Tensors& inputs) {
  Alone alone(node, inputs);
  Names names(alone.model);
  Builder builder(*alone.model.graph, alone.node, names);
  expand_node(*alone.node, builder);
  const bool adds_up = std::ranges::any_of(alone.model.graph->nodes(), [](const auto& each) {
    return each->op.starts_with("Reduce") || each->op.starts_with("Conv") || each->op == "SumTo" ||
           each->op == "Det";
  });
  return adds_up ? Kind::sums : Kind::elementwise;
}

TEST(ExpansionValues, AreTheKernels) {
  std::vector<Model> steps;
  std::map<std::string, std::set<DType>> compared;
  for (const Instance& each : instances(
           [](const Node& node) {
             // Some floats of ResizeGrad are scales.
             if (node.op == "ResizeGrad") return false;
             return has_expansion(node) && eval::find_kernel(node.domain, node.op);
           },
           steps)) {
    for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
      if (!takes(*each.node, changed(each.inputs, dtype, std::nullopt, kSpecials[0]))) continue;
      compared[each.node->op].insert(dtype);
      const Kind kind = kind_of(*each.node, each.inputs);
      for (const Special& special : kSpecials) {
        // A fast transform multiplies infinities with other numbers than a matrix does.
        if (each.node->op == "DFT" && !special.is_finite) continue;
        for (const auto which : choices_of(each.inputs)) {
          SCOPED_TRACE(fmt::format("{} in {}, {} in input {}", each.name, name(dtype), special.name,
                                   which ? std::to_string(*which) : "s all"));
          const Tensors inputs = changed(each.inputs, dtype, which, special);
          const Tensors wanted = by_kernel(*each.node, inputs);
          for (const Sizes sizes : {Sizes::known, Sizes::computed}) {
            // A padding whose size is computed is multiplied with, which infinities show.
            if (sizes == Sizes::computed && !special.is_finite) continue;
            const Tensors got = by_expansion(*each.node, inputs, sizes);
            for (size_t i = 0; i < each.node->outputs().size(); ++i) {
              if (each.node->output(i)) expect_same(got.at(i), wanted.at(i), kind);
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(compared.at("Gelu").size(), 4);
  EXPECT_GE(compared.size(), 4);
}

/// The gradients with respect to the float inputs; of no type where there is none.
Tensors gradients(const Node& original, const Tensors& inputs, const Tensors& outputs,
                  bool by_rule) {
  Alone alone(original, inputs);
  Graph& graph = *alone.model.graph;
  eval::Environment environment = alone.environment(inputs);
  std::vector<Value*> floats;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (is_float(inputs[i].dtype())) floats.push_back(alone.node->input(i));
  }
  Names names(alone.model);
  BackwardRequest request{.ys = {}, .dys = {}, .xs = floats};
  Builder builder(graph, by_rule ? nullptr : alone.node, names);
  std::vector<Expr> results;
  if (!by_rule) results = expand_node(*alone.node, builder);
  for (size_t i = 0; i < alone.node->outputs().size(); ++i) {
    Value* y = by_rule ? alone.node->output(i) : results.at(i).value();
    if (!alone.node->output(i) || !is_float(outputs.at(i).dtype())) continue;
    request.ys.push_back(y);
    Value* dy = graph.add_input(fmt::format("dy_{}", i), outputs[i].type());
    request.dys.push_back(dy);
    environment.emplace(dy, with_numbers(outputs[i], outputs[i].dtype(), [](int64_t e) {
                          return 1 + 0.25 * static_cast<double>(e % 5);
                        }));
  }
  if (!by_rule) {
    graph.remove_node(alone.node);
    infer_step_types(alone.model);
  }
  Builder end(graph, nullptr, names);
  const std::vector<Value*> found = backward(request, end);
  run_plain(graph, environment);
  Tensors tensors;
  for (const Value* value : found) {
    tensors.push_back(value ? environment.at(value).tensor() : Tensor());
  }
  return tensors;
}

TEST(ExpansionValues, HaveTheGradientsOfTheRules) {
  std::vector<Model> steps;
  std::set<std::string> compared;
  for (const Instance& each : instances(
           [](const Node& node) {
             // ConvGradX is what its own expansion is differentiated as.
             if (node.op == "ConvGradX" || node.op == "AveragePoolGrad") return false;
             // Of quantized elements only the rule knows a gradient, which is an estimate.
             if (node.input(0) && !is_float(node.input(0)->type.dtype)) return false;
             if (node.op == "ResizeGrad") return false;  // some of its floats are scales
             return has_expansion(node) && find_op_def(node)->vjp;
           },
           steps)) {
    compared.insert(each.node->op);
    for (const Special& special : kSpecials) {
      if (!special.has_gradient) continue;
      SCOPED_TRACE(fmt::format("{}, {}", each.name, special.name));
      const Tensors inputs = changed(each.inputs, DType::f64, std::nullopt, special);
      const Tensors outputs = by_expansion(*each.node, inputs);
      const Tensors by_rule = gradients(*each.node, inputs, outputs, true);
      const Tensors derived = gradients(*each.node, inputs, outputs, false);
      ASSERT_EQ(by_rule.size(), derived.size());
      for (size_t i = 0; i < derived.size(); ++i) {
        SCOPED_TRACE(fmt::format("by float input {}", i));
        expect_same(derived[i], by_rule[i], Kind::sums);
      }
    }
  }
  EXPECT_GE(compared.size(), 7);
}

/// With dimensions of size zero, forward and back: the step on kernels, and all of it expanded.
TEST(ExpansionValues, OfNoElements) {
  // ConvTranspose and ConvGradX are each other's expansion.
  const Refuses refuses = [](const Node& node) {
    return has_expansion(node) && node.op != "ConvTranspose" ? "it can be plainer" : "";
  };
  std::set<std::string> expanded;
  for (const Case& original : all_cases()) {
    if (!original.error.empty()) continue;
    for (const Case& tested : emptied_cases(original)) {
      Model step, plain;
      Tensors wanted;
      try {
        step = step_of_case(tested, 1);
        wanted = eval::outputs_of(*step.graph, environment_of(step, tested));
        plain = copy(step);
      } catch (const Error&) {
        continue;  // sizes that do not fit
      }
      bool random = false;
      for_each_node(*step.graph, [&](const Node& node) {
        if (has_expansion(node)) expanded.insert(node.op);
        random |= has_traits(node, kRandom);
      });
      if (random) continue;
      SCOPED_TRACE(tested.name + ", " + to_text(*step.graph->nodes().front()));
      try {
        EXPECT_TRUE(try_legalize(plain, refuses).empty());
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
        continue;
      }
      eval::Environment environment = environment_of(plain, tested);
      run_plain(*plain.graph, environment);
      for (size_t i = 0; i < wanted.size(); ++i) {
        expect_same(environment.at(plain.graph->outputs()[i]).tensor(), wanted[i], Kind::sums);
      }
    }
  }
  EXPECT_GE(expanded.size(), 10);
}

}  // namespace
}  // namespace onward
