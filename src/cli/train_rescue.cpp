#include "cli/train_rescue.h"

#include <fmt/format.h>

#include "format/save.h"
#include "onward/error.h"

namespace onward::cli {
namespace {

namespace fs = std::filesystem;

bool is_taken(const fs::path& file) {
  std::error_code failure;
  return fs::exists(file, failure);
}

bool is_device(const fs::path& file) {
  std::error_code failure;
  return fs::exists(file, failure) && !fs::is_regular_file(file, failure);
}

/// "trained.rescued.onnx" for "trained.onnx", and a number where that is taken too.
std::string free_name_beside(const fs::path& file) {
  const auto name = [&](const std::string& number) {
    fs::path other = file;
    other.replace_extension("rescued" + number + file.extension().string());
    return other.string();
  };
  std::string found = name("");
  for (int i = 2; is_taken(found); ++i) found = name(fmt::format("-{}", i));
  return found;
}

}  // namespace

void save_result(const TrainArguments& options, Trainer& trainer, const std::string& file) {
  forget_checkpoint(trainer);
  if (options.inference) {
    save(trainer.inference_model(), file);
  } else {
    save(trainer.model(), file);
  }
}

Rescue::Rescue(const TrainArguments& options, Trainer& trainer, LoopState& loop,
               CheckpointFolder& checkpoints)
    : options_(options),
      trainer_(trainer),
      loop_(loop),
      kept_(loop),
      checkpoints_(checkpoints),
      first_step_(loop.step) {}

std::string Rescue::run(Failed failed) {
  try {
    if (!has_good_state()) {
      say("nothing was written");
    } else if (failed == Failed::output) {
      write_without_output();
    } else {
      write();
    }
  } catch (const std::exception& failure) {
    say(fmt::format("the trained state could not be written: {}", failure.what()));
  }
  return report_;
}

void Rescue::write() {
  const bool is_free = !is_taken(options_.output);
  bool written = false;
  if (!options_.checkpoint.empty() || !is_free) written = write_checkpoint();
  if (!is_free && written) return;
  const std::string file = is_free ? options_.output : free_name_beside(options_.output);
  try_to_write(file, [&] { save_result(options_, trainer_, file); });
}

void Rescue::write_without_output() {
  if (!options_.checkpoint.empty()) {  // a training that is done has written it
    say(fmt::format("the model after step {} is in '{}'", loop_.step,
                    checkpoints_.file().string()));
  } else if (is_device(options_.output)) {  // beside which nobody looks for a folder
    say("the trained state is lost");
  } else {
    write_checkpoint();
  }
}

void Rescue::say(const std::string& line) { report_ += (report_.empty() ? "" : "\n  ") + line; }

bool Rescue::has_good_state() {
  if (trainer_.find_spoiled()) {
    trainer_.restore_model_state();
    loop_ = kept_;
  }
  return loop_.step != first_step_;
}

bool Rescue::write_checkpoint() {
  return try_to_write(checkpoints_.file().string(), [&] {
    checkpoints_.open();
    try {
      stamp();
    } catch (const Error&) {  // the data may be what ended the training
    }
    checkpoints_.save(trainer_, loop_);
  });
}

bool Rescue::try_to_write(const std::string& file, const std::function<void()>& write) {
  try {
    write();
  } catch (const std::exception& failure) {
    say(fmt::format("the trained state could not be written to '{}': {}", file, failure.what()));
    return false;
  }
  say(fmt::format("the model after step {} is in '{}'", loop_.step, file));
  return true;
}

}  // namespace onward::cli
