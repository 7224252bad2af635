#pragma once

#include <map>
#include <string>

#include "cli/train_start.h"

namespace onward::cli {

/// The option under which a checkpoint keeps what was skipped.
inline constexpr const char* kSkipUnreadable = "--skip-unreadable";

/// Leaves out images that can't be decoded, where that is asked for here or was when the checkpoint
/// was made, and gives their number. Which ones is noted among the options of the training. Throws
/// Error where they are others than those of the checkpoint.
size_t skip_unreadable(Feeds& feeds, const TrainArguments& options, bool resumed,
                       std::map<std::string, std::string>& kept);

}  // namespace onward::cli
