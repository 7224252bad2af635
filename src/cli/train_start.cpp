#include "cli/train_start.h"

#include <fmt/format.h>

#include <algorithm>

#include "format/load.h"
#include "onward/error.h"
#include "train/fingerprint.h"

namespace onward::cli {
namespace {

/// What a checkpoint fixed stays as it was, or going on would not give the same bits.
void require_same(const TrainArguments& options, const LoopState& saved) {
  const auto compare = [](const char* option, const std::optional<Argument>& argument, auto given,
                          auto before) {
    if (!argument || !argument->given() || given == before) return;
    throw Error(
        fmt::format("the checkpoint was made with {} {}: going on with {} would not be the "
                    "same training; leave {} out",
                    option, before, given, option));
  };
  compare("--batch", options.batch_argument, options.batch, saved.batch);
  compare("--accumulate", options.accumulate_argument, options.accumulate, saved.accumulate);
  compare("--seed", options.seed_argument, static_cast<uint64_t>(options.seed), saved.seed);
  if (options.info_argument->given() &&
      saved.infos != std::vector<size_t>{static_cast<size_t>(options.info)}) {
    throw Error("the checkpoint was made with another --info: leave it out");
  }
  if (options.drop_last && !saved.drop_last) {
    throw Error("the checkpoint was made without --drop-last: leave it out");
  }
  if (options.initialize) {
    throw Error("--initialize would undo what the checkpoint holds: leave it or --resume out");
  }
  if (!options.feeds.empty() && saved.arrays &&
      !std::ranges::equal(array_names(options.feeds), *saved.arrays)) {
    throw Error("the checkpoint was made with another --feed: leave it out");
  }
}

void require_same_model(const TrainArguments& options, const Model& model,
                        const CheckpointFolder::Checkpoint& saved) {
  const uint32_t before = saved.loop.model ? *saved.loop.model : model_fingerprint(saved.model);
  if (model_fingerprint(model) == before) return;
  throw Error(
      fmt::format("the checkpoint in '{}' is of another model than '{}': its graphs, constants or "
                  "the settings of its optimizer differ; give the model that the training began "
                  "with, or --checkpoint another folder",
                  options.checkpoint_folder(), options.model));
}

/// Gives a model the state of another one of the same structure.
void take_state(Model& model, const Model& from) {
  const State state(from);
  for_each_top_level_graph(model, [&](Graph& graph, GraphRole) {
    for (Value* initializer : graph.initializers()) {
      if (state.has(initializer->name())) {
        graph.set_initializer(initializer, state.get(initializer->name()));
      }
    }
  });
}

}  // namespace

Start start(const TrainArguments& options, const CheckpointFolder& checkpoints) {
  std::optional<CheckpointFolder::Checkpoint> found;
  if (checkpoints.has_checkpoint()) {
    if (!options.resume) {
      throw Error(
          fmt::format("'{}' holds a checkpoint: --resume goes on from it; to start anew, "
                      "remove it or give --checkpoint another folder",
                      options.checkpoint_folder()));
    }
    found = checkpoints.load();
    require_same(options, found->loop);
  } else if (options.resume) {
    fmt::print(stderr, "there is no checkpoint in '{}' yet: starting from '{}'\n",
               options.checkpoint_folder(), options.model);
  }
  Start start{load(options.model), std::nullopt};
  if (start.model.training.empty()) {
    throw Error(
        fmt::format("'{}' has no training info: `onward prepare` gives it one", options.model));
  }
  if (found) {
    require_same_model(options, start.model, *found);
    take_state(start.model, found->model);
    start.loop = std::move(found->loop);
  }
  return start;
}

}  // namespace onward::cli
