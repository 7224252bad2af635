#include "train/event_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <chrono>

#include "ir/utf8.h"
#include "onward/error.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "events.out.tfevents.";

constexpr std::array<uint32_t, 256> kCrcTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78U : 0);
    table[byte] = crc;
  }
  return table;
}();

template <typename T>
std::string little_endian(T number) {
  std::string bytes;
  for (size_t i = 0; i < sizeof(T); ++i) bytes += static_cast<char>(number >> (8 * i));
  return bytes;
}

/// A checksum that is kept beside the bytes that it is of is turned into another number, since the
/// checksum of such a whole would be always the same.
uint32_t masked(uint32_t crc) { return std::rotr(crc, 15) + 0xa282ead8U; }

// What of protobuf these messages need.

std::string varint(uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
  return bytes + static_cast<char>(number);
}

std::string key(int field, int wire_type) {
  return varint(static_cast<uint64_t>(field << 3 | wire_type));
}

std::string integer_field(int field, uint64_t number) { return key(field, 0) + varint(number); }

std::string double_field(int field, double number) {
  return key(field, 1) + little_endian(std::bit_cast<uint64_t>(number));
}

std::string float_field(int field, float number) {
  return key(field, 5) + little_endian(std::bit_cast<uint32_t>(number));
}

std::string bytes_field(int field, std::string_view bytes) {
  return key(field, 2) + varint(bytes.size()) + std::string(bytes);
}

/// Event: wall_time 1, step 2, and one of file_version 3, summary 5, session_log 7.
std::string event(uint64_t step, const std::string& what) {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  return event_record(double_field(1, now.count()) + integer_field(2, step) + what);
}

/// Summary: value 1, of a tag 1 and a simple_value 2.
std::string summary(const NamedValues& values) {
  std::string text;
  for (const auto& [name, value] : values) {
    text +=
        bytes_field(1, bytes_field(1, printable(name)) + float_field(2, static_cast<float>(value)));
  }
  return bytes_field(5, text);
}

std::string file_version() { return bytes_field(3, "brain.Event:2"); }

/// SessionLog: status 1, of which 1 is START.
std::string session_start() { return bytes_field(7, integer_field(1, 1)); }

/// A reader takes the files of a folder in the order of their names, and a second may see several.
fs::path next_file(const fs::path& folder) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) {
    throw Error(fmt::format("folder '{}' can't be made: {}", folder.string(), failure.message()),
                ErrorCode::file);
  }
  int64_t second = std::chrono::duration_cast<std::chrono::seconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  for (const auto& entry : fs::directory_iterator(folder, failure)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    int64_t other = 0;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), other);
    second = std::max(second, other + 1);
  }
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {"localhost"};
  return folder / fmt::format("{}{:010}.{}.{}.onward", kPrefix, second, host.data(), ::getpid());
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t crc = ~0U;
  for (const char byte : bytes)
    crc = (crc >> 8) ^ kCrcTable[(crc ^ static_cast<uint8_t>(byte)) & 0xff];
  return ~crc;
}

std::string event_record(std::string_view bytes) {
  const std::string length = little_endian(static_cast<uint64_t>(bytes.size()));
  return length + little_endian(masked(crc32c(length))) + std::string(bytes) +
         little_endian(masked(crc32c(bytes)));
}

EventFile::EventFile(const fs::path& folder, std::optional<uint64_t> restart)
    : file_(next_file(folder)) {
  file_.append(event(restart.value_or(0), file_version()));
  if (restart) file_.append(event(*restart, session_start()));
}

void EventFile::add(uint64_t step, const NamedValues& values) {
  file_.append(event(step, summary(values)));
}

}  // namespace onward
