#pragma once

#include <filesystem>

#include "train/loop_state.h"
#include "train/trainer.h"

namespace onward {

/// A folder that holds the newest checkpoint of a training: `checkpoint.onnx`, a training file like
/// any other whose metadata says where the training stands, and a file with the data of its tensors
/// beside it. Both have checksums.
class CheckpointFolder {
 public:
  explicit CheckpointFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;

  std::filesystem::path file() const { return folder_ / "checkpoint.onnx"; }
  bool exists() const;
  bool has_checkpoint() const;

  /// Makes the folder, where there is none, and keeps it for this training alone while this object
  /// lives: to be done before anything is saved. Throws Error where another one has it, or nothing
  /// can be written in it.
  void open();

  struct Checkpoint {
    Model model;
    LoopState loop;
  };
  /// Throws Error where any part of it is not as it was written.
  Checkpoint load() const;

  /// Writes the next checkpoint. Data goes to a fresh file, then the .onnx file is replaced as a
  /// whole: whatever happens, the folder holds this checkpoint or the one before. Throws Error
  /// without touching it where the state holds a NaN.
  void save(Trainer& trainer, const LoopState& loop) const;

  /// Removes the checkpoint, and the folder where it is empty then.
  void remove() const;

 private:
  void remove_unused_files() const;

  std::filesystem::path folder_;
  int lock_ = -1;
  std::vector<std::filesystem::path> made_;  // the folder and those around it, inner ones first
};

/// The name of the first state tensor with a NaN in it.
std::optional<std::string> find_nan(const State& state);

/// Takes out of a model's metadata what makes it a checkpoint.
void forget_checkpoint(Trainer& trainer);

}  // namespace onward
