// Writes every operator case for the Python tests: case_tool FOLDER gives FOLDER/<number>/ with
// case.json, model.onnx, and each input and result as a TensorProto.

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "eval/interpreter.h"
#include "ir/proto.h"
#include "ir/save.h"
#include "tests/ops/case.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

void write_tensor(const fs::path& file, const Tensor& tensor) {
  std::ofstream(file, std::ios::binary) << to_proto(tensor).SerializeAsString();
}

void write_case(const Case& tested, const fs::path& folder) {
  fs::create_directories(folder);
  const Model model = case_model(tested, Shapes::fixed);
  save(model, folder / "model.onnx");
  eval::Environment environment;
  uint64_t seed = 1;
  std::vector<std::string> names;
  for (size_t i = 0; i < tested.inputs.size(); ++i) {
    const Tensor tensor = case_tensor(tested.inputs[i], seed++);
    names.push_back(tested.inputs[i].name);
    write_tensor(folder / (names.back() + ".input"), tensor);
    environment.emplace(model.graph->inputs()[i], tensor);
  }
  const auto results = eval::outputs_of(*model.graph, std::move(environment));
  for (size_t i = 0; i < results.size(); ++i) {
    write_tensor(folder / (model.graph->outputs()[i]->name() + ".result"), results[i]);
  }
  const nlohmann::json description = {
      {"name", tested.name}, {"inputs", names}, {"outputs", tested.outputs}};
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
