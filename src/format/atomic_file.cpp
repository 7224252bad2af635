#include "format/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "onward/error.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(std::string_view what, const fs::path& file) {
  throw Error(fmt::format("{} '{}': {}", what, file.string(), std::strerror(errno)),
              ErrorCode::file);
}

/// Closes a descriptor on all ways out.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  bool close() { return ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

/// Where a symbolic link leads, even to nothing yet: the link stays, and what it names is written.
fs::path follow_links(fs::path file) {
  constexpr int kMaxLinks = 40;  // as the kernel does
  std::error_code failure;
  for (int i = 0; i < kMaxLinks && fs::is_symlink(file, failure); ++i) {
    file = file.parent_path() / fs::read_symlink(file);  // an absolute path replaces the left side
  }
  return file;
}

fs::path parent_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

/// A new file beside the one that it is to replace.
struct Unfinished {
  explicit Unfinished(const fs::path& target)
      : name((parent_of(target) / fmt::format(".{}.XXXXXX", target.filename().string())).string()),
        descriptor(::mkostemp(name.data(), O_CLOEXEC)) {
    if (descriptor.number() < 0) fail("can't write in the folder of", target);
  }

  std::string name;
  Descriptor descriptor;
};

void write_directly(const fs::path& file, const std::function<void(int)>& write) {
  const Descriptor target(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (target.number() < 0) fail("can't write", file);
  write(target.number());
}

}  // namespace

void write_all(int descriptor, const void* bytes, size_t count) {
  const char* next = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t written = ::write(descriptor, next, count);
    if (written < 0) {
      if (errno == EINTR) continue;
      throw Error(fmt::format("writing failed: {}", std::strerror(errno)), ErrorCode::file);
    }
    next += written;
    count -= static_cast<size_t>(written);
  }
}

void write_atomically(const fs::path& file, const std::function<void(int)>& write) {
  std::error_code failure;
  const fs::path target = follow_links(file);
  if (fs::exists(target, failure) && !fs::is_regular_file(target, failure)) {
    return write_directly(target, write);
  }
  Unfinished unfinished(target);
  Descriptor& descriptor = unfinished.descriptor;
  try {
    write(descriptor.number());
    const mode_t mask = ::umask(0);  // mkostemp gives 0600; a model is as readable as other files
    ::umask(mask);
    if (::fchmod(descriptor.number(), 0666 & ~mask) != 0) fail("can't write", target);
    if (::fsync(descriptor.number()) != 0 || !descriptor.close()) fail("can't write", target);
    if (::rename(unfinished.name.c_str(), target.c_str()) != 0) fail("can't write", target);
  } catch (Error& error) {
    ::unlink(unfinished.name.c_str());
    error.add_context(fmt::format("while writing '{}'", target.string()));
    throw;
  } catch (...) {
    ::unlink(unfinished.name.c_str());
    throw;
  }
  // Makes the rename itself last through a power cut; not every file system can, and all is
  // written.
  const Descriptor folder_descriptor(
      ::open(parent_of(target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder_descriptor.number() >= 0) ::fsync(folder_descriptor.number());
}

void require_writable(const fs::path& file) {
  const fs::path target = follow_links(file);
  std::error_code failure;
  const fs::file_status status = fs::status(target, failure);
  if (fs::is_directory(status)) throw Error(fmt::format("'{}' is a folder", file.string()));
  if (!target.has_filename()) throw Error(fmt::format("'{}' is not a file name", file.string()));
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    if (::access(target.c_str(), W_OK) != 0) fail("can't write", target);
    return;
  }
  if (!fs::exists(parent_of(target), failure)) {
    throw Error(fmt::format("cannot write '{}': folder '{}' does not exist", file.string(),
                            parent_of(target).string()));
  }
  const Unfinished unfinished(target);
  ::unlink(unfinished.name.c_str());
}

}  // namespace onward
