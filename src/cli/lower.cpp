#include "lower/lower.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "format/atomic_file.h"
#include "format/load.h"
#include "format/save.h"
#include "ir/utf8.h"
#include "onward/error.h"

namespace onward::cli {
namespace {

struct LowerArguments {
  std::string model, out;
  int64_t info = 0;
  int64_t opset = 0;
};

size_t count_nodes(const Model& model) {
  size_t count = 0;
  for_each_node(*model.graph, [&](const Node&) { ++count; });
  return count;
}

void run_lower(const LowerArguments& options) {
  require_writable(options.out);
  LowerOptions lowering;
  if (options.opset != 0) lowering.opset = options.opset;
  LoweredStep lowered;
  try {
    lowered = lower_step(load(options.model), static_cast<size_t>(options.info), lowering);
  } catch (Error& error) {
    error.add_context(fmt::format("in model '{}'", options.model));
    throw;
  }
  save(lowered.model, options.out);
  for (const std::string& note : lowered.notes) {
    fmt::print(stderr, "onward: note: {}\n", printable(note));
  }
  fmt::print("{}: {} nodes, opset {}, IR {}\n", options.out, count_nodes(lowered.model),
             lowered.model.opset("").value_or(0), lowered.model.ir_version);
}

}  // namespace

void add_lower(CommandLine& line) {
  auto options = std::make_shared<LowerArguments>();
  Command command =
      line.command("lower", "Write one training step as a plain ONNX model for any runtime");
  command.positional("MODEL", &options->model, "a training model (.onnx or .onnxtxt)").required();
  command.option("-o,--output", &options->out, "the .onnx file to write").required();
  command.former_name("--out", "--output");
  command.option("--info", &options->info, "which training info to lower, counted from 0")
      .at_least(0);
  command
      .option("--opset", &options->opset,
              "target opset of ai.onnx, 13 to 26; by default the lowest that can express the step, "
              "starting at the model's own or 17")
      .at_least(0)
      .default_name("lowest possible");
  command.footer(
      "The result contains forward pass, backward pass and update in standard operators only.\n"
      "State tensors are inputs (the model's values are their defaults) and outputs named "
      "NAME.next,\nwhich you feed to the next step.\n"
      "Example: onward lower training.onnx -o step.onnx");
  command.run([options] { run_lower(*options); });
}

}  // namespace onward::cli
