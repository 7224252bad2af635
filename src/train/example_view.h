#pragma once

#include "data/dataset.h"
#include "train/report_page.h"
#include "train/wrong_examples.h"

namespace onward {

/// What a person sees of examples: pictures where the data are images (files, or an array of them),
/// the fields of a table, and else their places alone. `places` are those of the examples in the
/// data, in the order of `examples`. Class names are those of the data.
std::vector<ShownExample> shown_examples(const Dataset& data,
                                         std::span<const WrongExample> examples,
                                         std::span<const int64_t> places);

}  // namespace onward
