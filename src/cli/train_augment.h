#pragma once

#include <memory>

#include "cli/train_start.h"
#include "train/augmentation.h"

namespace onward::cli {

void add_augment(Command& command, TrainArguments* options);

/// What `--augment` or else the checkpoint says; null where there is nothing. It is noted among the
/// options of the training. Throws Error where the training began with something else.
std::unique_ptr<Augmentation> augmentation_of(const TrainArguments& options, bool resumed,
                                              std::map<std::string, std::string>& kept);

}  // namespace onward::cli
