#pragma once

// The options that say what data is, of the commands that read it.

#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "data/feeds.h"

namespace onward::cli {

struct DataArguments {
  std::string size, mean, std, label, masks, preprocess;
  std::vector<std::string> ignored, categorical;
  int64_t resize = 0;
  double scale = 0;
  bool standardize = false, refit = false, skips_unreadable = false;
  std::optional<Argument> scale_argument;
};

inline constexpr const char* kDataHelp =
    "an .npz or .csv file, a folder of .npy files, a folder with one of images for each class or "
    "with images/ and masks/, or mnist:FOLDER; arrays are matched to the model's inputs by name";

void add_data_options(Command& command, DataArguments* arguments);
/// `--masks`, for commands that take labels.
void add_masks(Command& command, DataArguments* arguments);
/// `--refit`, for commands that train.
void add_refit(Command& command, DataArguments* arguments);

/// What the model's metadata says of its data, and what the user said instead. Throws Error where
/// that makes no sense.
DataOptions data_options(const DataArguments& arguments, const Model& model);

/// The options as they were given, for a command that goes on.
void add_words(const DataArguments& arguments, std::vector<std::string>& words);

/// Throws Error where the data has more classes than the model has scores for. Masks, which are
/// read later, are told which classes there are.
void require_classes_fit(Dataset& data, const Model& model);

/// With `--skip-unreadable`, leaves out images that can't be decoded and warns of each. Gives their
/// places in the data.
std::vector<int64_t> skip_unreadable(Feeds& feeds, const DataArguments& arguments);
/// Says how many that were, at the end of a command.
void warn_of_skipped(size_t images);

/// Warns of files that were ignored.
void warn_of_ignored(const Dataset& data, const std::string& where);

}  // namespace onward::cli
