#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/train_augment.h"
#include "cli/train_frozen.h"
#include "cli/train_report.h"
#include "cli/train_rescue.h"
#include "cli/train_skip.h"
#include "cli/train_watch.h"
#include "format/atomic_file.h"
#include "onward/error.h"
#include "proto/external_data.h"
#include "runtime/conv_method.h"
#include "runtime/parallel.h"
#include "train/evaluator.h"
#include "train/fingerprint.h"
#include "train/interrupt.h"
#include "train/loop.h"

namespace onward::cli {
namespace {

constexpr auto kInterrupted = static_cast<ExitCode>(130);  // what shells give for Ctrl-C

/// The command that resumes after an interruption.
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
  add_words(options.reading, words);
  if (options.counts_epochs()) add_number("--epochs", options.epochs);
  add_number("--steps", options.steps);
  add("--eval", options.evaluation);
  add("--checkpoint", options.checkpoint);
  add_number("--checkpoint-every", options.checkpoint_every);
  add("--prefix-cache", options.prefix_cache);
  add_number("--threads", options.threads);
  add("--log", options.log);
  add("--report", options.report);
  if (options.conv_argument->given()) add("--conv", options.conv);
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
          .infos = infos_of(model, options.info),
          .splits_frozen = true};
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
    throw Error(
        fmt::format("--drop-last leaves nothing: a step takes {1} examples, the data has {0}",
                    feeds.size(), of_a_step));
  }
  if (feeds.fixed_batch() && rest != 0 && !loop.drop_last) {
    throw Error(fmt::format(
        "the last batch would have {} examples, but the model's batch size is fixed at {}; "
        "give --drop-last to skip it",
        rest, loop.batch));
  }
}

Dataset open_training_data(const TrainArguments& options, const Model& model) {
  DataOptions how = data_options(options.reading, model);
  how.learns = true;
  Dataset data = open_dataset(options.data, how);
  warn_of_ignored(data, options.data);
  require_classes_fit(data, model);
  return data;
}

std::shared_ptr<Feeds> feeds_of_evaluation(Dataset data, const Evaluator& evaluator,
                                           const ArrayNames& names, const TrainArguments& options) {
  try {
    return std::make_shared<Feeds>(std::move(data), evaluator.inputs(), names);
  } catch (Error& error) {
    if (!options.evaluation.empty()) {
      error.add_context(fmt::format("in --eval '{}'", options.evaluation));
    }
    throw;
  }
}

std::function<Summary()> evaluation_of(const TrainArguments& options, Trainer& trainer,
                                       const LoopState& loop, const EvaluateOptions& how,
                                       const Dataset& trained, std::vector<int64_t> held_out,
                                       FrozenParts& frozen, Report& report,
                                       const std::shared_ptr<Seen>& seen) {
  if (options.evaluation.empty() && held_out.empty()) return {};
  DataOptions as_trained = trained.options();
  as_trained.masks.clear();  // they are those of the training's images
  Dataset data = held_out.empty() ? open_dataset(options.evaluation, as_trained) : trained;
  if (held_out.empty()) warn_of_ignored(data, options.evaluation);
  auto evaluator = std::make_shared<Evaluator>(trainer.model(), loop.infos, data, how);
  auto feeds = feeds_of_evaluation(std::move(data), *evaluator, how.names, options);
  if (!held_out.empty()) {
    feeds->select(std::move(held_out));
  } else {
    DataArguments reading = options.reading;
    reading.skips_unreadable = loop.options.contains(kSkipUnreadable);
    skip_unreadable(*feeds, reading);
  }
  if (feeds->fixed_batch() && feeds->size() % loop.batch != 0) {
    throw Error(
        fmt::format("the model has a fixed batch size of {2}, which does not divide the {0} "
                    "examples of '{1}'",
                    feeds->size(), options.evaluation.empty() ? "--val-split" : options.evaluation,
                    loop.batch));
  }
  frozen.split_off(*evaluator, *feeds, loop.batch);
  OnScores on_scores;
  if (!options.report.empty()) {
    seen->feeds = feeds;
    on_scores = [seen](const ScoredBatch& batch) { seen->wrong.add(batch); };
  }
  return [evaluator, feeds, &trainer, &report, batch = loop.batch, seen, on_scores] {
    seen->wrong.clear();
    return evaluator->run(
        *feeds, batch, trainer.state(),
        [&](int64_t done) { report.evaluating(done, feeds->size()); }, on_scores);
  };
}

void copy_whole(const std::filesystem::path& from, const std::filesystem::path& to) {
  const MappedFile file(from);
  write_atomically(
      to, [&](int descriptor) { write_all(descriptor, file.bytes().data(), file.bytes().size()); });
}

