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
    throw Error(fmt::format("the checkpoint was made with {} {}, not {}: omit {} to resume", option,
                            before, given, option));
  };
  compare("--batch-size", options.batch_argument, options.batch, saved.batch);
  compare("--accumulate", options.accumulate_argument, options.accumulate, saved.accumulate);
  compare("--seed", options.seed_argument, static_cast<uint64_t>(options.seed), saved.seed);
  if (options.info_argument->given() &&
      saved.infos != std::vector<size_t>{static_cast<size_t>(options.info)}) {
    throw Error("the checkpoint was made with another --info: omit it to resume");
  }
  if (options.drop_last && !saved.drop_last) {
    throw Error("the checkpoint was made without --drop-last: omit it to resume");
  }
  if (options.initialize) {
    throw Error("--initialize would reset what the checkpoint holds: omit it, or --resume");
  }
  if (!options.feeds.empty() && saved.arrays &&
      !std::ranges::equal(array_names(options.feeds), *saved.arrays)) {
    throw Error("the checkpoint was made with another --feed: omit it to resume");
  }
}

/// A training that is further already can't be what the user wants to have.
void require_not_beyond(const TrainArguments& options, const LoopState& saved) {
  const auto epochs = saved.epoch + (saved.position > 0 ? 1 : 0);
  const auto require_more = [&](const char* option, int64_t given, uint64_t least) {
    throw Error(
        fmt::format("the checkpoint in '{}' is at step {}, in epoch {}, beyond {} {}; give at "
                    "least {} {}, or another --checkpoint folder to start over",
                    options.checkpoint_folder(), saved.step, std::max<uint64_t>(epochs, 1), option,
                    given, option, least));
  };
  if (options.counts_epochs() && epochs > static_cast<uint64_t>(options.epochs)) {
    require_more("--epochs", options.epochs, epochs);
  }
  if (options.steps > 0 && saved.step > static_cast<uint64_t>(options.steps)) {
    require_more("--steps", options.steps, saved.step);
  }
}

/// A state tensor as a message shows it: the number, where it is one.
std::string element_of(const Model& model, const std::string& name) {
  const Tensor tensor = State(model).get(name);
  const bool is_number = tensor.size() == 1 && is_float(tensor.dtype());
  return is_number ? fmt::format("{}", tensor.number(0)) : to_string(tensor.type());
}

/// The learning rate is state, which the checkpoint has, but the user set it in the model.
void require_same_settings(const TrainArguments& options, const Model& model,
                           const CheckpointFolder::Checkpoint& saved) {
  if (!saved.loop.settings) return;
  for (const auto& [name, checksum] : kept_state(model)) {
    const auto before = saved.loop.settings->find(name);
    if (before == saved.loop.settings->end() || before->second == checksum) continue;
    throw Error(
        fmt::format("'{}' is {} in '{}', but the training in checkpoint '{}' started with another "
                    "value and is at {} now; give the model that it started with, or another "
                    "--checkpoint folder to start over",
                    name, element_of(model, name), options.model, options.checkpoint_folder(),
                    element_of(saved.model, name)));
  }
}

void require_same_model(const TrainArguments& options, const Model& model,
                        const CheckpointFolder::Checkpoint& saved) {
  const uint32_t before = saved.loop.model ? *saved.loop.model : model_fingerprint(saved.model);
  if (model_fingerprint(model) == before) return;
  throw Error(
      fmt::format("the checkpoint in '{}' belongs to another model than '{}': graphs, constants or "
                  "optimizer settings differ; give the model that the training started with, or "
                  "another --checkpoint folder",
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
          fmt::format("'{}' holds a checkpoint: continue from it with --resume; to start over, "
                      "remove it or choose another --checkpoint folder",
                      options.checkpoint_folder()));
    }
    found = checkpoints.load();
    require_same(options, found->loop);
    require_not_beyond(options, found->loop);
  } else if (options.resume) {
    fmt::print(stderr, "no checkpoint in '{}' yet: starting from '{}'\n",
               options.checkpoint_folder(), options.model);
  }
  Start start{load(options.model), std::nullopt};
  if (start.model.training.empty()) {
    throw Error(
        fmt::format("'{}' is an inference model: it has no training info (loss, gradients, "
                    "optimizer); add one with `onward prepare`",
                    options.model));
  }
  if (found) {
    require_same_model(options, start.model, *found);
    for (const size_t info : found->loop.infos) {
      infos_of(start.model, static_cast<int64_t>(info));
    }
    require_same_settings(options, start.model, *found);
    take_state(start.model, found->model);
    start.loop = std::move(found->loop);
  }
  return start;
}

}  // namespace onward::cli
