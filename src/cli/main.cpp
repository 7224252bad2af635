#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "cli/commands.h"
#include "onward/error.h"
#include "onward/version.h"

namespace onward::cli {
namespace {

int run(int argc, char** argv) {
  CLI::App app{"Makes ONNX models trainable, and trains them", "onward"};
  app.set_version_flag("--version", "onward " + std::string(kVersion));
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::help);
  add_check(app);
  add_show(app);
  add_example(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kRefused;
  }
  return kDone;
}

}  // namespace
}  // namespace onward::cli

int main(int argc, char** argv) {
  using onward::cli::kBug;
  using onward::cli::kRefused;
  try {
    return onward::cli::run(argc, argv);
  } catch (const onward::cli::Exit& exit) {
    return exit.code;
  } catch (const onward::Error& error) {
    fmt::print(stderr, "onward: {}\n", error.what());
    return kRefused;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "onward: out of memory\n");
    return kRefused;
  } catch (const std::exception& error) {
    fmt::print(stderr, "onward: this is a bug of Onward, please report it: {}\n", error.what());
    return kBug;
  }
}
