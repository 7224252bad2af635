#include "emit/take.h"

#include <fmt/format.h>

#include <memory>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "format/atomic_file.h"
#include "format/load.h"
#include "format/save.h"
#include "onward/error.h"

namespace onward::cli {
namespace {

struct TakeArguments {
  std::string folder, model, out;
};

void run_take(const TakeArguments& options) {
  require_writable(options.out);
  Model model = load(options.model);
  const emit::Taken taken = emit::take(options.folder, model);
  save(model, options.out);
  fmt::print("{}: {} weights, {} tensors of the optimizer\n", options.out, taken.weights,
             taken.state);
}

}  // namespace

void add_take(CommandLine& line) {
  auto options = std::make_shared<TakeArguments>();
  Command command =
      line.command("take", "Bring weights back that an exported model was trained to");
  command.positional("FOLDER", &options->folder, "what `onward export` wrote").required();
  command.positional("MODEL", &options->model, "the file that was exported").required();
  command.option("-o,--output", &options->out, "the .onnx file to write")
      .required()
      .value_name("FILE");
  command.footer("Example: onward take mnist-torch mnist.onnx -o trained.onnx");
  command.run([options] { run_take(*options); });
}

}  // namespace onward::cli
