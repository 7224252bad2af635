#include "train/example_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

namespace onward {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kChunk = 4 << 20;  // memory is taken as it is needed

/// A number in a file of the system's: that behind `key`, or the only one.
std::optional<int64_t> number_in(const fs::path& file, std::string_view key = {}) {
  std::ifstream stream(file);
  for (std::string word; stream >> word;) {
    int64_t number = 0;
    if (key.empty()) {
      if (std::from_chars(word.data(), word.data() + word.size(), number).ec != std::errc()) break;
      return number;
    }
    if (word == key && stream >> number) return number;
  }
  return std::nullopt;
}

int64_t free_memory() {
  const int64_t pages = ::sysconf(_SC_AVPHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  int64_t free = std::max<int64_t>(pages, 0) * std::max<int64_t>(page, 0);
  if (const auto available = number_in("/proc/meminfo", "MemAvailable:")) free = *available * 1024;
  // What a container may use.
  const fs::path group = "/sys/fs/cgroup";
  const auto most = number_in(group / "memory.max"), used = number_in(group / "memory.current");
  if (most && used) free = std::min(free, std::max<int64_t>(*most - *used, 0));
  return free;
}

int64_t free_disk(const fs::path& folder) {
  struct statvfs found{};
  if (::statvfs(folder.c_str(), &found) != 0) return 0;
  return static_cast<int64_t>(found.f_bavail) * static_cast<int64_t>(found.f_frsize);
}

}  // namespace

StoreRoom free_room() {
  const char* named = std::getenv("TMPDIR");
  const fs::path folder = named && *named ? named : "/var/tmp";
  return {.memory = free_memory() / 4, .disk = free_disk(folder) / 2, .folder = folder};
}

ExampleStore::ExampleStore(int64_t examples, int64_t bytes, StoreRoom& room)
    : bytes_(std::max<int64_t>(bytes, 1)),
      places_(static_cast<size_t>(examples), -1),
      per_chunk_(std::max<int64_t>(kChunk / bytes_, 1)),
      folder_(room.folder) {
  in_memory_ = std::min(examples, room.memory / bytes_);
  on_disk_ = std::min(examples - in_memory_, room.disk / bytes_);
  room.memory -= in_memory_ * bytes_;
  room.disk -= on_disk_ * bytes_;
}

ExampleStore::~ExampleStore() {
  if (file_ >= 0) ::close(file_);
}

bool ExampleStore::read(int64_t example, std::span<std::byte> to) {
  int64_t& place = places_[static_cast<size_t>(example)];
  if (place < 0) return false;
  if (place < in_memory_) {
    std::memcpy(to.data(), in_memory(place), to.size());
    return true;
  }
  if (on_disk(false, place, to.data())) return true;
  place = -1;
  return false;
}

void ExampleStore::write(int64_t example, std::span<const std::byte> from) {
  int64_t& place = places_[static_cast<size_t>(example)];
  if (place >= 0 || used_ >= capacity()) return;
  if (used_ < in_memory_) {
    try {
      std::memcpy(in_memory(used_), from.data(), from.size());
    } catch (const std::bad_alloc&) {
      in_memory_ = used_;  // the rest goes to the disk
      return;
    }
  } else if (!on_disk(true, used_, const_cast<std::byte*>(from.data()))) {
    return;
  }
  place = used_++;
}

std::byte* ExampleStore::in_memory(int64_t place) {
  const auto chunk = static_cast<size_t>(place / per_chunk_);
  if (chunk == chunks_.size()) {
    chunks_.emplace_back(static_cast<size_t>(std::min(per_chunk_, in_memory_ - place) * bytes_));
  }
  return chunks_[chunk].data() + place % per_chunk_ * bytes_;
}

void ExampleStore::open_file() {
  file_ = ::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file_ >= 0) return;
  std::string name =
      (folder_ / "onward-XXXXXX").string();  // not every disk has files without names
  file_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (file_ >= 0) ::unlink(name.c_str());
}

/// Nothing more is written; what is there stays.
void ExampleStore::give_up(int64_t capacity_left, const std::string& what) {
  on_disk_ = std::max<int64_t>(capacity_left - in_memory_, 0);
  if (std::exchange(has_failed_, true)) return;
  failure_ =
      fmt::format("{} in '{}': {}", what, folder_.string(), std::generic_category().message(errno));
}

bool ExampleStore::on_disk(bool writes, int64_t place, std::byte* bytes) {
  if (file_ < 0) open_file();
  int64_t done = 0;
  while (file_ >= 0 && done < bytes_) {
    const auto left = static_cast<size_t>(bytes_ - done);
    const auto at = static_cast<off_t>((place - in_memory_) * bytes_ + done);
    const ssize_t count =
        writes ? ::pwrite(file_, bytes + done, left, at) : ::pread(file_, bytes + done, left, at);
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) errno = EIO;
    if (count <= 0) break;
    done += count;
  }
  if (done == bytes_) return true;
  give_up(used_, writes ? "a temporary file cannot grow" : "a temporary file cannot be read");
  return false;
}

}  // namespace onward
