#include "train/appended_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "format/atomic_file.h"
#include "onward/error.h"

namespace onward {

AppendedFile::AppendedFile(const std::filesystem::path& file)
    : file_(file),
      descriptor_(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) {
    throw Error(fmt::format("can't write '{}': {}", file.string(), std::strerror(errno)),
                ErrorCode::file);
  }
  size_ = ::lseek(descriptor_, 0, SEEK_END);
}

AppendedFile::~AppendedFile() { ::close(descriptor_); }

void AppendedFile::append(std::string_view piece) {
  try {
    write_all(descriptor_, piece.data(), piece.size());
  } catch (Error& error) {
    // A disk that is full may have taken the first half.
    if (::ftruncate(descriptor_, size_) != 0) error.add_context("its last record is torn");
    error.add_context(fmt::format("in '{}'", file_.string()));
    throw;
  }
  size_ += static_cast<int64_t>(piece.size());
}

}  // namespace onward
