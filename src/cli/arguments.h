#pragma once

// The command line's options, without the header of the library that reads them: it takes 13 s to
// compile, so arguments.cpp alone includes it.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace onward::cli {

/// An option, flag or positional argument of a command: `command.option(...).required()`.
class Argument {
 public:
  explicit Argument(CLI::Option* option) : option_(option) {}

  Argument& required();
  /// Refuses every other value, and lists these in the help.
  Argument& choices(const std::vector<std::string>& names);
  /// What the help shows as the default, where the number alone would tell nobody what it means.
  Argument& default_name(const std::string& name);
  /// What the help calls the value, in place of TEXT, INT or FLOAT.
  Argument& value_name(const std::string& name);
  /// The least whole number that is taken.
  Argument& at_least(int64_t least);
  Argument& needs(const Argument& other);
  Argument& excludes(const Argument& other);
  /// Whether the user gave it; known while the command runs.
  bool given() const;

 private:
  CLI::Option* option_;
};

/// Former spellings, each with the one that replaced it.
using Spellings = std::map<std::string, std::string>;

/// An option of a command as it was given, or else its default.
struct OptionValue {
  std::string name;
  std::vector<std::string> values;
  bool given = false;
};

/// One command, such as `onward check`. What a pointer points to at first is the default; the
/// command must keep it alive, best in what its `run` function holds. An empty text is refused: it
/// would mean the same as an option that is not given. So is a number that its type can't hold.
class Command {
 public:
  Command(CLI::App* app, Spellings* former) : app_(app), former_(former) {}

  /// Names are comma-separated: "-o,--output". A list takes one value at each use of the option.
  Argument option(const std::string& names, std::string* value, const std::string& help);
  Argument option(const std::string& names, int64_t* value, const std::string& help);
  Argument option(const std::string& names, std::vector<std::string>* values,
                  const std::string& help);
  /// A number without a default, such as one that depends on other options.
  Argument number(const std::string& names, double* value, const std::string& help);
  Argument flag(const std::string& names, bool* value, const std::string& help);
  /// A list takes all that is left.
  Argument positional(const std::string& name, std::string* value, const std::string& help);
  Argument positional(const std::string& name, std::vector<std::string>* values,
                      const std::string& help);

  /// Still takes an option by its former name, which the help does not list.
  void former_name(const std::string& before, const std::string& now);
  /// What the help ends with: an example.
  void footer(const std::string& text);
  /// All options and positional arguments; known while the command runs.
  std::vector<OptionValue> settings() const;
  /// What the command does, once all of its arguments are read.
  void run(std::function<void()> action);

 private:
  CLI::App* app_;
  Spellings* former_;
};

/// The program with its commands.
class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& description, const std::string& version);
  ~CommandLine();

  Command command(const std::string& name, const std::string& help);
  /// Still takes a command by its former name, which the help does not list.
  void former_name(const std::string& before, const std::string& now);
  /// What --help prints, of a command or of the program; throws Error where there is no such one.
  std::string help(const std::string& command = {}) const;

  /// Reads the arguments and runs the command that they name. False where they are refused, which
  /// is said then; what the command throws passes through.
  bool run(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
  std::string help_;
  Spellings former_commands_;
  std::map<std::string, Spellings> former_options_;  // by command
};

}  // namespace onward::cli
