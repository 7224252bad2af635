#include "check/check.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "onward/error.h"

namespace onward::cli {
namespace {

struct CheckArguments {
  std::string model;
  bool json = false;
};

nlohmann::ordered_json to_json(const Problem& problem) {
  nlohmann::ordered_json json;
  json["severity"] = problem.severity == Severity::error ? "error" : "warning";
  json["rule"] = problem.rule;
  json["where"] = problem.where;
  json["node"] = problem.node;
  json["op"] = problem.op;
  json["tensor"] = problem.tensor;
  json["message"] = problem.message;
  return json;
}

void print_json(const CheckArguments& options, const Problems& problems) {
  nlohmann::ordered_json json;
  json["model"] = options.model;
  json["valid"] = problems.errors() == 0;
  json["errors"] = problems.errors();
  json["warnings"] = problems.warnings();
  json["problems"] = nlohmann::ordered_json::array();
  for (const Problem& problem : problems.list()) json["problems"].push_back(to_json(problem));
  // Names are made printable when a problem is added; a path may still hold any byte.
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::string counted(size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

void print_text(const CheckArguments& options, const Problems& problems) {
  for (const Problem& problem : problems.list()) {
    fmt::print("{}: {} [{}]\n", problem.severity == Severity::error ? "error" : "warning",
               to_string(problem), problem.rule);
  }
  const size_t total = problems.errors() + problems.warnings();
  if (total > problems.list().size()) {
    fmt::print("... and {} more\n", total - problems.list().size());
  }
  if (problems.errors() > 0) {
    fmt::print("{}: {}, {}\n", options.model, counted(problems.errors(), "error"),
               counted(problems.warnings(), "warning"));
  } else if (problems.warnings() > 0) {
    fmt::print("{}: valid, {}\n", options.model, counted(problems.warnings(), "warning"));
  } else {
    fmt::print("{}: valid\n", options.model);
  }
}

/// A file that can't be read at all is one problem like any other, so that a program reading the
/// JSON finds it in the same place.
Problems check(const CheckArguments& options) {
  try {
    return check_file(options.model);
  } catch (const Error& error) {
    Problems problems;
    problems.add({.rule = "file", .message = error.what()});
    return problems;
  }
}

void run_check(const CheckArguments& options) {
  const Problems problems = check(options);
  options.json ? print_json(options, problems) : print_text(options, problems);
  if (problems.errors() > 0) throw Exit{kRefused};
}

}  // namespace

void add_check(CommandLine& line) {
  auto options = std::make_shared<CheckArguments>();
  Command command = line.command("check", "Report every problem in a model");
  command.positional("MODEL", &options->model, "an .onnx or .onnxtxt file").required();
  command.flag("--json", &options->json, "print the problems as JSON");
  command.footer(
      "Exit code 0: valid, warnings aside; 1: errors were found.\n"
      "Example: onward check model.onnx");
  command.run([options] { run_check(*options); });
}

}  // namespace onward::cli
