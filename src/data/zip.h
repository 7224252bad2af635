#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace onward {

/// One file in a zip archive.
struct ZipEntry {
  std::string name;
  uint16_t method = 0;
  uint32_t crc = 0;
  uint64_t packed_size = 0;
  uint64_t size = 0;
  uint64_t offset = 0;  // of its local header
};

/// Bytes and what keeps them; the owner is null where they lie in the archive itself.
struct ZipBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

/// The entries of an archive, in order. Throws Error where it is damaged, or uses what we do not
/// read: encryption, several disks, entries that share bytes.
std::vector<ZipEntry> zip_entries(std::span<const std::byte> archive);

/// The bytes of an entry, stored or deflated, their checksum verified.
ZipBytes read_zip_entry(std::span<const std::byte> archive, const ZipEntry& entry);

/// Writes an archive to a descriptor, entry by entry.
class ZipWriter {
 public:
  explicit ZipWriter(int descriptor) : descriptor_(descriptor) {}

  /// Adds an entry whose bytes are the parts, one after the other.
  void add(const std::string& name, std::vector<std::span<const std::byte>> parts, bool deflated);
  /// Writes the directory, without which it is no archive.
  void finish();

 private:
  void write(std::span<const std::byte> bytes);

  int descriptor_;
  uint64_t position_ = 0;
  std::vector<ZipEntry> entries_;
};

}  // namespace onward
