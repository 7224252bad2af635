#include "tests/ops/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "eval/array.h"
#include "eval/interpreter.h"
#include "format/load.h"
#include "ops/builder.h"

namespace onward {
namespace {

std::string declared_type(const CaseInput& input, Shapes shapes) {
  const std::string type(onnx_name(input.dtype));
  if (shapes == Shapes::erased) return type + "[]";  // the text's way to say: rank unknown
  if (input.dims.empty()) return type;
  std::vector<std::string> dims;
  for (size_t i = 0; i < input.dims.size(); ++i) {
    dims.push_back(shapes == Shapes::fixed ? std::to_string(input.dims[i])
                                           : fmt::format("{}_{}", input.name, i));
  }
  return fmt::format("{}[{}]", type, fmt::join(dims, ","));
}

std::string header(const Case& tested) {
  const bool is_ml = tested.text.find("ai.onnx.ml.") != std::string::npos;
  return fmt::format(
      "<ir_version: 10, opset_import: [\"\" : {}, \"ai.onnx.preview.training\" : 1{}]>\n",
      inner_opset(), is_ml ? ", \"ai.onnx.ml\" : 5" : "");
}

std::string declared_inputs(const Case& tested, Shapes shapes) {
  std::vector<std::string> inputs;
  for (const CaseInput& input : tested.inputs) {
    inputs.push_back(declared_type(input, shapes) + " " + input.name);
  }
  return fmt::format("{}", fmt::join(inputs, ", "));
}

/// "double[] y", in the case's type.
std::string float_named(const Case& tested, const std::string& name) {
  return std::string(onnx_name(tested.float_type)) + "[] " + name;
}

std::string inference_text(const Case& tested, Shapes shapes) {
  std::vector<std::string> outputs;
  for (const std::string& output : tested.outputs) outputs.push_back(float_named(tested, output));
  return fmt::format("{}tested ({}) => ({}) {{\n  {}\n}}\n", header(tested),
                     declared_inputs(tested, shapes), fmt::join(outputs, ", "), tested.text);
}

/// The sum of weight * value^2 over all of `names`, as nodes that end in `loss`. Squared, so that
/// operators that are linear have a second derivative to check too.
std::string weighted_sum(const std::vector<std::string>& names, const std::string& weight,
                         const std::string& loss) {
  std::string text;
  std::vector<std::string> sums;
  for (const std::string& name : names) {
    text += fmt::format(
        "  {0}{1}_p = Mul({0}{1}, {1})\n  {0}{1}_q = Mul({0}{1}_p, {1})\n"
        "  {0}{1}_s = ReduceSum<keepdims = 0>({0}{1}_q)\n",
        weight, name);
    sums.push_back(weight + name + "_s");
  }
  return text + fmt::format("  {} = Sum({})\n", loss, fmt::join(sums, ", "));
}

std::string gradient_node(const std::vector<std::string>& xs, const std::vector<std::string>& zs,
                          const std::string& y, const std::string& prefix) {
  const auto quoted = [](const std::vector<std::string>& names) {
    std::vector<std::string> list;
    for (const std::string& name : names) list.push_back("\"" + name + "\"");
    return fmt::format("[{}]", fmt::join(list, ", "));
  };
  std::vector<std::string> results, inputs = xs;
  for (const std::string& x : xs) results.push_back(prefix + x);
  inputs.insert(inputs.end(), zs.begin(), zs.end());
  const std::string z = zs.empty() ? "" : fmt::format("zs = {}, ", quoted(zs));
  return fmt::format("  {} = ai.onnx.preview.training.Gradient<xs = {}, {}y = \"{}\">({})\n",
                     fmt::join(results, ", "), quoted(xs), z, y, fmt::join(inputs, ", "));
}

}  // namespace

CaseInput f64(std::string name, std::vector<int64_t> dims, double low, double high) {
  return {.name = std::move(name), .dims = std::move(dims), .low = low, .high = high, .values = {}};
}

CaseInput i64(std::string name, std::vector<double> values) {
  const auto count = static_cast<int64_t>(values.size());
  return i64(std::move(name), {count}, std::move(values));
}

CaseInput i64(std::string name, std::vector<int64_t> dims, std::vector<double> values) {
  return {.name = std::move(name),
          .dtype = DType::i64,
          .dims = std::move(dims),
          .values = std::move(values)};
}

CaseInput boolean(std::string name, std::vector<int64_t> dims, std::vector<double> values) {
  return {.name = std::move(name),
          .dtype = DType::boolean,
          .dims = std::move(dims),
          .values = std::move(values)};
}

Case Case::refused(std::string words) const {
  Case copy = *this;
  copy.error = std::move(words);
  return copy;
}

Case Case::differentiated_by(std::vector<std::string> names) const {
  Case copy = *this;
  copy.by = std::move(names);
  return copy;
}

Case Case::giving(std::vector<std::string> names) const {
  Case copy = *this;
  copy.outputs = std::move(names);
  return copy;
}

Case Case::not_smooth() const {
  Case copy = *this;
  copy.smooth = false;
  return copy;
}

Case Case::without_gradient() const {
  Case copy = *this;
  copy.has_gradient = false;
  return copy;
}

Case Case::in_f32() const {
  Case copy = *this;
  copy.float_type = DType::f32;
  for (CaseInput& input : copy.inputs) {
    if (input.dtype == DType::f64) input.dtype = DType::f32;
  }
  return copy;
}

bool is_tested_elsewhere(std::string_view op) {
  constexpr std::string_view kOperators[] = {"ImageDecoder", "RegexFullMatch",
                                             "StringConcat", "StringNormalizer",
                                             "StringSplit",  "TfIdfVectorizer"};
  return std::ranges::count(kOperators, op) > 0;
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const auto family :
       {elementwise_cases(), shape_cases(),        indexing_cases(),   reduction_cases(),
        matmul_cases(),      conv_cases(),         pool_cases(),       normalization_cases(),
        softmax_cases(),     loss_cases(),         random_cases(),     control_flow_cases(),
        sequence_cases(),    recurrent_cases(),    activation_cases(), cumulative_cases(),
        matrix_cases(),      quantization_cases(), attention_cases(),  attention_state_cases(),
        image_cases(),       resize_cases(),       scatter_cases(),    selection_cases(),
        signal_cases(),      fourier_cases(),      sampling_cases(),   region_cases()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

std::vector<std::string> differentiated(const Case& tested) {
  if (!tested.by.empty()) return tested.by;
  std::vector<std::string> names;
  for (const CaseInput& input : tested.inputs) {
    if (is_float(input.dtype)) names.push_back(input.name);
  }
  return names;
}

Model case_model(const Case& tested, Shapes shapes) {
  return parse_text(inference_text(tested, shapes));
}

Model gradient_model(const Case& tested, Shapes shapes, int order) {
  const std::vector<std::string> xs = differentiated(tested);
  std::vector<std::string> zs, inputs, outputs = {float_named(tested, "loss")};
  for (const CaseInput& input : tested.inputs) {
    if (std::find(xs.begin(), xs.end(), input.name) == xs.end()) zs.push_back(input.name);
  }
  for (const std::string& output : tested.outputs) {
    inputs.push_back(float_named(tested, "u_" + output));
    zs.push_back("u_" + output);
  }
  std::string nodes =
      weighted_sum(tested.outputs, "u_", "loss") + gradient_node(xs, zs, "loss", "d_");
  for (const std::string& x : xs) outputs.push_back(float_named(tested, "d_" + x));
  if (order == 2) {
    std::vector<std::string> gradients;
    for (const std::string& x : xs) {
      gradients.push_back("d_" + x);
      inputs.push_back(float_named(tested, "w_d_" + x));
      zs.push_back("w_d_" + x);
      outputs.push_back(float_named(tested, "dd_" + x));
    }
    outputs.push_back(float_named(tested, "loss2"));
    nodes += weighted_sum(gradients, "w_", "loss2") + gradient_node(xs, zs, "loss2", "dd_");
  }
  return parse_text(inference_text(tested, shapes) +
                    fmt::format("training_info {{\n  algorithm step ({}) => ({}) {{\n{}  }}\n}}\n",
                                fmt::join(inputs, ", "), fmt::join(outputs, ", "), nodes));
}

Tensor case_tensor(const CaseInput& input, uint64_t seed) {
  eval::Array<double> array(input.dims);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> distribution(input.low, input.high);
  for (size_t i = 0; i < array.data.size(); ++i) {
    array.data[i] = input.values.empty() ? distribution(random) : input.values.at(i);
  }
  return eval::to_tensor(array, input.dtype);
}

TensorMap case_tensors(const Case& tested) {
  TensorMap tensors;
  eval::Environment environment;
  const Model forward = case_model(tested, Shapes::fixed);
  uint64_t seed = 1;
  for (size_t i = 0; i < tested.inputs.size(); ++i) {
    const Tensor tensor = case_tensor(tested.inputs[i], seed++);
    tensors.emplace(tested.inputs[i].name, tensor);
    environment.emplace(forward.graph->inputs()[i], tensor);
  }
  const auto results = eval::outputs_of(*forward.graph, std::move(environment));
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string name = "u_" + forward.graph->outputs()[i]->name();
    tensors.emplace(name, case_tensor(f64(name, results[i].dims()), seed++));
  }
  for (const std::string& x : differentiated(tested)) {
    tensors.emplace("w_d_" + x, case_tensor(f64(x, tensors.at(x).dims()), seed++));
  }
  return tensors;
}

}  // namespace onward
