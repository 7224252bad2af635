#include "cli/train_frozen.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "onward/error.h"

namespace onward::cli {
namespace {

constexpr const char* kOff = "off";

/// "500M", "1.5G", "64K", "1000".
int64_t bytes_in(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number);
  double unit = 0;
  if (rest == end) unit = 1;
  if (end - rest == 1) {
    for (const auto& [letter, size] : {std::pair{'K', 1e3}, {'M', 1e6}, {'G', 1e9}, {'T', 1e12}}) {
      if (*rest == letter) unit = size;
    }
  }
  constexpr double kMost = 1e18;
  const double bytes = number * unit;
  if (failure != std::errc() || unit == 0 || !std::isfinite(bytes) || bytes < 0 || bytes > kMost) {
    throw Error(
        fmt::format("--prefix-cache expects a size such as 500M or 2G, or off, not '{}'", text));
  }
  return static_cast<int64_t>(bytes);
}

/// Null for "off".
std::shared_ptr<StoreRoom> room_for(const std::string& text) {
  if (text == kOff) return nullptr;
  auto room = std::make_shared<StoreRoom>(free_room());
  if (!text.empty()) {
    const int64_t all = bytes_in(text);
    room->memory = std::min(room->memory, all);
    room->disk = all - room->memory;
  }
  return room;
}

void warn(const std::string& text) { fmt::print(stderr, "warning: {}\n", text); }

}  // namespace

FrozenParts::FrozenParts(const TrainArguments& options, const LoopState& loop, Trainer& trainer,
                         const Feeds& feeds)
    : begins_without_(!loop.splits_frozen),
      options_{.room = room_for(options.prefix_cache), .on_warning = warn} {
  if (begins_without_) {
    reason_ = "the checkpoint is of a training that computes all in each step";
    return;
  }
  if (loop.infos.size() != 1) {
    reason_ = "several training infos are trained";
    return;
  }
  reason_ = why_not_kept(feeds);
  if (!reason_.empty()) return;
  const size_t info = loop.infos[0];
  FrozenSplit split = trainer.split_off_frozen(info, batch_types(feeds, loop.batch));
  reason_ = std::move(split.reason);
  if (!split.prefix) return;
  std::vector<std::string> read = trainer.inputs(info);
  read.push_back(trainer.metrics(info).labels);
  of_steps_ = std::make_unique<FrozenPart>(std::move(*split.prefix), feeds, read, options_);
}

void FrozenParts::split_off(Evaluator& evaluator, const Feeds& feeds, int64_t batch) {
  if (begins_without_) return;
  Evaluator::Split split = evaluator.split_off_frozen(feeds, batch, options_);
  of_evaluation_ = split.part;
  evaluation_reason_ = std::move(split.reason);
}

std::string FrozenParts::explain() const {
  std::string text = of_steps_ ? of_steps_->explain()
                               : fmt::format("frozen: nothing is kept, since {}\n", reason_);
  if (of_evaluation_) {
    text += fmt::format("evaluation, {}", of_evaluation_->explain());
  } else if (!evaluation_reason_.empty()) {
    text += fmt::format("evaluation, frozen: nothing is kept, since {}\n", evaluation_reason_);
  }
  return text;
}

void add_prefix_cache(Command& command, TrainArguments* options) {
  command
      .option(
          "--prefix-cache", &options->prefix_cache,
          "room for what the frozen part of the model gives for each example, which is computed "
          "once: in memory, then in a temporary file; 'off' computes it in each epoch")
      .value_name("SIZE|off")
      .default_name("a quarter of the free memory, then half of the free disk");
}

}  // namespace onward::cli
