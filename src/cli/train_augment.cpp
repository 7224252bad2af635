#include "cli/train_augment.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/examples.h"
#include "onward/error.h"

namespace onward::cli {
namespace {

constexpr const char* kAugment = "--augment";
constexpr const char* kFiles = "--augment files";  // their checksums

/// What follows the graph of the example.
std::string_view shipped_functions() {
  const auto all = examples();
  const std::string_view text = std::ranges::find(all, "augment", &Example::name)->text;
  return text.substr(text.find("\n<domain:"));
}

}  // namespace

void add_augment(Command& command, TrainArguments* options) {
  command
      .option("--augment", &options->augment,
              "change images at random before each step: flip, crop:0.8-1, crop:4 (pixels), "
              "jitter:0.2, rotate:10 (degrees), or a model of your own; `onward example augment` "
              "prints theirs")
      .value_name("KIND[:HOW],...");
}

std::unique_ptr<Augmentation> augmentation_of(const TrainArguments& options, bool resumed,
                                              std::map<std::string, std::string>& kept) {
  const auto before = kept.find(kAugment);
  const bool had = before != kept.end();
  if (resumed && !options.augment.empty() && (!had || before->second != options.augment)) {
    throw Error(fmt::format("the checkpoint was made {}, not with {} {}: omit {} to resume",
                            had ? fmt::format("with {} {}", kAugment, before->second)
                                : fmt::format("without {}", kAugment),
                            kAugment, options.augment, kAugment));
  }
  const std::string wanted = had ? before->second : options.augment;
  if (wanted.empty()) return nullptr;
  auto augmentation = std::make_unique<Augmentation>(wanted, shipped_functions());
  const auto files = kept.find(kFiles);
  const std::string known = files == kept.end() ? "" : files->second;
  if (resumed && known != augmentation->files()) {
    throw Error(
        fmt::format("a model of {} {} is no longer that of the checkpoint: restore it to "
                    "resume",
                    kAugment, wanted));
  }
  kept[kAugment] = wanted;
  if (!augmentation->files().empty()) kept[kFiles] = augmentation->files();
  return augmentation;
}

}  // namespace onward::cli