void run_train(const TrainArguments& options) {
  require_writable(options.output);
  require_report_file(options.report, options.output);
  CheckpointFolder checkpoints(options.checkpoint_folder());
  const bool keeps_checkpoints = !options.checkpoint.empty();
  if (keeps_checkpoints || checkpoints.exists()) checkpoints.open();
  auto [model, saved] = start(options, checkpoints);
  const bool resumed = saved.has_value();
  const ArrayNames names = arrays_of(options, saved);
  auto watch_texts = watch_options(options, saved);
  const auto augmentation = augmentation_of(options, resumed, watch_texts);
  const Watch watch = watch_of(options, watch_texts);
  Feeds feeds(open_training_data(options, model),
              input_slots(model, saved ? saved->infos : infos_of(model, options.info)), names);
  LoopState loop = saved ? std::move(*saved) : first_state(options, model, feeds);
  const size_t skipped = skip_unreadable(feeds, options, resumed, watch_texts);
  loop.options = watch_texts;
  if (augmentation) {
    if (feeds.data().masks()) augmentation->require_masks();
    feeds.augment(augmentation->with_seed(loop.seed));
  }
  require_best_file(options, watch, loop);
  auto held_out = hold_out(feeds, watch, loop.seed);
  require_whole_batches(feeds, loop);
  if (resumed && loop.data != feeds.data().fingerprint()) {
    throw Error(
        fmt::format("'{}' differs from the data that the checkpoint was trained on", options.data));
  }
  loop.model = model_fingerprint(model);
  if (!resumed) loop.settings = kept_state(model);
  loop.arrays.emplace(names.begin(), names.end());
  const auto stamp = [&] {
    if (loop.data == 0) loop.data = feeds.data().fingerprint();
  };
  if (keeps_checkpoints) stamp();

  const bool as_saved = resumed && !options.conv_argument->given();
  const std::string conv = as_saved ? loop.conv : options.conv;
  Trainer trainer(std::move(model),
                  {.seed = loop.seed,
                   .threads = options.threads > 0 ? options.threads : loop.threads,
                   .conv = required_conv_method(conv),
                   .only_metrics = true,
                   .metrics = watch.metrics});
  require_metrics_fit(trainer, loop.infos, watch);
  const Threads threads(trainer.threads());  // for the evaluation
  const ConvMethodScope convolutions(trainer.conv());
  // So that whoever uses the model does to its data what the training did.
  for (const auto& [key, text] : feeds.data().kept()) trainer.set_metadata(key, text);
  if (resumed && trainer.threads() != loop.threads) {
    fmt::print(
        stderr,
        "warning: the checkpoint was made with {} threads; with {} the last digits may differ\n",
        loop.threads, trainer.threads());
  }
  loop.threads = trainer.threads();
  if (resumed && conv != loop.conv) {
    fmt::print(stderr,
               "warning: the checkpoint was made with --conv {}; with {} the last digits may "
               "differ\n",
               loop.conv, conv);
  }
  loop.conv = conv;
  if (options.initialize) trainer.initialize();
  FrozenParts frozen(options, loop, trainer, feeds);
  const auto seen = std::make_shared<Seen>();
  const auto report = reports_of({.options = options,
                                  .trainer = trainer,
                                  .model = trainer.model(),
                                  .loop = loop,
                                  .seen = seen});
  Rescue rescue(options, trainer, loop, checkpoints);
  rescue.stamp = stamp;
  const LoopOptions loop_options{
      .epochs = options.counts_epochs() ? static_cast<uint64_t>(options.epochs) : 0,
      .steps = static_cast<uint64_t>(options.steps),
      .checkpoints = keeps_checkpoints ? &checkpoints : nullptr,
      .checkpoint_every = static_cast<uint64_t>(options.checkpoint_every),
      .frozen = frozen.of_steps(),
      .evaluate = evaluation_of(options, trainer, loop,
                                {.names = names, .metrics = watch.metrics, .watched = watch.metric},
                                feeds.data(), std::move(held_out), frozen, *report, seen),
      .watched = watch.metric,
      .patience = watch.patience,
      .on_best =
          [&] {
            if (watch.keeps_best) save_result(options, trainer, best_file(options).string());
          },
      .balanced = labels_to_balance(feeds, watch),
      .seconds = watch.seconds,
      .on_kept = [&](const LoopState& good) { rescue.keep(good); }};

  const Interrupt interrupt;
  const auto moment = [&] { return Moment{.epoch = loop.epoch + 1, .step = loop.step}; };
  const auto tell_of = [&](const Error& error) { report->failed(moment(), error.what()); };
  Ending ending{};
  try {
    ending = train(trainer, feeds, loop, loop_options, *report);
  } catch (Error& error) {
    error.add_context(rescue.run());
    tell_of(error);
    throw;
  } catch (...) {
    fmt::print(stderr, "{}\n", rescue.run());
    report->failed(moment(), "the program ran out of memory, or has a mistake");
    throw;
  }
  if (ending == Ending::interrupted) {
    try {
      stamp();
      checkpoints.open();
      checkpoints.save(trainer, loop);
    } catch (Error& error) {
      error.add_context(rescue.run());
      tell_of(error);
      throw;
    }
    report->interrupted(moment(), resume_command(options));
    throw Exit{kInterrupted};
  }
  const bool best_alone = !watch.keeps_last && loop.best;
  try {
    if (best_alone) {
      copy_whole(best_file(options), options.output);
    } else {
      save_result(options, trainer, options.output);
    }
  } catch (Error& error) {
    error.add_context(rescue.run(Rescue::Failed::output));
    tell_of(error);
    throw;
  }
  if (!keeps_checkpoints) {
    checkpoints.remove();
    std::error_code failure;
    if (best_alone) std::filesystem::remove(best_file(options), failure);
  }
  if (watch.keeps_best && loop.best) {
    report->best({.epoch = loop.best->epoch, .step = loop.best->step},
                 best_alone ? std::filesystem::path(options.output) : best_file(options));
  }
  report->done(moment(), options.output);
  warn_of_skipped(skipped);
  if (options.explain) fmt::print(stderr, "{}{}", trainer.explain(), frozen.explain());
}

}  // namespace

