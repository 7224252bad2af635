#include "proto/external_data.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>

#include "onward/error.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

/// Opens a regular file for reading and gives its size. O_NONBLOCK: opening a pipe must not wait.
int open_regular(const fs::path& file, size_t& size) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    throw Error(fmt::format("'{}': {}", file.string(), std::strerror(errno)), ErrorCode::file);
  }
  struct stat status{};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    throw Error(fmt::format("'{}' is not a regular file", file.string()));
  }
  size = static_cast<size_t>(status.st_size);
  return descriptor;
}

/// The path of an open file with all symbolic links followed, as the kernel sees it: no other
/// process can swap a link between this check and the reading.
fs::path real_path(int descriptor) {
  return fs::read_symlink(fmt::format("/proc/self/fd/{}", descriptor));
}

bool lies_in(const fs::path& file, const fs::path& folder) {
  const auto relative = file.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

std::mutex mapped_files_mutex;
std::map<const std::byte*, const MappedFile*> mapped_files;  // by where they begin

}  // namespace

MappedFile::MappedFile(const fs::path& file) {
  size_t size = 0;
  const int descriptor = open_regular(file, size);
  map(descriptor, size, file);
}

MappedFile::MappedFile(int descriptor, size_t size, const fs::path& name) {
  map(descriptor, size, name);
}

void MappedFile::map(int descriptor, size_t size, const fs::path& name) {
  if (size == 0) {
    ::close(descriptor);
    return;
  }
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (address == MAP_FAILED) {
    const int reason = errno;
    ::close(descriptor);
    throw Error(fmt::format("'{}' can't be mapped: {}", name.string(), std::strerror(reason)));
  }
  name_ = name;
  descriptor_ = descriptor;
  bytes_ = {static_cast<const std::byte*>(address), size};
  const std::scoped_lock lock(mapped_files_mutex);
  mapped_files[bytes_.data()] = this;
}

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  {
    const std::scoped_lock lock(mapped_files_mutex);
    mapped_files.erase(bytes_.data());
  }
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  ::close(descriptor_);
}

void MappedFile::read(const std::byte* from, std::span<std::byte> to) const {
  auto offset = static_cast<off_t>(from - bytes_.data());
  while (!to.empty()) {
    const ssize_t count = ::pread(descriptor_, to.data(), to.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      throw Error(fmt::format("'{}' {}", name_.string(),
                              count < 0 ? std::strerror(errno) : "was truncated while in use"));
    }
    offset += count;
    to = to.subspan(static_cast<size_t>(count));
  }
}

const MappedFile* MappedFile::holding(const std::byte* bytes) {
  const std::scoped_lock lock(mapped_files_mutex);
  auto found = mapped_files.upper_bound(bytes);
  if (found == mapped_files.begin()) return nullptr;
  const MappedFile* file = std::prev(found)->second;
  return bytes < file->bytes_.data() + file->bytes_.size() ? file : nullptr;
}

std::shared_ptr<const MappedFile> ExternalFiles::open(const std::string& location) {
  const auto found = open_files_.find(location);
  if (found != open_files_.end()) return found->second;

  const fs::path path(location);
  if (location.empty() || location.find('\0') != std::string::npos) {
    throw Error("the location of external data is empty or holds a null character");
  }
  if (path.is_absolute()) {
    throw Error(fmt::format("external data '{}' has an absolute path", location));
  }
  for (const fs::path& part : path) {
    if (part == "..")
      throw Error(fmt::format("external data '{}' leaves the model's folder", location));
  }

  size_t size = 0;
  const int descriptor = open_regular(folder_ / path, size);
  std::error_code failure;
  const fs::path real_folder = fs::canonical(folder_, failure);
  if (failure || !lies_in(real_path(descriptor), real_folder)) {
    ::close(descriptor);
    throw Error(fmt::format("external data '{}' leaves the model's folder through a symbolic link",
                            location));
  }
  auto file = std::make_shared<const MappedFile>(descriptor, size, path);
  open_files_.emplace(location, file);
  return file;
}

ExternalBytes ExternalFiles::map(const std::string& location, int64_t offset,
                                 std::optional<int64_t> length) {
  const auto file = open(location);
  const auto size = static_cast<int64_t>(file->bytes().size());
  if (offset < 0 || offset > size || length.value_or(0) < 0 || length.value_or(0) > size - offset) {
    throw Error(fmt::format("external data '{}' has {} bytes, but {} from byte {} are needed",
                            location, size, length ? std::to_string(*length) : "those", offset));
  }
  const auto count = static_cast<size_t>(length.value_or(size - offset));
  return {file->bytes().subspan(static_cast<size_t>(offset), count), file};
}

}  // namespace onward
