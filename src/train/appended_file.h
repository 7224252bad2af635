#pragma once

#include <filesystem>
#include <string_view>

namespace onward {

/// A file that grows piece by piece. Each piece is there once append() is back, however the process
/// ends; a kill may leave a part of the last one, an error leaves none of it.
class AppendedFile {
 public:
  /// Opens the file, or makes it. Throws Error where it can't be written.
  explicit AppendedFile(const std::filesystem::path& file);
  ~AppendedFile();
  AppendedFile(const AppendedFile&) = delete;
  AppendedFile& operator=(const AppendedFile&) = delete;

  void append(std::string_view piece);

 private:
  std::filesystem::path file_;
  int descriptor_;
  int64_t size_ = 0;
};

}  // namespace onward
