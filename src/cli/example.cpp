#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/examples.h"
#include "format/atomic_file.h"
#include "format/draft/write.h"
#include "format/load.h"
#include "format/save.h"
#include "ir/suggestion.h"
#include "onward/error.h"

namespace onward::cli {
namespace {

namespace fs = std::filesystem;

struct ExampleArguments {
  std::string name;
  std::string out;
  bool all = false;
  bool draft = false;
};

/// The first line of the text, without its "# ".
std::string_view summary(const Example& example) {
  std::string_view line = example.text.substr(0, example.text.find('\n'));
  line.remove_prefix(std::min(line.find_first_not_of("# "), line.size()));
  return line;
}

const Example& find(const std::string& name) {
  const auto all = examples();
  const auto found = std::ranges::find(all, name, &Example::name);
  if (found != all.end()) return *found;
  std::vector<std::string> names;
  for (const Example& example : all) names.emplace_back(example.name);
  throw Error(unknown_name("example", name, names));
}

void list() {
  size_t width = 0;
  for (const Example& example : examples()) width = std::max(width, example.name.size());
  for (const Example& example : examples()) {
    fmt::print("{:{}}  {}\n", example.name, width, summary(example));
  }
}

void write(const Example& example, const fs::path& file, bool draft) {
  const Model model = parse_text(example.text);
  if (draft) {
    const std::string bytes = to_draft_bytes(model);
    write_atomically(file,
                     [&](int descriptor) { write_all(descriptor, bytes.data(), bytes.size()); });
  } else {
    save(model, file);
  }
  fmt::print("{}\n", file.string());
}

void write_every_example(const fs::path& folder) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) {
    throw Error(fmt::format("cannot create folder '{}': {}", folder.string(), failure.message()));
  }
  for (const Example& example : examples()) {
    write(example, folder / fmt::format("{}.onnx", example.name), false);
  }
}

void run_example(const ExampleArguments& options) {
  if (options.all) return write_every_example(options.out);
  if (options.name.empty() && !options.out.empty())
    throw Error("-o needs the NAME of an example, or --all");
  if (options.name.empty()) return list();
  const Example& example = find(options.name);
  if (options.out.empty()) {
    fmt::print("{}", example.text);
  } else {
    write(example, options.out, options.draft);
  }
}

}  // namespace

void add_example(CommandLine& line) {
  auto options = std::make_shared<ExampleArguments>();
  Command command = line.command("example", "List, print or write example models");
  const Argument name =
      command.positional("NAME", &options->name, "the example; without it, all are listed");
  const Argument out =
      command.option("-o,--output", &options->out, "the .onnx file to write; with --all a folder");
  command.flag("--all", &options->all, "write all examples").needs(out).excludes(name);
  command
      .flag("--draft", &options->draft, "write the 2019 draft of the training format (linear only)")
      .needs(name)
      .needs(out);
  command.footer(
      "Without -o the example is printed in ONNX's text syntax, which Onward also reads "
      "(.onnxtxt).\n"
      "Example: onward example linear -o linear.onnx");
  command.run([options] { run_example(*options); });
}

}  // namespace onward::cli
