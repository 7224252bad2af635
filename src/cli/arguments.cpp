#include "cli/arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>

#include "ir/suggestion.h"
#include "onward/error.h"

namespace onward::cli {
namespace {

std::string refuse_empty(const std::string& text) {
  return text.empty() ? "the value is empty" : "";
}

/// A name without a dash: the library tells positional arguments from options by it.
template <typename T>
CLI::Option* add_text(CLI::App* app, const std::string& names, T* value, const std::string& help) {
  return app->add_option(names, *value, help)->check(refuse_empty);
}

/// Reads all of the text. The library itself would take the nearest number that the type holds, and
/// 010 for 8.
template <typename T>
std::errc read_number(const std::string& text, T& number) {
  const char* end = text.data() + text.size();
  const auto [stopped, failure] = std::from_chars(text.data(), end, number);
  return failure == std::errc() && stopped != end ? std::errc::invalid_argument : failure;
}

template <typename T>
CLI::Option* add_number(CLI::App* app, const std::string& names, T* value,
                        const std::string& help) {
  constexpr bool is_whole = std::is_integral_v<T>;
  const auto set = [value](const std::string& text) { read_number(text, *value); };
  return app->add_option_function<std::string>(names, set, help)
      ->type_name(is_whole ? "INT" : "FLOAT")
      ->check([](const std::string& text) {
        T number{};
        const std::errc failure = read_number(text, number);
        if (failure == std::errc()) return std::string();
        if (failure == std::errc::result_out_of_range) {
          return fmt::format("{} is out of range for {}", text,
                             is_whole ? "a 64-bit integer" : "float64");
        }
        return fmt::format("'{}' is not {}", text, is_whole ? "an integer" : "a number");
      });
}

/// Words in lines of at most `width` letters.
std::string wrapped(const std::string& text, size_t width) {
  std::string result;
  size_t column = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const size_t length = end - begin;
    const bool fits = column + 1 + length <= width;
    if (column > 0) result += fits ? ' ' : '\n';
    column = column > 0 && fits ? column + 1 + length : length;
    result += text.substr(begin, length);
    begin = end + 1;
  }
  return result;
}

/// The help of a command, no wider than 100 columns: what is required, the default and what goes
/// with an option stand behind its description.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return "";
    const bool takes_many = option->get_expected_max() == CLI::detail::expected_max_vector_size;
    return fmt::format(" {}{}", option->get_type_name(), takes_many ? " ..." : "");
  }

  std::string make_option_desc(const CLI::Option* option) const override {
    std::vector<std::string> notes;
    if (option->get_required()) notes.emplace_back("required");
    const std::string preset = option->get_default_str();
    if (option->get_type_size() != 0 && !preset.empty()) notes.push_back("default: " + preset);
    for (const CLI::Option* other : option->get_needs()) {
      notes.push_back("needs " + other->get_name());
    }
    for (const CLI::Option* other : option->get_excludes()) {
      notes.push_back("not with " + other->get_name());
    }
    const std::string& text = option->get_description();
    return wrapped(notes.empty() ? text : fmt::format("{} ({})", text, fmt::join(notes, ", ")),
                   kColumns - get_column_width());
  }

 private:
  static constexpr size_t kColumns = 100;
};

/// The command of that name; throws Error where there is none.
CLI::App& find_command(CLI::App& line, const std::string& name) {
  std::vector<std::string> names;
  for (CLI::App* command : line.get_subcommands([](CLI::App*) { return true; })) {
    if (command->check_name(name)) return *command;
    names.push_back(command->get_name());
  }
  std::string meant = did_you_mean(name, names);
  if (meant.empty()) meant = fmt::format("the commands are {}", fmt::join(names, ", "));
  throw Error(fmt::format("unknown command '{}': {}", name, meant));
}

/// What is wrong with the arguments of a command, in one line.
std::string complaint(const CLI::ParseError& error, const CLI::App& app) {
  const std::vector<std::string> left = app.remaining();
  // A slip comes before what is missing, which may be what was meant.
  const auto slip = std::ranges::find_if(left, [](const std::string& each) {
    return each.size() > 1 && each[0] == '-' && !std::isdigit(static_cast<unsigned char>(each[1]));
  });
  if (slip == left.end()) {
    const bool too_many = dynamic_cast<const CLI::ExtrasError*>(&error) && !left.empty();
    return too_many ? fmt::format("unexpected argument '{}'", left[0]) : error.what();
  }
  const std::string given = slip->substr(0, slip->find('='));
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::string meant = did_you_mean(given, names);
  return fmt::format("unknown option {}{}{}", given, meant.empty() ? "" : ": ", meant);
}

/// The arguments in today's spelling; after "--" nothing is an option.
std::vector<std::string> respelled(int argc, char** argv, const Spellings& commands,
                                   const std::map<std::string, Spellings>& options) {
  std::vector<std::string> words(argv, argv + argc);
  if (const auto found = commands.find(words[1]); found != commands.end()) words[1] = found->second;
  const auto former = options.find(words[1]);
  if (former == options.end()) return words;
  for (size_t i = 2; i < words.size() && words[i] != "--"; ++i) {
    const size_t end = std::min(words[i].find('='), words[i].size());
    const auto found = former->second.find(words[i].substr(0, end));
    if (found != former->second.end()) words[i].replace(0, end, found->second);
  }
  return words;
}

}  // namespace

