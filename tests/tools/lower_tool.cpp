// Lets the Python tests compare lowered steps with Onward's own:
//   lower_tool cases FOLDER              every operator case that has a gradient, lowered with
//                                        known and with symbolic shapes: FOLDER/<number>/ with
//                                        case.json, model.onnx, and inputs and results as
//                                        TensorProtos
//   lower_tool tangles FOLDER COUNT      training models that use few values in many ways:
//                                        FOLDER/<number>.onnx
//   lower_tool steps MODEL FOLDER COUNT  runs COUNT training steps, each on FOLDER/<step>/*.input;
//                                        writes outputs as *.output and state as *.state there

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "eval/interpreter.h"
#include "format/load.h"
#include "format/save.h"
#include "grad/differentiate.h"
#include "grad/step.h"
#include "lower/lower.h"
#include "onward/error.h"
#include "proto/proto.h"
#include "tests/ops/case.h"
#include "tests/ops/case_tangle.h"
#include "train/trainer.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

void write_tensor(const fs::path& file, const Tensor& tensor) {
  std::ofstream(file, std::ios::binary) << to_proto(tensor).SerializeAsString();
}

Tensor read_tensor(const fs::path& file) {
  std::ostringstream bytes;
  bytes << std::ifstream(file, std::ios::binary).rdbuf();
  onnx::TensorProto proto;
  if (!proto.ParseFromString(bytes.str())) throw Error(file.string() + " is no tensor");
  return tensor_from_proto(proto, {});
}

void write_case(const Case& tested, Shapes shapes, const fs::path& folder) {
  fs::create_directories(folder);
  const Model model = gradient_model(tested, shapes, tested.smooth ? 2 : 1);
  save(lower_step(model, 0).model, folder / "model.onnx");
  Model step = join_step(model, 0);
  replace_gradients(step);
  const TensorMap inputs = case_tensors(tested);
  eval::Environment environment;
  std::vector<std::string> names, outputs;
  for (const Value* input : step.graph->inputs()) {
    names.push_back(input->name());
    write_tensor(folder / (input->name() + ".input"), inputs.at(input->name()));
    environment.emplace(input, inputs.at(input->name()));
  }
  const auto results = eval::outputs_of(*step.graph, std::move(environment));
  for (size_t i = 0; i < results.size(); ++i) {
    outputs.push_back(step.graph->outputs()[i]->name());
    write_tensor(folder / (outputs.back() + ".result"), results[i]);
  }
  const nlohmann::json description = {{"name", tested.name},
                                      {"shapes", shapes == Shapes::fixed ? "fixed" : "symbolic"},
                                      {"inputs", names},
                                      {"outputs", outputs}};
  std::ofstream(folder / "case.json") << description.dump();
}

/// The padding of these, or the scale, is said in numbers; tests/lower/ wants a refusal without.
bool needs_sizes(const Case& tested) {
  const auto has = [&](const char* word) { return tested.text.find(word) != std::string::npos; };
  // The standard's inference knows no rank of what is resized by computed scales.
  const bool loses_rank = has("Resize") && has("Conv");
  return (has("SAME_") && has("strides")) || has("keep_aspect_ratio_policy") || loses_rank;
}

/// Remainders of floats by the sign of the divisor are newer than the opset that is written.
bool is_too_new(const Case& tested) { return tested.text.starts_with("y = Mod("); }

void write_cases(const fs::path& folder) {
  int number = 0;
  for (const Case& each : all_cases()) {
    if (!each.error.empty() || !each.has_gradient || is_too_new(each)) continue;
    for (const Shapes shapes : {Shapes::fixed, Shapes::symbolic}) {
      if (shapes == Shapes::symbolic && needs_sizes(each)) continue;
      write_case(each, shapes, folder / fmt::format("{:04}", number++));
    }
  }
}

void write_tangles(const fs::path& folder, uint64_t count) {
  for (uint64_t seed = 0; seed < count; ++seed) {
    save(tangled_model(seed, DType::f32), folder / fmt::format("{}.onnx", seed));
  }
}

void run_steps(const fs::path& model, const fs::path& folder, int count) {
  // As others sum up: Winograd's convolutions round otherwise, of which Adam makes much where a
  // gradient is next to nothing.
  Trainer trainer(load(model), {.threads = 1, .conv = ConvMethod::direct});
  for (int step = 0; step < count; ++step) {
    const fs::path here = folder / std::to_string(step);
    TensorMap inputs;
    for (const auto& file : fs::directory_iterator(here)) {
      if (file.path().extension() != ".input") continue;
      inputs.emplace(file.path().stem().string(), read_tensor(file.path()));
    }
    for (const auto& [name, tensor] : trainer.step(inputs)) {
      write_tensor(here / (name + ".output"), tensor);
    }
    for (const std::string& name : trainer.state().names()) {
      write_tensor(here / (name + ".state"), trainer.state().get(name));
    }
  }
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 2 && arguments[0] == "cases") {
    write_cases(arguments[1]);
    return 0;
  }
  if (arguments.size() == 3 && arguments[0] == "tangles") {
    write_tangles(arguments[1], std::stoull(arguments[2]));
    return 0;
  }
  if (arguments.size() == 4 && arguments[0] == "steps") {
    run_steps(arguments[1], arguments[2], std::stoi(arguments[3]));
    return 0;
  }
  return 1;
}

}  // namespace
}  // namespace onward

int main(int argc, char** argv) {
  try {
    return onward::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
