#pragma once

// What the commands that run a training file have in common.

#include <string>
#include <vector>

#include "cli/commands.h"
#include "data/feeds.h"

namespace onward::cli {

/// The inputs and arrays of options `--feed INPUT=ARRAY`.
ArrayNames array_names(const std::vector<std::string>& feeds);

/// All training infos of a model, or only the one asked for (-1 asks for none in particular).
std::vector<size_t> infos_of(const Model& model, int64_t info);

// The options that they share.
Argument add_threads(Command& command, int64_t* threads);
Argument add_info(Command& command, int64_t* info);

/// `--metrics`, with more to say about what is shown when.
Argument add_metrics(Command& command, std::string* metrics, const std::string& more = {});
/// The metrics of such a list; none where it is empty.
std::vector<std::string> metrics_in(const std::string& text);

/// How many examples go into a batch: what the user says, or the model where it takes only one
/// size.
int64_t batch_size(const Feeds& feeds, const Argument& argument, int64_t given);

/// A command as one would type it.
std::string shell_line(const std::vector<std::string>& words);

}  // namespace onward::cli
