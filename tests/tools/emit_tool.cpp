// Lets the Python tests compare what is emitted with what Onward computes:
//   emit_tool cases DIALECT FOLDER [FAMILY]  every operator case, exported, in several variants; or
//                                            those of one family, elementwise or matmul
//   emit_tool steps MODEL DATA STEPS OUT     runs training steps on the batches of a safetensors
//   file
//                                            ("0.x", "0.label", "1.x" ...); writes OUT.safetensors
//                                            with the losses, and OUT.onnx with the model as it is
//                                            then

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "emit/export.h"
#include "emit/safetensors.h"
#include "eval/interpreter.h"
#include "format/load.h"
#include "format/save.h"
#include "onward/error.h"
#include "tests/ops/case.h"
#include "train/trainer.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

/// What the model of a case is given at each call, and what it holds.
struct Variant {
  std::string name;
  Shapes shapes;
  bool holds_first, holds_rest;
};

const Variant kVariants[] = {
    {"inputs", Shapes::fixed, false, false},
    {"inputs of symbolic shapes", Shapes::symbolic, false, false},
    {"first input held", Shapes::fixed, true, false},
    {"other inputs held", Shapes::fixed, false, true},
    {"other inputs held, symbolic shapes", Shapes::symbolic, false, true},
};

bool applies(const Variant& variant, const Case& tested) {
  return tested.inputs.size() > 1 || (!variant.holds_first && !variant.holds_rest);
}

void write_case(const Case& tested, const Variant& variant, const std::string& dialect,
                const fs::path& folder) {
  Model model = case_model(tested, variant.shapes);
  eval::Environment environment;
  emit::NamedTensors tensors, results;
  nlohmann::json inputs = nlohmann::json::array();
  uint64_t seed = 1;
  for (size_t i = 0; i < tested.inputs.size(); ++i) {
    const Tensor tensor = case_tensor(tested.inputs[i], seed++);
    Value* input = model.graph->inputs()[i];
    environment.emplace(input, tensor);
    if (i == 0 ? variant.holds_first : variant.holds_rest) {
      model.graph->set_initializer(input, tensor);
      input->type = tensor.type();
    } else {
      inputs.push_back(input->name());
    }
    tensors.emplace_back(input->name(), tensor);
  }
  const auto values = eval::outputs_of(*model.graph, std::move(environment));
  for (size_t i = 0; i < values.size(); ++i) {
    results.emplace_back(model.graph->outputs()[i]->name(), values[i]);
  }
  nlohmann::json description = {{"case", tested.name},
                                {"variant", variant.name},
                                {"inputs", inputs},
                                {"outputs", tested.outputs}};
  fs::create_directories(folder);
  try {
    emit::export_model(model, folder, {.to = dialect});
  } catch (const Error& error) {
    description["refused"] = error.what();
  }
  emit::write_safetensors(folder / "tensors.safetensors", tensors);
  emit::write_safetensors(folder / "results.safetensors", results);
  std::ofstream(folder / "case.json") << description.dump();
}

std::vector<Case> cases_of(const std::string& family) {
  const auto cases = family == "elementwise" ? elementwise_cases() : matmul_cases();
  return {cases.begin(), cases.end()};
}

void write_cases(const std::string& dialect, const std::vector<Case>& cases,
                 const fs::path& folder) {
  int number = 0;
  for (const Case& each : cases) {
    if (!each.error.empty()) continue;
    for (const Variant& variant : kVariants) {
      if (!applies(variant, each)) continue;
      write_case(each, variant, dialect, folder / fmt::format("{:04}", number++));
    }
  }
}

void run_steps(const fs::path& model, const fs::path& data, int steps, const std::string& out) {
  Trainer trainer(load(model));
  const emit::Safetensors batches = emit::read_safetensors(data);
  std::vector<double> losses;
  for (int step = 0; step < steps; ++step) {
    const std::string prefix = fmt::format("{}.", step);
    TensorMap batch;
    for (const auto& [name, tensor] : batches.tensors) {
      if (name.starts_with(prefix)) batch.emplace(name.substr(prefix.size()), tensor);
    }
    const TensorMap results = trainer.step(batch);
    losses.push_back(results.at("loss").number(0));
  }
  emit::write_safetensors(out + ".safetensors", {{"loss", Tensor::of<double>({steps}, losses)}});
  save(trainer.model(), out + ".onnx");
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 3 && arguments[0] == "cases") {
    write_cases(arguments[1], all_cases(), arguments[2]);
  } else if (arguments.size() == 4 && arguments[0] == "cases") {
    write_cases(arguments[1], cases_of(arguments[3]), arguments[2]);
  } else if (arguments.size() == 5 && arguments[0] == "steps") {
    run_steps(arguments[1], arguments[2], std::stoi(arguments[3]), arguments[4]);
  } else {
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace onward

int main(int argc, char** argv) {
  try {
    return onward::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "emit_tool: {}\n", error.what());
    return 1;
  }
}
