#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "onward/error.h"

namespace onward::cli {
namespace {

// ONNX's tests are Python that makes them, so that the package writes the set. It says by which
// Python it started the program.
void run_testset(const std::string& folder) {
  const char* python = std::getenv("ONWARD_PYTHON");
  if (!python) {
    throw Error(
        "the test set is written by Onward's Python package, and this program was not started by "
        "it:\ninstall the wheel (`make wheel`) and onnx, then call `python -m onward testset -o "
        "DIR`");
  }
  execl(python, python, "-m", "onward.testset", "-o", folder.c_str(), nullptr);
  throw Error(fmt::format("cannot start '{}': {}", python, std::strerror(errno)));
}

}  // namespace

void add_testset(CommandLine& line) {
  auto folder = std::make_shared<std::string>();
  Command command =
      line.command("testset", "Write ONNX's node tests with open shapes, for any backend");
  command.option("-o,--output", folder.get(), "the folder to write, new or empty")
      .required()
      .value_name("DIR");
  command.footer(
      "Needs the Python packages of Onward and ONNX.\n"
      "Example: onward testset -o tests");
  command.run([folder] { run_testset(*folder); });
}

}  // namespace onward::cli
