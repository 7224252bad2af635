#include "cli/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

namespace onward::cli {
namespace {

/// A name without a dash: the library tells positional arguments from options by it.
template <typename T>
CLI::Option* add(CLI::App* app, const std::string& names, T* value, const std::string& help) {
  return app->add_option(names, *value, help);
}

template <typename T>
CLI::Option* add_with_default(CLI::App* app, const std::string& names, T* value,
                              const std::string& help) {
  return add(app, names, value, help)->capture_default_str();
}

}  // namespace

Argument& Argument::required() {
  option_->required();
  return *this;
}

Argument& Argument::choices(const std::vector<std::string>& names) {
  option_->check(CLI::IsMember(names));
  return *this;
}

Argument& Argument::value_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Argument& Argument::at_least(double least) {
  // Not CLI::Range, which writes "FLOAT in [1 - inf]" into the help.
  option_->check([least](const std::string& text) {
    double number = 0;
    const bool fits = CLI::detail::lexical_cast(text, number) && number >= least;
    return fits ? std::string() : fmt::format("{} is not a number from {} on", text, least);
  });
  return *this;
}

Argument& Argument::needs(const Argument& other) {
  option_->needs(other.option_);
  return *this;
}

Argument& Argument::excludes(const Argument& other) {
  option_->excludes(other.option_);
  return *this;
}

bool Argument::given() const { return option_->count() > 0; }

Argument Command::option(const std::string& names, std::string* value, const std::string& help) {
  return Argument(add_with_default(app_, names, value, help));
}

Argument Command::option(const std::string& names, int64_t* value, const std::string& help) {
  return Argument(add_with_default(app_, names, value, help));
}

Argument Command::option(const std::string& names, double* value, const std::string& help) {
  return Argument(add_with_default(app_, names, value, help));
}

Argument Command::option(const std::string& names, std::vector<std::string>* values,
                         const std::string& help) {
  // One value at each use, so that `--train a MODEL` does not swallow the model.
  return Argument(add(app_, names, values, help)->allow_extra_args(false));
}

Argument Command::number(const std::string& names, double* value, const std::string& help) {
  return Argument(add(app_, names, value, help));
}

Argument Command::flag(const std::string& names, bool* value, const std::string& help) {
  return Argument(app_->add_flag(names, *value, help));
}

Argument Command::positional(const std::string& name, std::string* value, const std::string& help) {
  return Argument(add(app_, name, value, help));
}

Argument Command::positional(const std::string& name, std::vector<std::string>* values,
                             const std::string& help) {
  return Argument(add(app_, name, values, help));
}

void Command::footer(const std::string& text) { app_->footer(text); }

void Command::run(std::function<void()> action) { app_->callback(std::move(action)); }

CommandLine::CommandLine(const std::string& name, const std::string& description,
                         const std::string& version)
    : app_(std::make_unique<CLI::App>(description, name)) {
  app_->set_version_flag("--version", name + " " + version);
  app_->require_subcommand(1);
  app_->failure_message(CLI::FailureMessage::help);
}

CommandLine::~CommandLine() = default;

Command CommandLine::command(const std::string& name, const std::string& help) {
  return Command(app_->add_subcommand(name, help));
}

bool CommandLine::run(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app_->exit(error) == 0;
  }
  return true;
}

}  // namespace onward::cli
