// Every operator case with one thing about it wrong: an operand of another shape, a number in an
// attribute or in an integer operand that is out of range. Whatever comes of it, `check`, planned
// programs and reference kernels agree: all refuse it with an Error, or all compute the same. Run
// under sanitizers, this also says that nobody reads or writes where they must not.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <ctime>
#include <functional>
#include <limits>
#include <set>

#include "check/check.h"
#include "eval/interpreter.h"
#include "grad/differentiate.h"
#include "grad/step.h"
#include "ir/memory_limit.h"
#include "ir/rewrite.h"
#include "onward/error.h"
#include "ops/infer_step.h"
#include "runtime/program.h"
#include "tests/ops/case.h"

namespace onward {
namespace {

using Dims = std::vector<int64_t>;

constexpr int64_t kNumbers[] = {0,
                                -1,
                                std::numeric_limits<int32_t>::max(),
                                int64_t{1} << 31,
                                -(int64_t{1} << 31),
                                int64_t{1} << 62,
                                std::numeric_limits<int64_t>::min()};
constexpr int64_t kTestMemory = int64_t{16} << 20;
// Of the processor, sanitizers included: whoever walks over 2^31 of something takes longer.
constexpr double kLongestSeconds = 10;

/// A case, and what is done to the attributes of its model.
struct Mutant {
  std::string what;
  Case tested;
  std::function<void(Model&)> edit = [](Model&) {};
  bool constant_integers = true;
  bool only_shapes = false;  // `check` then knows all that a run does, but for labels
};

std::vector<Dims> other_shapes(const Dims& dims) {
  std::vector<Dims> shapes;
  if (!dims.empty()) shapes.push_back({dims.begin() + 1, dims.end()});
  shapes.push_back(dims);
  shapes.back().insert(shapes.back().begin(), 1);
  shapes.push_back(dims);
  shapes.back().push_back(2);
  for (size_t d = 0; d < dims.size(); ++d) {
    for (const int64_t size : {int64_t{0}, int64_t{1}, dims[d] + 1, dims[d] - 1, 2 * dims[d]}) {
      if (size == dims[d] || size < 0) continue;
      shapes.push_back(dims);
      shapes.back()[d] = size;
    }
  }
  return shapes;
}

/// As many values as the new shape takes, beginning again where there are too few.
CaseInput reshaped(CaseInput input, Dims dims) {
  input.dims = std::move(dims);
  if (input.values.empty()) return input;
  const auto count = static_cast<size_t>(checked_element_count(input.dims));
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i) values.push_back(input.values[i % input.values.size()]);
  input.values = std::move(values);
  return input;
}

void add_shape_mutants(const Case& tested, std::vector<Mutant>& mutants) {
  for (size_t i = 0; i < tested.inputs.size(); ++i) {
    for (const Dims& dims : other_shapes(tested.inputs[i].dims)) {
      Mutant mutant{fmt::format("{} of shape {}", tested.inputs[i].name, to_string(dims)), tested};
      mutant.tested.inputs[i] = reshaped(tested.inputs[i], dims);
      mutant.only_shapes = tested.inputs[i].dtype != DType::i64;
      mutants.push_back(std::move(mutant));
    }
  }
}

void add_value_mutants(const Case& tested, std::vector<Mutant>& mutants) {
  for (size_t i = 0; i < tested.inputs.size(); ++i) {
    const CaseInput& input = tested.inputs[i];
    if (input.dtype != DType::i64) continue;
    for (size_t at = 0; at < std::min<size_t>(input.values.size(), 4); ++at) {
      for (const int64_t number : kNumbers) {
        Mutant mutant{fmt::format("{}[{}] of {}", input.name, at, number), tested};
        mutant.tested.inputs[i].values[at] = static_cast<double>(number);
        mutant.constant_integers = at % 2 == 0;
        mutants.push_back(std::move(mutant));
      }
    }
  }
}

/// Sets a number of an attribute, in every node that has it.
void set_number(Model& model, const std::string& op, const std::string& name, size_t at,
                int64_t number) {
  for (const auto& node : model.graph->nodes()) {
    if (node->op != op) continue;
    if (node->get<int64_t>(name)) set_attribute(*node, name, number);
    if (const auto* list = node->get<Dims>(name); list && at < list->size()) {
      Dims changed = *list;
      changed[at] = number;
      set_attribute(*node, name, changed);
    }
  }
}

void add_attribute_mutants(const Case& tested, std::vector<Mutant>& mutants) {
  const Model model = case_model(tested, Shapes::fixed);
  for (const auto& node : model.graph->nodes()) {
    for (const Attribute& attribute : node->attributes()) {
      const auto* list = node->get<Dims>(attribute.name);
      const size_t count = list ? list->size() : node->get<int64_t>(attribute.name) ? 1 : 0;
      for (size_t at = 0; at < count; ++at) {
        for (const int64_t number : kNumbers) {
          const auto edit = [op = node->op, name = attribute.name, at, number](Model& edited) {
            set_number(edited, op, name, at, number);
          };
          mutants.push_back(
              {fmt::format("{}[{}] of {}", attribute.name, at, number), tested, edit});
        }
      }
    }
  }
}

/// What became of a mutant in one way of running it.
struct Outcome {
  TensorMap results;
  std::string refusal;  // empty where there are results
  bool too_large = false;
};

template <typename Run>
Outcome outcome_of(Run run) {
  try {
    return {.results = run()};
  } catch (const Error& error) {
    const std::string text = error.what();
    return {.refusal = text, .too_large = text.find("of memory") != std::string::npos};
  }
}

/// How far two ways of computing may differ, as a part of the largest element.
double tolerance(DType dtype) { return dtype == DType::f32 ? 1e-5 : 1e-10; }

void expect_same(const TensorMap& a, const TensorMap& b) {
  for (const auto& [name, tensor] : a) {
    const Tensor& other = b.at(name);
    ASSERT_EQ(to_string(tensor.type()), to_string(other.type())) << name;
    double largest = 1e-30, difference = 0;
    bool same_kind = true;
    for (int64_t i = 0; i < tensor.size(); ++i) {
      const double x = tensor.number(i), y = other.number(i);
      same_kind &= std::isnan(x) == std::isnan(y) && (std::isinf(x) ? x == y : !std::isinf(y));
      if (!std::isfinite(x) || !std::isfinite(y)) continue;
      largest = std::max(largest, std::fabs(y));
      difference = std::max(difference, std::fabs(x - y));
    }
    EXPECT_TRUE(same_kind) << name << " has other infinite elements";
    EXPECT_LE(difference, tolerance(tensor.dtype()) * largest) << name;
  }
}

/// Integer inputs (axes, shapes) as constants, as files mostly have them.
Model with_constants(Model model, const TensorMap& inputs) {
  Names names(model);
  for (Value* input : model.graph->inputs()) {
    const auto given = inputs.find(input->name());
    if (given == inputs.end() || given->second.dtype() != DType::i64) continue;
    model.graph->replace_uses(input, model.graph->add_initializer(
                                         names.fresh(input->name() + "_constant"), given->second));
  }
  return model;
}

Model inference_step(const Mutant& mutant, Shapes shapes) {
  Model model = case_model(mutant.tested, shapes);
  mutant.edit(model);
  return model;
}

Model training_step(const Mutant& mutant, Shapes shapes) {
  Model model = gradient_model(mutant.tested, shapes);
  mutant.edit(model);
  Model step = join_step(model, 0);
  replace_gradients(step);
  return step;
}

TensorMap interpreted(const Model& step, const TensorMap& inputs) {
  eval::Environment environment;
  for (const Value* input : step.graph->inputs()) {
    environment.emplace(input, inputs.at(input->name()));
  }
  eval::run_graph(*step.graph, environment);
  TensorMap results;
  for (const Value* output : step.graph->outputs()) {
    results.emplace(output->name(), environment.at(output).tensor());
  }
  return results;
}

/// Runs a step by plan and by the interpreter, and wants the same of both. Only the plan asks the
/// standard's rules: what they refuse the interpreter need not.
Outcome expect_agreement(const Mutant& mutant, Model (*make)(const Mutant&, Shapes),
                         const TensorMap& inputs) {
  const auto step = [&] {
    Model made = make(mutant, Shapes::erased);
    return mutant.constant_integers ? with_constants(std::move(made), inputs) : std::move(made);
  };
  const Outcome reference = outcome_of([&] { return interpreted(step(), inputs); });
  const Outcome planned = outcome_of([&] {
    const Model model;
    State state(model);
    return Program(step()).run(inputs, state);
  });
  if (reference.too_large || planned.too_large) return planned;
  EXPECT_TRUE(reference.refusal.empty() || !planned.refusal.empty())
      << "only the interpreter refuses: " << reference.refusal;
  if (reference.refusal.empty() && planned.refusal.empty()) {
    expect_same(planned.results, reference.results);
  }
  return planned;
}

/// Of what a branch, a Loop or a sequence gives no shapes are known before it runs, of what lengths
/// are given no numbers, of what MaxPool finds no places, and of regions not the images, which are
/// no integers.
bool hides_shapes(const Case& tested) {
  return std::ranges::any_of(
      std::array{"If<", "Loop<", "Sequence", "RNN<", "GRU<", "LSTM<", "MaxUnpool", "MaxRoiPool"},
      [&](const char* each) { return tested.text.find(each) != std::string::npos; });
}

void expect_exact_or_refused(const Mutant& mutant) {
  const std::clock_t begun = std::clock();  // the processor's time: machines are shared
  TensorMap inputs;
  uint64_t seed = 1;
  for (const CaseInput& input : mutant.tested.inputs) {
    inputs.emplace(input.name, case_tensor(input, seed++));
  }
  Problems problems;
  Model checked = inference_step(mutant, Shapes::fixed);
  if (mutant.constant_integers) checked = with_constants(std::move(checked), inputs);
  check(checked, problems);

  const Outcome inferred = expect_agreement(mutant, inference_step, inputs);
  if (problems.errors() > 0) {
    EXPECT_FALSE(inferred.refusal.empty())
        << "`check` refuses what runs: " << to_string(problems.list()[0]);
  } else if (mutant.only_shapes && !inferred.too_large && !inferred.refusal.starts_with("label ") &&
             !hides_shapes(mutant.tested)) {
    EXPECT_EQ(inferred.refusal, "") << "`check` accepts it";
  }
  if (mutant.tested.has_gradient && inferred.refusal.empty()) {
    for (const std::string& output : mutant.tested.outputs) {
      const std::string name = "u_" + output;
      inputs.emplace(name, case_tensor(f64(name, inferred.results.at(output).dims()), seed++));
    }
    expect_agreement(mutant, training_step, inputs);
  }
  const double seconds = static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
  EXPECT_LE(seconds, kLongestSeconds) << "slow";
}

/// Small cases that differ in more than numbers, so that no operator takes all the time.
std::vector<Case> swept_cases() {
  constexpr int64_t kMaxElements = 300;
  std::set<std::string> seen;
  std::vector<Case> cases;
  for (const Case& tested : all_cases()) {
    int64_t elements = 0;
    for (const CaseInput& input : tested.inputs) elements += checked_element_count(input.dims);
    std::string kind = tested.text;
    std::erase_if(kind, [](unsigned char letter) { return std::isdigit(letter) != 0; });
    if (!tested.error.empty() || elements > kMaxElements || !seen.insert(kind).second) continue;
    cases.push_back(tested);
  }
  return cases;
}

class MutatedCases : public testing::TestWithParam<Case> {};

TEST_P(MutatedCases, AreExactOrRefused) {
  const int64_t limit = memory_limit();
  set_memory_limit(kTestMemory);
  std::vector<Mutant> mutants;
  add_shape_mutants(GetParam(), mutants);
  add_value_mutants(GetParam(), mutants);
  add_attribute_mutants(GetParam(), mutants);
  for (const Mutant& mutant : mutants) {
    SCOPED_TRACE(mutant.what + " in " + mutant.tested.text);
    try {
      expect_exact_or_refused(mutant);
    } catch (const std::exception& error) {
      ADD_FAILURE() << "no refusal, but " << error.what();
    }
  }
  set_memory_limit(limit);
}

INSTANTIATE_TEST_SUITE_P(All, MutatedCases, testing::ValuesIn(swept_cases()),
                         [](const auto& info) { return fmt::format("case_{}", info.index); });

}  // namespace
}  // namespace onward
