// Writes every operator case for the Python tests: case_tool FOLDER gives FOLDER/<number>/ with
// case.json, model.onnx, and each input and result as a TensorProto; for a case that is
// differentiated also the weights u_y of its results and the gradients d_x of the sum of u_y y^2.

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "eval/interpreter.h"
#include "format/save.h"
#include "grad/differentiate.h"
#include "grad/step.h"
#include "proto/proto.h"
#include "tests/ops/case.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

void write_tensor(const fs::path& file, const Tensor& tensor) {
  std::ofstream(file, std::ios::binary) << to_proto(tensor).SerializeAsString();
}

using Tensors = std::map<std::string, Tensor>;

/// Runs a graph with inputs by name; gives its outputs by name.
Tensors run(const Graph& graph, const Tensors& inputs) {
  eval::Environment environment;
  for (const Value* input : graph.inputs()) environment.emplace(input, inputs.at(input->name()));
  const auto results = eval::outputs_of(graph, std::move(environment));
  Tensors outputs;
  for (size_t i = 0; i < results.size(); ++i)
    outputs.emplace(graph.outputs()[i]->name(), results[i]);
  return outputs;
}

void write_gradients(const Case& tested, Tensors inputs, const Tensors& results,
                     const fs::path& folder) {
  uint64_t seed = 1000;
  for (const std::string& output : tested.outputs) {
    const Tensor weights = case_tensor(f64("u", results.at(output).dims()), seed++);
    write_tensor(folder / ("u_" + output + ".input"), weights);
    inputs.emplace("u_" + output, weights);
  }
  Model step = join_step(gradient_model(tested, Shapes::fixed), 0);
  replace_gradients(step);
  const Tensors outputs = run(*step.graph, inputs);
  for (const std::string& x : differentiated(tested)) {
    write_tensor(folder / ("d_" + x + ".result"), outputs.at("d_" + x));
  }
}

void write_case(const Case& tested, const fs::path& folder) {
  fs::create_directories(folder);
  const Model model = case_model(tested, Shapes::fixed);
  save(model, folder / "model.onnx");
  Tensors inputs;
  uint64_t seed = 1;
  std::vector<std::string> names;
  for (const CaseInput& input : tested.inputs) {
    const Tensor tensor = case_tensor(input, seed++);
    names.push_back(input.name);
    write_tensor(folder / (input.name + ".input"), tensor);
    inputs.emplace(input.name, tensor);
  }
  const Tensors results = run(*model.graph, inputs);
  for (const auto& [name, tensor] : results) write_tensor(folder / (name + ".result"), tensor);
  if (tested.has_gradient) write_gradients(tested, inputs, results, folder);
  const nlohmann::json description = {
      {"name", tested.name},
      {"inputs", names},
      {"outputs", tested.outputs},
      {"by", tested.has_gradient ? differentiated(tested) : std::vector<std::string>{}}};
  std::ofstream(folder / "case.json") << description.dump();
}

}  // namespace
}  // namespace onward

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  int number = 0;
  for (const onward::Case& each : onward::all_cases()) {
    if (!each.error.empty()) continue;
    onward::write_case(each, std::filesystem::path(argv[1]) / fmt::format("{:04}", number++));
  }
}
