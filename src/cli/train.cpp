#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/training_options.h"
#include "ir/load.h"
#include "ir/save.h"
#include "onward/error.h"
#include "runtime/parallel.h"
#include "train/evaluator.h"
#include "train/interrupt.h"
#include "train/loop.h"

namespace onward::cli {
namespace {

struct TrainArguments {
  std::string model, data, output, evaluation, checkpoint;
  std::vector<std::string> feeds;
  int64_t epochs = 1, steps = 0, batch = 32, accumulate = 1, checkpoint_every = 0, seed = 0;
  int64_t threads = 0, info = -1;
  bool resume = false, initialize = false, json = false, inference = false, drop_last = false;
  bool explain = false;

  // Whether the user gave them makes a difference.
  std::optional<Argument> epochs_argument, batch_argument, accumulate_argument, seed_argument,
      info_argument;

  std::string checkpoint_folder() const {
    return checkpoint.empty() ? output + ".checkpoint" : checkpoint;
  }
};

constexpr auto kInterrupted = static_cast<ExitCode>(130);  // what shells give for Ctrl-C

/// The command that goes on after an interruption.
std::string resume_command(const TrainArguments& options) {
  std::vector<std::string> words = {"onward",     "train", options.model, "--data",
                                    options.data, "-o",    options.output};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  const auto add_number = [&](const char* option, int64_t value) {
    if (value > 0) add(option, std::to_string(value));
  };
  for (const std::string& feed : options.feeds) add("--feed", feed);
  if (options.epochs_argument->given() || options.steps == 0)
    add_number("--epochs", options.epochs);
  add_number("--steps", options.steps);
  add("--eval", options.evaluation);
  add("--checkpoint", options.checkpoint);
  add_number("--checkpoint-every", options.checkpoint_every);
  add_number("--threads", options.threads);
  if (options.inference) words.emplace_back("--inference");
  if (options.json) words.emplace_back("--json");
  words.emplace_back("--resume");
  return shell_line(words);
}

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
}

struct Start {
  Model model;
  std::optional<LoopState> loop;  // where it goes on from a checkpoint
};

Start start(const TrainArguments& options, const CheckpointFolder& checkpoints) {
  if (!checkpoints.has_checkpoint()) {
    if (options.resume) {
      fmt::print(stderr, "there is no checkpoint in '{}' yet: starting from '{}'\n",
                 options.checkpoint_folder(), options.model);
    }
    return {load(options.model), std::nullopt};
  }
  if (!options.resume) {
    throw Error(
        fmt::format("'{}' holds a checkpoint: --resume goes on from it; to start anew, "
                    "remove it or give --checkpoint another folder",
                    options.checkpoint_folder()));
  }
  CheckpointFolder::Checkpoint found = checkpoints.load();
  require_same(options, found.loop);
  return {std::move(found.model), std::move(found.loop)};
}

LoopState first_state(const TrainArguments& options, const Model& model, const Feeds& feeds) {
  return {.seed = static_cast<uint64_t>(options.seed),
          .batch = batch_size(feeds, *options.batch_argument, options.batch),
          .accumulate = options.accumulate,
          .drop_last = options.drop_last,
          .infos = infos_of(model, options.info)};
}

void require_whole_batches(const Feeds& feeds, const LoopState& loop) {
  const int64_t rest = feeds.size() % loop.batch;
  if (loop.drop_last && feeds.size() < loop.batch * loop.accumulate) {
    throw Error(fmt::format("{} examples do not fill one step of {}", feeds.size(),
                            loop.batch * loop.accumulate));
  }
  if (feeds.fixed_batch() && rest != 0 && !loop.drop_last) {
    throw Error(
        fmt::format("the last batch would have {} examples, but the model takes {}: give "
                    "--drop-last to leave it out",
                    rest, loop.batch));
  }
}

std::function<Summary()> evaluation_of(const TrainArguments& options, Trainer& trainer,
                                       const LoopState& loop, Report& report) {
  if (options.evaluation.empty()) return {};
  const ArrayNames names = array_names(options.feeds);
  Dataset data = open_dataset(options.evaluation);
  auto evaluator = std::make_shared<Evaluator>(trainer.model(), loop.infos, data, names);
  auto feeds = std::make_shared<Feeds>(std::move(data), evaluator->inputs(), names);
  if (feeds->fixed_batch() && feeds->size() % loop.batch != 0) {
    throw Error(fmt::format("the {} examples of '{}' do not fill batches of {}", feeds->size(),
                            options.evaluation, loop.batch));
  }
  return [evaluator, feeds, &trainer, &report, batch = loop.batch] {
    return evaluator->run(*feeds, batch, trainer.state(),
                          [&](int64_t done) { report.evaluating(done, feeds->size()); });
  };
}

void run_train(const TrainArguments& options) {
  require_writable(options.output);
  const CheckpointFolder checkpoints(options.checkpoint_folder());
  auto [model, saved] = start(options, checkpoints);
  if (model.training.empty()) {
    throw Error(
        fmt::format("'{}' has no training info: `onward prepare` gives it one", options.model));
  }
  const bool resumed = saved.has_value();
  const Feeds feeds(open_dataset(options.data),
                    input_slots(model, saved ? saved->infos : infos_of(model, options.info)),
                    array_names(options.feeds));
  LoopState loop = saved ? std::move(*saved) : first_state(options, model, feeds);
  require_whole_batches(feeds, loop);
  const bool keeps_checkpoints = !options.checkpoint.empty();
  if (resumed && loop.data != feeds.data().fingerprint()) {
    throw Error(
        fmt::format("'{}' is not the data that the checkpoint was made with", options.data));
  }
  if (!resumed && keeps_checkpoints) loop.data = feeds.data().fingerprint();

  Trainer trainer(
      std::move(model),
      {.seed = loop.seed,
       .threads = options.threads > 0 ? options.threads : loop.threads,
       .only_metrics = true});
  const Threads threads(trainer.threads());  // for the evaluation
  if (resumed && trainer.threads() != loop.threads) {
    fmt::print(stderr,
               "the checkpoint was made with {} threads: with {} sums may round otherwise\n",
               loop.threads, trainer.threads());
  }
  loop.threads = trainer.threads();
  if (options.initialize && !resumed) trainer.initialize();
  const auto report = options.json ? json_report() : text_report();
  const bool counts_epochs = options.epochs_argument->given() || options.steps == 0;
  const LoopOptions loop_options{
      .epochs = counts_epochs ? static_cast<uint64_t>(options.epochs) : 0,
      .steps = static_cast<uint64_t>(options.steps),
      .checkpoints = keeps_checkpoints ? &checkpoints : nullptr,
      .checkpoint_every = static_cast<uint64_t>(options.checkpoint_every),
      .evaluate = evaluation_of(options, trainer, loop, *report)};

  const Interrupt interrupt;
  const Ending ending = train(trainer, feeds, loop, loop_options, *report);
  const Moment moment{.epoch = loop.epoch + 1, .step = loop.step};
  if (ending == Ending::interrupted) {
    if (!resumed && !keeps_checkpoints) loop.data = feeds.data().fingerprint();
    checkpoints.save(trainer, loop);
    report->interrupted(moment, resume_command(options));
    throw Exit{kInterrupted};
  }
  refuse_nan(trainer.state(), loop.step);
  trainer.set_metadata(kLoopStateKey, "");
  save(options.inference ? trainer.keep_only_inference() : trainer.model(), options.output);
  if (!keeps_checkpoints) checkpoints.remove();
  report->done(moment, options.output);
  if (options.explain) fmt::print(stderr, "{}", trainer.explain());
}

}  // namespace

