#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/training_options.h"
#include "data/convert.h"
#include "data/npy.h"
#include "format/atomic_file.h"
#include "format/load.h"
#include "onward/error.h"
#include "train/trainer.h"

namespace onward::cli {
namespace {

namespace fs = std::filesystem;

struct RunArguments {
  std::string model, output;
  std::vector<std::string> inputs;
  int64_t info = -1, seed = 0;
  bool training = false;
};

Arrays read_inputs(const RunArguments& options) {
  Arrays arrays;
  const auto add = [&](const std::string& name, Tensor tensor) {
    if (!arrays.emplace(name, std::move(tensor)).second) {
      throw Error(fmt::format("input '{}' is given twice", name));
    }
  };
  for (const std::string& text : options.inputs) {
    // Names of tensors may hold '=', names of files seldom do: the last one counts.
    const size_t equals = text.rfind('=');
    if (equals == std::string::npos && text.ends_with(".npz")) {
      for (auto& [name, tensor] : read_npz(text)) add(name, std::move(tensor));
    } else if (equals == std::string::npos || equals == 0) {
      throw Error(fmt::format("--input expects NAME=FILE.npy or FILE.npz, not '{}'", text));
    } else {
      add(text.substr(0, equals), read_npy(text.substr(equals + 1)));
    }
  }
  return arrays;
}

/// The arrays in the types that the inputs have.
TensorMap inputs_from(const Arrays& arrays, const std::vector<InputSlot>& slots) {
  TensorMap inputs;
  for (const auto& [name, array] : arrays) {
    const auto slot = std::ranges::find(slots, name, &InputSlot::name);
    if (slot == slots.end()) {
      std::vector<std::string> names;
      for (const InputSlot& each : slots) names.push_back("'" + each.name + "'");
      throw Error(
          fmt::format("the model has no input '{}', only {}", name, fmt::join(names, ", ")));
    }
    try {
      inputs.emplace(name, fitted(array, slot->type));
    } catch (Error& error) {
      throw error.add_context(
          fmt::format("in the array for input '{}' {}", name, to_string(slot->type)));
    }
  }
  for (const InputSlot& slot : slots) {
    if (!slot.optional && !inputs.contains(slot.name)) {
      throw Error(fmt::format("input '{}' {} is missing: give --input {}=FILE.npy", slot.name,
                              to_string(slot.type), slot.name));
    }
  }
  return inputs;
}

/// A name as a file name: what a file system or a shell may stumble over is written as %2F.
std::string file_name(const std::string& name) {
  constexpr size_t kLongest = 200;
  std::string file;
  for (const char letter : name) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' ||
                          letter == '-' || (letter == '.' && !file.empty());
    file += is_plain ? std::string(1, letter)
                     : fmt::format("%{:02X}", static_cast<unsigned char>(letter));
  }
  if (file.size() > kLongest)
    throw Error(fmt::format("the name '{}' is too long for a file name", name));
  return file + ".npy";
}

void write(const TensorMap& outputs, const fs::path& where) {
  if (where.extension() == ".npz") {
    write_npz(outputs, where);
    return;
  }
  std::error_code failure;
  fs::create_directories(where, failure);
  if (failure) {
    throw Error(fmt::format("cannot create folder '{}': {}", where.string(), failure.message()));
  }
  for (const auto& [name, tensor] : outputs) write_npy(tensor, where / file_name(name));
}

/// The first few elements.
std::string values(const Tensor& tensor) {
  constexpr int64_t kMost = 8;
  std::vector<std::string> texts;
  for (int64_t i = 0; i < std::min(tensor.size(), kMost); ++i) {
    if (tensor.dtype() == DType::string) {
      texts.push_back(fmt::format("\"{}\"", tensor.strings()[static_cast<size_t>(i)]));
    } else if (is_float(tensor.dtype())) {
      texts.push_back(fmt::format("{:.6g}", tensor.number(i)));
    } else if (tensor.dtype() == DType::u64) {
      texts.push_back(fmt::format("{}", tensor.data<uint64_t>()[static_cast<size_t>(i)]));
    } else if (!is_complex(tensor.dtype())) {
      texts.push_back(fmt::format("{}", tensor.integer(i)));
    }
  }
  if (tensor.size() > kMost) texts.emplace_back("...");
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// One step's outputs, with the state that it leaves.
TensorMap step(Trainer& trainer, const TensorMap& inputs, std::span<const size_t> infos) {
  TensorMap all;
  trainer.step({&inputs, 1}, infos, [&](size_t, size_t, const TensorMap& outputs) {
    all.insert(outputs.begin(), outputs.end());
  });
  const Model& model = trainer.model();
  for (const size_t info : infos) {
    for (const Binding& binding : model.training[info].update_bindings) {
      all.insert_or_assign(binding.source->name(), trainer.state().get(binding.target->name()));
    }
  }
  return all;
}

void run_model(const RunArguments& options) {
  if (!options.training && options.info >= 0) throw Error("--info needs --training");
  if (options.output.ends_with(".npz")) require_writable(options.output);
  Model model = load(options.model);
  if (options.training && model.training.empty()) {
    throw Error(fmt::format("'{}' has no training info", options.model));
  }
  std::vector<size_t> infos;
  if (options.training) infos = infos_of(model, options.info);
  const TensorMap inputs = inputs_from(read_inputs(options), input_slots(model, infos));
  Trainer trainer(std::move(model), {.seed = static_cast<uint64_t>(options.seed)});
  const TensorMap outputs = options.training ? step(trainer, inputs, infos) : trainer.infer(inputs);
  for (const auto& [name, tensor] : outputs) {
    fmt::print("{} {} = {}\n", name, to_string(tensor.type()), values(tensor));
  }
  if (!options.output.empty()) write(outputs, options.output);
}

}  // namespace

void add_run(CommandLine& line) {
  auto options = std::make_shared<RunArguments>();
  Command command = line.command("run", "Run a model once: inference, or one training step");
  command.positional("MODEL", &options->model, "an .onnx or .onnxtxt file").required();
  command.option("--input", &options->inputs, "array for an input, or an .npz file with several")
      .value_name("NAME=FILE.npy");
  command.flag("--training", &options->training,
               "run one training step; the model file is not changed");
  add_info(command, &options->info);
  command.option("--seed", &options->seed, "random seed for operators such as Dropout").at_least(0);
  command.option("-o,--output", &options->output,
                 "where to write the outputs: an .npz file, or a folder for .npy files");
  command.footer("Example: onward run model.onnx --input x=x.npy -o outputs");
  command.run([options] { run_model(*options); });
}

}  // namespace onward::cli
