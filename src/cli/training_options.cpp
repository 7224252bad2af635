#include "cli/training_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/training_infos.h"
#include "onward/error.h"
#include "train/metric_table.h"

namespace onward::cli {

ArrayNames array_names(const std::vector<std::string>& feeds) {
  ArrayNames names;
  for (const std::string& feed : feeds) {
    const size_t equals = feed.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == feed.size()) {
      throw Error(fmt::format("--feed expects INPUT=ARRAY, not '{}'", feed));
    }
    names[feed.substr(0, equals)] = feed.substr(equals + 1);
  }
  return names;
}

std::vector<size_t> infos_of(const Model& model, int64_t info) {
  return chosen_infos(model, info < 0 ? std::nullopt : std::optional<size_t>(info));
}

Argument add_threads(Command& command, int64_t* threads) {
  return command.option("--threads", threads, "CPU threads")
      .at_least(0)
      .default_name("one per core");
}

Argument add_info(Command& command, int64_t* info) {
  return command
      .option("--info", info,
              "which training info to use, by number (a loss with its optimizer; `onward show` "
              "lists them)")
      .at_least(-1)
      .default_name("all, in order");
}

Argument add_metrics(Command& command, std::string* metrics, const std::string& more) {
  return command
      .option("--metrics", metrics,
              fmt::format("what to evaluate beside the loss: {}{}", fmt::join(metric_names(), ", "),
                          more))
      .value_name("LIST")
      .default_name("accuracy, of classes");
}

std::vector<std::string> metrics_in(const std::string& text) {
  return text.empty() ? std::vector<std::string>() : metric_list(text);
}

int64_t batch_size(const Feeds& feeds, const Argument& argument, int64_t given) {
  const auto fixed = feeds.fixed_batch();
  if (!fixed) return given;
  if (argument.given() && given != *fixed) {
    throw Error(fmt::format("the model's batch size is fixed at {}: --batch-size {} does not fit",
                            *fixed, given));
  }
  return *fixed;
}

std::string shell_line(const std::vector<std::string>& words) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char letter : word)
      line += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    line += '\'';
  }
  return line;
}

}  // namespace onward::cli
