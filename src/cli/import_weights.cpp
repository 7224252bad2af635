#include <fmt/format.h>

#include <memory>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "emit/take.h"
#include "format/atomic_file.h"
#include "format/load.h"
#include "format/save.h"
#include "onward/error.h"

namespace onward::cli {
namespace {

struct ImportArguments {
  std::string folder, model, out;
};

void run_import(const ImportArguments& options) {
  require_writable(options.out);
  Model model = load(options.model);
  const emit::Taken taken = emit::take(options.folder, model);
  save(model, options.out);
  fmt::print("{}: {} weight tensors, {} optimizer state tensors\n", options.out, taken.weights,
             taken.state);
}

}  // namespace

void add_import_weights(CommandLine& line) {
  auto options = std::make_shared<ImportArguments>();
  Command command =
      line.command("import-weights", "Read trained weights back from an exported model");
  line.former_name("take", "import-weights");
  command.positional("FOLDER", &options->folder, "the folder that `onward export` wrote")
      .required();
  command.positional("MODEL", &options->model, "the model that was exported").required();
  command.option("-o,--output", &options->out, "the .onnx file to write")
      .required()
      .value_name("FILE");
  command.footer("Example: onward import-weights mnist-torch mnist.onnx -o trained.onnx");
  command.run([options] { run_import(*options); });
}

}  // namespace onward::cli
