#include "train/checkpoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "data/deflate.h"
#include "format/atomic_file.h"
#include "format/load.h"
#include "format/save.h"
#include "onward/error.h"
#include "proto/external_data.h"
#include "train/fingerprint.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

/// Keys of a model's metadata.
constexpr const char* kLoopStateKey = "onward.training";
constexpr const char* kChecksumKey = "onward.checksum";

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

// The checksum of a checkpoint's .onnx file is an entry of its metadata, at the very end.
constexpr std::string_view kSealStart =
    "\x72\x1b\x0a\x0fonward.checksum\x12\x08";  // field 14, 27 bytes: key and value
constexpr size_t kSealBytes = kSealStart.size() + 8;

std::string sealed(std::span<const std::byte> bytes) {
  return fmt::format("{}{:08x}", kSealStart, crc32_of(bytes));
}

void seal(int descriptor) {
  const MappedFile file(::dup(descriptor), static_cast<size_t>(::lseek(descriptor, 0, SEEK_END)),
                        "the checkpoint");
  const std::string end = sealed(file.bytes());
  write_all(descriptor, end.data(), end.size());
}

Error damaged() { return Error("it is damaged: a checksum does not match"); }

/// Whether the file ends with its checksum; throws Error where that is wrong.
bool require_whole(const fs::path& file) {
  const MappedFile mapped(file);
  const std::string_view text(reinterpret_cast<const char*>(mapped.bytes().data()),
                              mapped.bytes().size());
  if (text.size() < kSealBytes) return false;
  const std::string_view end = text.substr(text.size() - kSealBytes);
  if (!end.starts_with(kSealStart)) return false;
  if (end != sealed(mapped.bytes().first(text.size() - kSealBytes))) throw damaged();
  return true;
}

}  // namespace

std::optional<std::string> find_nan(const State& state) {
  for (const std::string& name : state.names()) {
    if (holds_nan(state.get(name))) return name;
  }
  return std::nullopt;
}

void forget_checkpoint(Trainer& trainer) {
  trainer.set_metadata(kLoopStateKey, "");
  trainer.set_metadata(kChecksumKey, "");
}

CheckpointFolder::~CheckpointFolder() {
  std::error_code failure;
  for (const fs::path& each : made_) fs::remove(each, failure);  // stays where something is in it
  if (lock_ >= 0) ::close(lock_);
}

bool CheckpointFolder::exists() const {
  std::error_code failure;
  return fs::exists(folder_, failure);
}

bool CheckpointFolder::has_checkpoint() const {
  std::error_code failure;
  return fs::exists(file(), failure);
}

/// The lock is on the folder itself, and ends with the process, however that ends.
void CheckpointFolder::open() {
  if (lock_ >= 0) return;
  std::error_code failure;
  for (fs::path each = folder_; !each.empty() && !fs::exists(fs::symlink_status(each, failure));
       each = each.parent_path()) {
    made_.push_back(each);
  }
  fs::create_directories(folder_, failure);
  if (failure) {
    throw Error(fmt::format("folder '{}' can't be made: {}", folder_.string(), failure.message()));
  }
  lock_ = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ < 0) {
    throw Error(fmt::format("folder '{}': {}", folder_.string(), std::strerror(errno)));
  }
  // A file system without locks gives another error, and does without.
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    throw Error(
        fmt::format("another training is using the checkpoint folder '{}': wait for it, or choose "
                    "another folder with --checkpoint",
                    folder_.string()));
  }
  require_writable(file());
}

CheckpointFolder::Checkpoint CheckpointFolder::load() const {
  try {
    const bool sealed = require_whole(file());
    Checkpoint checkpoint{.model = onward::load(file()), .loop = {}};
    const auto& metadata = checkpoint.model.metadata;
    const auto found =
        std::ranges::find(metadata, kLoopStateKey, [](const auto& entry) { return entry.first; });
    if (found == metadata.end()) {
      throw Error("it has no training position in its metadata: it is not a checkpoint");
    }
    checkpoint.loop = loop_state_from_json(found->second);
    if (const auto& expected = checkpoint.loop.tensors) {  // older ones have no checksums
      if (!sealed || tensors_checksum(checkpoint.model) != *expected) throw damaged();
    }
    return checkpoint;
  } catch (Error& error) {
    error.add_context(fmt::format("in checkpoint '{}'", file().string()));
    error.add_context("restore it from a copy, or remove it to start over");
    throw;
  }
}

void CheckpointFolder::save(Trainer& trainer, const LoopState& loop) const {
  if (const auto name = find_nan(trainer.state())) {
    throw Error(
        fmt::format("'{}' contains NaN after step {}: no checkpoint is written", *name, loop.step));
  }
  LoopState stamped = loop;
  stamped.tensors = tensors_checksum(trainer.model());
  trainer.set_metadata(kChecksumKey, "");
  trainer.set_metadata(kLoopStateKey, to_json(stamped));
  try {
    onward::save(trainer.model(), file(), {.external_data = true, .finish = seal});
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
