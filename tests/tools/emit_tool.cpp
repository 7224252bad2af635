// Lets the Python tests compare what is emitted with what Onward computes:
//   emit_tool cases DIALECT FOLDER [FAMILY]  every operator case, exported, in several variants; or
//                                            those of one family, elementwise or matmul
//   emit_tool take FOLDER                    what `import-weights` makes of each case's folder
//                                            CASE/back, where there is one: CASE/taken.safetensors
//                                            has the results with those weights
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
#include "emit/take.h"
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
    {"its only input held", Shapes::fixed, true, true},
};

bool applies(const Variant& variant, const Case& tested) {
  if (variant.holds_first && variant.holds_rest) {
    return tested.inputs.size() == 1 && is_float(tested.inputs[0].dtype);
  }
  return tested.inputs.size() > 1 || (!variant.holds_first && !variant.holds_rest);
}

/// A case in one variant: the model with what it holds, and what it is given.
struct MadeCase {
  Model model;
  eval::Environment given;
  emit::NamedTensors tensors = {};  // both
  std::vector<std::string> inputs = {}, held_floats = {};

  emit::NamedTensors results() const {
    emit::NamedTensors results;
    const auto values = eval::outputs_of(*model.graph, given);
    for (size_t i = 0; i < values.size(); ++i) {
      results.emplace_back(model.graph->outputs()[i]->name(), values[i]);
    }
    return results;
  }
};

MadeCase made_case(const Case& tested, const Variant& variant) {
  MadeCase made{.model = case_model(tested, variant.shapes), .given = {}};
  uint64_t seed = 1;
  for (size_t i = 0; i < tested.inputs.size(); ++i) {
    const Tensor tensor = case_tensor(tested.inputs[i], seed++);
    Value* input = made.model.graph->inputs()[i];
    if (i == 0 ? variant.holds_first : variant.holds_rest) {
      made.model.graph->set_initializer(input, tensor);
      input->type = tensor.type();
      if (is_float(tensor.dtype())) made.held_floats.push_back(input->name());
    } else {
      made.given.emplace(input, tensor);
      made.inputs.push_back(input->name());
    }
    made.tensors.emplace_back(input->name(), tensor);
  }
  return made;
}

void write_case(const Case& tested, const Variant& variant, const std::string& dialect,
                const fs::path& folder) {
  const MadeCase made = made_case(tested, variant);
  nlohmann::json description = {{"case", tested.name},
                                {"variant", variant.name},
                                {"inputs", made.inputs},
                                {"held_floats", made.held_floats},
                                {"outputs", tested.outputs}};
  fs::create_directories(folder);
  try {
    emit::export_model(made.model, folder, {.to = dialect});
  } catch (const Error& error) {
    description["refused"] = error.what();
  }
  emit::write_safetensors(folder / "tensors.safetensors", made.tensors);
  emit::write_safetensors(folder / "results.safetensors", made.results());
  std::ofstream(folder / "case.json") << description.dump();
}

std::vector<Case> cases_of(const std::string& family) {
  const auto cases = family == "elementwise" ? elementwise_cases() : matmul_cases();
  return {cases.begin(), cases.end()};
}

/// Does something with each case in each variant, and with its folder.
template <typename Do>
void for_each_case(const std::vector<Case>& cases, const fs::path& folder, const Do& act) {
  int number = 0;
  for (const Case& each : cases) {
    if (!each.error.empty()) continue;
    for (const Variant& variant : kVariants) {
      if (!applies(variant, each)) continue;
      act(each, variant, folder / fmt::format("{:04}", number++));
    }
  }
}

void write_cases(const std::string& dialect, const std::vector<Case>& cases,
                 const fs::path& folder) {
  for_each_case(cases, folder, [&](const Case& each, const Variant& variant, const fs::path& own) {
    write_case(each, variant, dialect, own);
  });
}

void take_cases(const fs::path& folder) {
  for_each_case(all_cases(), folder,
                [](const Case& each, const Variant& variant, const fs::path& own) {
                  if (!fs::exists(own / "back")) return;
                  MadeCase made = made_case(each, variant);
                  try {
                    emit::take(own / "back", made.model);
                    emit::write_safetensors(own / "taken.safetensors", made.results());
                  } catch (const Error& error) {
                    std::ofstream(own / "not-taken.txt") << error.what();
                  }
                });
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
  } else if (arguments.size() == 2 && arguments[0] == "take") {
    take_cases(arguments[1]);
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