void add_train(CommandLine& line) {
  auto options = std::make_shared<TrainArguments>();
  Command command = line.command("train", "Train a model on a dataset");
  command
      .positional("MODEL", &options->model,
                  "a training model, as `onward prepare` writes it (.onnx or .onnxtxt)")
      .required();
  command.option("--data", &options->data, kDataHelp).required();
  command.option("-o,--output", &options->output, "the trained model to write").required();
  options->epochs_argument =
      command.option("--epochs", &options->epochs, "passes over the dataset").at_least(1);
  command.option("--steps", &options->steps, "stop after this many steps")
      .at_least(0)
      .default_name("no limit");
  options->batch_argument =
      command.option("--batch-size", &options->batch, "examples per batch").at_least(1);
  command.former_name("--batch", "--batch-size");
  options->accumulate_argument =
      command
          .option("--accumulate", &options->accumulate,
                  "gradient accumulation: batches per step, whose gradients are averaged")
          .at_least(1);
  command.flag("--drop-last", &options->drop_last,
               "drop the last batch of an epoch if it is incomplete");
  command.option("--eval", &options->evaluation, "held-out data to evaluate on after each epoch");
  command.option("--feed", &options->feeds, "feed an input from an array of another name")
      .value_name("INPUT=ARRAY");
  add_data_options(command, &options->reading);
  add_masks(command, &options->reading);
  add_refit(command, &options->reading);
  add_augment(command, options.get());
  const Argument checkpoint =
      command.option("--checkpoint", &options->checkpoint, "folder for the latest checkpoint");
  command.option("--checkpoint-every", &options->checkpoint_every, "steps between checkpoints")
      .at_least(0)
      .default_name("one per epoch")
      .needs(checkpoint);
  command.flag("--resume", &options->resume, "continue from the checkpoint, bit for bit");
  options->seed_argument =
      command
          .option("--seed", &options->seed,
                  "random seed for shuffling and for random operators such as Dropout")
          .at_least(0);
  add_watch_options(command, options.get());
  add_report_options(command, options.get());
  add_prefix_cache(command, options.get());
  add_threads(command, &options->threads);
  options->conv_argument =
      command
          .option("--conv", &options->conv,
                  "how convolutions are computed: 'fastest' takes Winograd's algorithm where it "
                  "is faster, 'direct' sums up products alone")
          .choices({"fastest", "direct"});
  options->info_argument = add_info(command, &options->info);
  command.flag("--initialize", &options->initialize,
               "run the model's initialization first, which resets all parameters");
  command.flag("--inference", &options->inference,
               "write an inference model, without loss and optimizer");
  command.flag("--json", &options->json, "log progress as JSON, one object per line");
  command.flag("--explain", &options->explain,
               "after training, list on stderr which kernel ran each part of a step, and why");
  command.footer(
      "Ctrl-C saves a checkpoint and prints the command that resumes; a second Ctrl-C quits at "
      "once.\n"
      "Example: onward train model.onnx --data train.npz --eval test.npz --epochs 3 -o "
      "trained.onnx");
  options->command = command;
  command.run([options] { run_train(*options); });
}

}  // namespace onward::cli
