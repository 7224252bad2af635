#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/train_rescue.h"
#include "format/atomic_file.h"
#include "onward/error.h"
#include "runtime/parallel.h"
#include "train/evaluator.h"
#include "train/fingerprint.h"
#include "train/interrupt.h"
#include "train/loop.h"

namespace onward::cli {
namespace {

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
  if (options.counts_epochs()) add_number("--epochs", options.epochs);
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

LoopState first_state(const TrainArguments& options, const Model& model, const Feeds& feeds) {
  return {.seed = static_cast<uint64_t>(options.seed),
          .batch = batch_size(feeds, *options.batch_argument, options.batch),
          .accumulate = options.accumulate,
          .drop_last = options.drop_last,
          .infos = infos_of(model, options.info)};
}

/// The arrays of a training that goes on are those that it began with.
ArrayNames arrays_of(const TrainArguments& options, const std::optional<LoopState>& saved) {
  if (!options.feeds.empty() || !saved || !saved->arrays) return array_names(options.feeds);
  return {saved->arrays->begin(), saved->arrays->end()};
}

void require_whole_batches(const Feeds& feeds, const LoopState& loop) {
  const int64_t rest = feeds.size() % loop.batch;
  const int64_t of_a_step = examples_a_step(loop);
  if (loop.drop_last && feeds.size() < of_a_step) {
    throw Error(fmt::format("{} examples do not fill one step of {}", feeds.size(), of_a_step));
  }
  if (feeds.fixed_batch() && rest != 0 && !loop.drop_last) {
    throw Error(
        fmt::format("the last batch would have {} examples, but the model takes {}: give "
                    "--drop-last to leave it out",
                    rest, loop.batch));
  }
}

std::function<Summary()> evaluation_of(const TrainArguments& options, Trainer& trainer,
                                       const LoopState& loop, const ArrayNames& names,
                                       Report& report) {
  if (options.evaluation.empty()) return {};
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
  CheckpointFolder checkpoints(options.checkpoint_folder());
  const bool keeps_checkpoints = !options.checkpoint.empty();
  if (keeps_checkpoints || checkpoints.exists()) checkpoints.open();
  auto [model, saved] = start(options, checkpoints);
  const bool resumed = saved.has_value();
  const ArrayNames names = arrays_of(options, saved);
  const Feeds feeds(open_dataset(options.data),
                    input_slots(model, saved ? saved->infos : infos_of(model, options.info)),
                    names);
  LoopState loop = saved ? std::move(*saved) : first_state(options, model, feeds);
  require_whole_batches(feeds, loop);
  if (resumed && loop.data != feeds.data().fingerprint()) {
    throw Error(
        fmt::format("'{}' is not the data that the checkpoint was made with", options.data));
  }
  loop.model = model_fingerprint(model);
  if (!resumed) loop.settings = kept_state(model);
  loop.arrays.emplace(names.begin(), names.end());
  const auto stamp = [&] {
    if (loop.data == 0) loop.data = feeds.data().fingerprint();
  };
  if (keeps_checkpoints) stamp();

  Trainer trainer(std::move(model),
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
  if (options.initialize) trainer.initialize();
  const auto report = options.json ? json_report() : text_report();
  Rescue rescue(options, trainer, loop, checkpoints);
  rescue.stamp = stamp;
  const LoopOptions loop_options{
      .epochs = options.counts_epochs() ? static_cast<uint64_t>(options.epochs) : 0,
      .steps = static_cast<uint64_t>(options.steps),
      .checkpoints = keeps_checkpoints ? &checkpoints : nullptr,
      .checkpoint_every = static_cast<uint64_t>(options.checkpoint_every),
      .evaluate = evaluation_of(options, trainer, loop, names, *report),
      .on_kept = [&](const LoopState& good) { rescue.keep(good); }};

  const Interrupt interrupt;
  Ending ending{};
  try {
    ending = train(trainer, feeds, loop, loop_options, *report);
  } catch (Error& error) {
    error.add_context(rescue.run());
    throw;
  } catch (...) {
    fmt::print(stderr, "{}\n", rescue.run());
    throw;
  }
  const Moment moment{.epoch = loop.epoch + 1, .step = loop.step};
  if (ending == Ending::interrupted) {
    try {
      stamp();
      checkpoints.open();
      checkpoints.save(trainer, loop);
    } catch (Error& error) {
      throw error.add_context(rescue.run());
    }
    report->interrupted(moment, resume_command(options));
    throw Exit{kInterrupted};
  }
  try {
    save_result(options, trainer, options.output);
  } catch (Error& error) {
    throw error.add_context(rescue.run(Rescue::Failed::output));
  }
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
  const Argument checkpoint = command.option("--checkpoint", &options->checkpoint,
                                             "a folder to keep the newest checkpoint in");
  command
      .option("--checkpoint-every", &options->checkpoint_every,
              "steps between checkpoints; 0: one after each epoch")
      .at_least(0)
      .needs(checkpoint);
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