Argument& Argument::required() {
  option_->required();
  return *this;
}

Argument& Argument::choices(const std::vector<std::string>& names) {
  option_->type_name(fmt::format("{{{}}}", fmt::join(names, ",")));
  option_->check([names](const std::string& text) {
    if (std::ranges::find(names, text) != names.end()) return std::string();
    const std::string meant = did_you_mean(text, names);
    return fmt::format("'{}' is not one of {}{}{}", text, fmt::join(names, ", "),
                       meant.empty() ? "" : "; ", meant);
  });
  return *this;
}

Argument& Argument::default_name(const std::string& name) {
  option_->default_str(name);
  return *this;
}

Argument& Argument::value_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Argument& Argument::at_least(int64_t least) {
  // Not CLI::Range, which writes "INT in [1 - 9223372036854775807]" into the help.
  option_->check([least](const std::string& text) {
    int64_t number = 0;
    const bool fits = read_number(text, number) == std::errc() && number >= least;
    return fits ? std::string() : fmt::format("must be at least {}, not {}", least, text);
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
  return Argument(add_text(app_, names, value, help)->capture_default_str());
}

Argument Command::option(const std::string& names, int64_t* value, const std::string& help) {
  return Argument(add_number(app_, names, value, help)->default_str(std::to_string(*value)));
}

Argument Command::option(const std::string& names, std::vector<std::string>* values,
                         const std::string& help) {
  // One value at each use, so that `--train a MODEL` does not swallow the model.
  return Argument(add_text(app_, names, values, help)->allow_extra_args(false));
}

Argument Command::number(const std::string& names, double* value, const std::string& help) {
  return Argument(add_number(app_, names, value, help));
}

Argument Command::flag(const std::string& names, bool* value, const std::string& help) {
  return Argument(app_->add_flag(names, *value, help));
}

Argument Command::positional(const std::string& name, std::string* value, const std::string& help) {
  return Argument(add_text(app_, name, value, help));
}

Argument Command::positional(const std::string& name, std::vector<std::string>* values,
                             const std::string& help) {
  return Argument(add_text(app_, name, values, help));
}

void Command::former_name(const std::string& before, const std::string& now) {
  former_->emplace(before, now);
}

void Command::footer(const std::string& text) { app_->footer(text); }

std::vector<OptionValue> Command::settings() const {
  std::vector<OptionValue> settings;
  for (const CLI::Option* option : app_->get_options()) {
    if (option == app_->get_help_ptr()) continue;
    const bool is_flag = option->get_items_expected_max() == 0;
    const auto& names = option->get_lnames();
    OptionValue setting{.name = names.empty() ? option->get_name() : "--" + names[0],
                        .values = {},
                        .given = option->count() > 0};
    if (is_flag) {
      setting.values = {setting.given ? "yes" : "no"};
    } else if (setting.given) {
      setting.values = option->results();
    } else if (!option->get_default_str().empty()) {
      setting.values = {option->get_default_str()};
    }
    settings.push_back(std::move(setting));
  }
  return settings;
}

void Command::run(std::function<void()> action) { app_->callback(std::move(action)); }

CommandLine::CommandLine(const std::string& name, const std::string& description,
                         const std::string& version)
    : app_(std::make_unique<CLI::App>(description, name)) {
  app_->set_version_flag("--version", name + " " + version);
  app_->require_subcommand(0, 1);
  auto formatter = std::make_shared<HelpFormatter>();
  formatter->label("SUBCOMMAND", "COMMAND");
  app_->formatter(formatter);  // commands that are added take it over
}

CommandLine::~CommandLine() = default;

Command CommandLine::command(const std::string& name, const std::string& help) {
  return {app_->add_subcommand(name, help)->group("Commands"), &former_options_[name]};
}

void CommandLine::former_name(const std::string& before, const std::string& now) {
  former_commands_.emplace(before, now);
}

std::string CommandLine::help(const std::string& command) const {
  if (command.empty()) return help_;
  const auto former = former_commands_.find(command);
  return find_command(*app_, former == former_commands_.end() ? command : former->second)
      .help(app_->get_name());
}

bool CommandLine::run(int argc, char** argv) {
  help_ = app_->help();  // once a command is chosen, the library gives that one's
  try {
    if (argc < 2) {
      fmt::print("{}", help_);
      return false;
    }
    const std::vector<std::string> words = respelled(argc, argv, former_commands_, former_options_);
    if (!words[1].starts_with('-')) find_command(*app_, words[1]);
    std::vector<const char*> texts;
    for (const std::string& word : words) texts.push_back(word.c_str());
    app_->parse(argc, texts.data());
  } catch (const CLI::Success& done) {  // --help and --version
    return app_->exit(done) == 0;
  } catch (const CLI::ParseError& error) {
    const auto chosen = app_->get_subcommands();
    const CLI::App& app = chosen.empty() ? *app_ : *chosen[0];
    const std::string name = chosen.empty() ? "onward" : "onward " + app.get_name();
    fmt::print(stderr, "{}: {}\nsee: {} --help\n", name, complaint(error, app), name);
    return false;
  }
  return true;
}

}  // namespace onward::cli
