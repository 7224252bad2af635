#include "train/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/external_data.h"
#include "ir/load.h"
#include "ir/save.h"
#include "onward/error.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

template <typename T>
bool any_nan(const Tensor& tensor) {
  return std::ranges::any_of(tensor.data<T>(), [](T value) { return std::isnan(value); });
}

bool holds_nan(const Tensor& tensor) {
  if (tensor.dtype() == DType::f32) return any_nan<float>(tensor);
  if (tensor.dtype() == DType::f64) return any_nan<double>(tensor);
  if (!is_float(tensor.dtype())) return false;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    if (std::isnan(tensor.number(i))) return true;
  }
  return false;
}

}  // namespace

void refuse_nan(const State& state, uint64_t step) {
  for (const std::string& name : state.names()) {
    if (holds_nan(state.get(name))) {
      throw Error(fmt::format("'{}' holds NaN after step {}: nothing is saved", name, step));
    }
  }
}

bool CheckpointFolder::has_checkpoint() const {
  std::error_code failure;
  return fs::exists(file(), failure);
}

CheckpointFolder::Checkpoint CheckpointFolder::load() const {
  Checkpoint checkpoint{.model = onward::load(file()), .loop = {}};
  try {
    for (const auto& [key, value] : checkpoint.model.metadata) {
      if (key != kLoopStateKey) continue;
      checkpoint.loop = loop_state_from_json(value);
      return checkpoint;
    }
    throw Error("it does not say where its training stands: it is no checkpoint");
  } catch (Error& error) {
    error.add_context(fmt::format("in checkpoint '{}'", file().string()));
    throw;
  }
}

void CheckpointFolder::save(Trainer& trainer, const LoopState& loop) const {
  refuse_nan(trainer.state(), loop.step);
  std::error_code failure;
  fs::create_directories(folder_, failure);
  if (failure) {
    throw Error(fmt::format("folder '{}' can't be made: {}", folder_.string(), failure.message()));
  }
  trainer.set_metadata(kLoopStateKey, to_json(loop));
  try {
    onward::save(trainer.model(), file(), {.external_data = true});
  } catch (...) {
    remove_unused_files();
    throw;
  }
  remove_unused_files();
}

/// Data files of older checkpoints, and what a crash left unfinished. A file that the checkpoint
/// uses is named in it, as its constants may lie in an older file than its state.
void CheckpointFolder::remove_unused_files() const {
  std::error_code failure;
  std::string_view text;
  std::optional<MappedFile> mapped;
  if (has_checkpoint()) {
    mapped.emplace(file());
    text = {reinterpret_cast<const char*>(mapped->bytes().data()), mapped->bytes().size()};
  }
  for (const auto& entry : fs::directory_iterator(folder_, failure)) {
    const std::string name = entry.path().filename().string();
    const bool is_data = name.starts_with("checkpoint.onnx.") && name.ends_with("data");
    const bool is_unfinished = name.starts_with(".checkpoint.onnx.");
    if (is_unfinished || (is_data && text.find(name) == std::string_view::npos))
      fs::remove(entry.path(), failure);
  }
}

void CheckpointFolder::remove() const {
  std::error_code failure;
  fs::remove(file(), failure);
  remove_unused_files();
  fs::remove(folder_, failure);  // stays where something else is in it
}

}  // namespace onward
