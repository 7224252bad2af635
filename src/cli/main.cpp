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
  CommandLine line(
      "onward", "Makes ONNX models trainable, trains them, and moves trainings between frameworks",
      std::string(kVersion));
  add_check(line);
  add_show(line);
  add_prepare(line);
  add_lower(line);
  add_upgrade(line);
  add_ops(line);
  add_export(line);
  add_import_weights(line);
  add_example(line);
  add_train(line);
  add_eval(line);
  add_predict(line);
  add_run(line);
  add_testset(line);
  add_help(line);
  add_version(line);
  return line.run(argc, argv) ? kDone : kRefused;
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
    fmt::print(stderr, "onward: internal error, please report it: {}\n", error.what());
    return kBug;
  }
}
