#include "lower/upgrade.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "cli/commands.h"
#include "format/atomic_file.h"
#include "format/load.h"
#include "format/save.h"
#include "onward/error.h"

namespace onward::cli {
namespace {

struct UpgradeArguments {
  std::string model, output;
  int64_t opset = 0, ir = 0;
};

void run_upgrade(const UpgradeArguments& options) {
  if (options.opset == 0 && options.ir == 0) {
    throw Error("there is nothing to do: give --opset or --ir");
  }
  require_writable(options.output);
  const Model model = load(options.model);
  UpgradeOptions how;
  if (options.opset > 0) how.opset = options.opset;
  if (options.ir > 0) how.ir = options.ir;
  Model upgraded;
  try {
    upgraded = upgrade(model, how);
  } catch (Error& error) {
    throw error.add_context(fmt::format("in model '{}'", options.model));
  }
  save(upgraded, options.output);
  fmt::print("{}: opset {} (was {}), IR {} (was {})\n", options.output,
             upgraded.opset("").value_or(0), model.opset("").value_or(0), upgraded.ir_version,
             model.ir_version);
}

}  // namespace

void add_upgrade(CommandLine& line) {
  auto options = std::make_shared<UpgradeArguments>();
  Command command =
      line.command("upgrade", "Write a model in a newer or older opset, or another IR version");
  command
      .positional("MODEL", &options->model,
                  "a model, with a training info or without (.onnx or .onnxtxt)")
      .required();
  command.option("-o,--output", &options->output, "the .onnx file to write").required();
  command
      .option("--opset", &options->opset,
              "version of ai.onnx: any newer one, or an older one from 13 on")
      .at_least(1)
      .default_name("the model's own");
  command.option("--ir", &options->ir, "IR version")
      .at_least(1)
      .default_name("the smallest that fits");
  command.footer(
      "What the opset cannot express exactly is refused, with every such node listed.\n"
      "Training infos, names and metadata are kept.\n"
      "Example: onward upgrade model.onnx --opset 21 -o newer.onnx");
  command.run([options] { run_upgrade(*options); });
}

}  // namespace onward::cli