void add_train(CommandLine& line) {
  auto options = std::make_shared<TrainArguments>();
  Command command = line.command("train", "Train a model on a dataset");
  command.positional("MODEL", &options->model, "a training file (.onnx or .onnxtxt)").required();
  command
      .option("--data", &options->data,
              "an .npz file, a folder of .npy files, or mnist:FOLDER; arrays are named as the "
              "model's inputs")
      .required();
  command.option("-o,--output", &options->output, "the trained model to write").required();
  options->epochs_argument =
      command.option("--epochs", &options->epochs, "passes over the data").at_least(1);
  command.option("--steps", &options->steps, "end after this many steps; 0: after the epochs")
      .at_least(0);
  options->batch_argument =
      command.option("--batch", &options->batch, "examples of a batch").at_least(1);
  options->accumulate_argument =
      command
          .option("--accumulate", &options->accumulate,
                  "batches of a step, each of which counts alike: their gradients are averaged")
          .at_least(1);
  command.flag("--drop-last", &options->drop_last,
               "leave out what does not fill a batch at the end of an epoch");
  command.option("--eval", &options->evaluation, "data to evaluate on after each epoch");
  command.option("--feed", &options->feeds, "take another array for an input")
      .value_name("INPUT=ARRAY");
  command.option("--checkpoint", &options->checkpoint, "a folder to keep the newest checkpoint in");
  command
      .option("--checkpoint-every", &options->checkpoint_every,
              "steps between checkpoints; 0: one after each epoch")
      .at_least(0);
  command.flag("--resume", &options->resume, "go on from the checkpoint, bit for bit");
  options->seed_argument =
      command.option("--seed", &options->seed, "of the order of the examples, and of random nodes")
          .at_least(0);
  command.option("--threads", &options->threads, "0: as many as the machine has").at_least(0);
  options->info_argument =
      command.option("--info", &options->info, "only this training info; -1: all, in order")
          .at_least(-1);
  command.flag("--initialize", &options->initialize,
               "first run the model's initialization, which undoes what was learned");
  command.flag("--inference", &options->inference, "write the model without its training part");
  command.flag("--json", &options->json, "print what happens as lines of JSON");
  command.flag("--explain", &options->explain,
               "say in the end, on stderr, which kernel took which part of a step, and why");
  command.footer(
      "Ctrl-C saves a checkpoint and says how to go on; a second one ends at once.\n"
      "Example: onward train model.onnx --data train.npz --eval test.npz --epochs 3 -o "
      "trained.onnx");
  command.run([options] { run_train(*options); });
}

}  // namespace onward::cli
