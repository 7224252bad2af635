#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "emit/dialect.h"
#include "emit/export_by_name.h"
#include "format/load.h"
#include "onward/error.h"

namespace onward::cli {
namespace {

struct ExportArguments {
  std::string model, to, out;
  bool inference = false;
  int64_t info = -1;  // none in particular
};

void run_export(const ExportArguments& options) {
  const Model model = load(options.model);
  emit::ExportRequest request{
      .framework = options.to,
      .inference = options.inference,
      .model_file = std::filesystem::path(options.model).filename().string()};
  if (options.info >= 0) request.info = options.info;
  try {
    emit::export_by_name(model, options.out, request);
  } catch (Error& error) {
    throw error.add_context(fmt::format("in model '{}'", options.model));
  }
  fmt::print("{}\n", (std::filesystem::path(options.out) / "model.py").string());
}

std::vector<std::string> framework_names() {
  std::vector<std::string> names;
  for (const emit::Dialect* dialect : emit::dialects()) names.emplace_back(dialect->name);
  return names;
}

}  // namespace

void add_export(CommandLine& line) {
  auto options = std::make_shared<ExportArguments>();
  Command command = line.command("export", "Write a model as source code of another framework");
  command.positional("MODEL", &options->model, "an .onnx or .onnxtxt file").required();
  command.option("--to", &options->to, "target framework").required().choices(framework_names());
  command.option("-o,--output", &options->out, "folder to write").required().value_name("FOLDER");
  const Argument info =
      command
          .option("--info", &options->info, "which training info to export as loss and optimizer")
          .at_least(0)
          .value_name("NUMBER");
  command
      .flag("--inference", &options->inference, "export the model only, without loss and optimizer")
      .excludes(info);
  command.footer(
      "Writes model.py (the model class, with load and save), weights.safetensors,\n"
      "optimizer.safetensors for a training model, and onward.json, which `onward import-weights`\n"
      "needs to read trained weights back. The code runs without Onward.\n"
      "Example: onward export mnist.onnx --to torch -o mnist-torch");
  command.run([options] { run_export(*options); });
}

}  // namespace onward::cli
