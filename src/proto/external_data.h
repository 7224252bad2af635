#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace onward {

/// A file mapped into memory, read when touched.
class MappedFile {
 public:
  /// Maps a regular file; throws Error where it can't be opened.
  explicit MappedFile(const std::filesystem::path& file);
  /// Maps an open file of that size, and closes it.
  MappedFile(int descriptor, size_t size, const std::filesystem::path& name);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

  /// Copies bytes of it. Throws Error where the file has been cut since it was mapped: touching
  /// what is gone would end the program, or give zeros.
  void read(const std::byte* from, std::span<std::byte> to) const;

  /// The mapped file that these bytes lie in, or null.
  static const MappedFile* holding(const std::byte* bytes);

 private:
  void map(int descriptor, size_t size, const std::filesystem::path& name);

  std::filesystem::path name_;
  int descriptor_ = -1;
  std::span<const std::byte> bytes_;
};

/// Bytes of a mapped file, and what keeps them there.
struct ExternalBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

/// The files beside a model that hold its tensors. A model can name only files that lie in its own
/// folder once all symbolic links are followed: it could read out any other file otherwise.
class ExternalFiles {
 public:
  explicit ExternalFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const std::filesystem::path& folder() const { return folder_; }

  /// Maps `length` bytes (by default: the rest) of the file from `offset`; throws Error where the
  /// location leaves the folder or the range leaves the file.
  ExternalBytes map(const std::string& location, int64_t offset, std::optional<int64_t> length);

 private:
  std::shared_ptr<const MappedFile> open(const std::string& location);

  std::filesystem::path folder_;
  std::map<std::string, std::shared_ptr<const MappedFile>> open_files_;
};

}  // namespace onward
