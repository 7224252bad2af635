#pragma once

#include <filesystem>

#include "train/loop_state.h"
#include "train/trainer.h"

namespace onward {

/// A folder that holds the newest checkpoint of a training: `checkpoint.onnx`, a training file like
/// any other whose metadata says where the training stands, and a file with the data of its tensors
/// beside it.
class CheckpointFolder {
 public:
  explicit CheckpointFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::filesystem::path file() const { return folder_ / "checkpoint.onnx"; }
  bool has_checkpoint() const;

  struct Checkpoint {
    Model model;
    LoopState loop;
  };
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
};

/// Throws an Error that names the first state tensor with a NaN in it.
void refuse_nan(const State& state, uint64_t step);

/// The key of the loop's state in a model's metadata.
inline constexpr const char* kLoopStateKey = "onward.training";

}  // namespace onward
