#pragma once

#include <functional>
#include <string>

#include "cli/train_start.h"

namespace onward::cli {

/// Writes the model of `-o`, or to another file.
void save_result(const TrainArguments& options, Trainer& trainer, const std::string& file);

/// Writes what is left of a training that an error ends: the last state that is good.
class Rescue {
 public:
  Rescue(const TrainArguments& options, Trainer& trainer, LoopState& loop,
         CheckpointFolder& checkpoints);

  void keep(const LoopState& good) { kept_ = good; }
  /// Is called before a checkpoint is written, for what it takes to go on from that.
  std::function<void()> stamp;

  /// What could not be written already.
  enum class Failed : uint8_t { nothing, output };

  /// Writes it to the checkpoint, where there is one or `-o` is taken, and to `-o`, where that is
  /// free. What can't be written to the one is written to the other, or beside an older file. Says
  /// where it is, and what could not be written. Never throws Error.
  std::string run(Failed failed = Failed::nothing);

 private:
  void write();
  void write_without_output();
  void say(const std::string& line);
  bool try_to_write(const std::string& file, const std::function<void()>& write);
  bool write_checkpoint();
  bool has_good_state();

  const TrainArguments& options_;
  Trainer& trainer_;
  LoopState& loop_;
  LoopState kept_;
  CheckpointFolder& checkpoints_;
  uint64_t first_step_;
  std::string report_;
};

}  // namespace onward::cli
