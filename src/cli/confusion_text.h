#pragma once

#include <string>
#include <vector>

#include "train/confusion.h"

namespace onward::cli {

/// A confusion matrix as lines for people; of more classes than a terminal shows, what was confused
/// most often. Classes have numbers where they have no names.
std::string confusion_text(const Confusion& confusion, const std::vector<std::string>& classes);

}  // namespace onward::cli
