// Trains a model on batches that lie in an ONNX file, for the Python tests: the file's initializers
// are named "<step>/<input>", and there is one of each input for each step from 0 on.
//
//   step_tool MODEL BATCHES OUT   prints the losses (each step's first output) as a JSON list, and
//                                 saves the model with the state that it has then

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "format/load.h"
#include "format/save.h"
#include "onward/error.h"
#include "train/trainer.h"

namespace onward {
namespace {

std::map<int, TensorMap> read_batches(const char* file) {
  std::map<int, TensorMap> batches;
  const Model model = load(file);
  for (const Value* value : model.graph->initializers()) {
    const size_t slash = value->name().find('/');
    if (slash == std::string::npos) throw Error("no step in the name '" + value->name() + "'");
    batches[std::stoi(value->name().substr(0, slash))].emplace(value->name().substr(slash + 1),
                                                               *value->tensor());
  }
  return batches;
}

void run(char** arguments) {
  Model model = load(arguments[0]);
  const std::string loss = model.training.at(0).algorithm->outputs()[0]->name();
  Trainer trainer(std::move(model));
  auto losses = nlohmann::json::array();
  for (const auto& [step, batch] : read_batches(arguments[1])) {
    losses.push_back(trainer.step(batch).at(loss).number(0));
  }
  save(trainer.model(), arguments[2]);
  fmt::print("{}\n", losses.dump());
}

}  // namespace
}  // namespace onward

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "step_tool MODEL BATCHES OUT\n");
    return 1;
  }
  try {
    onward::run(argv + 1);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
