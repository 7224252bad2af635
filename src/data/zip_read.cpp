#include <fmt/format.h>

#include <algorithm>

#include "data/deflate.h"
#include "data/zip.h"
#include "data/zip_format.h"
#include "ir/utf8.h"
#include "onward/error.h"

namespace onward {
namespace {

using namespace zip;
using Bytes = std::span<const std::byte>;

[[noreturn]] void damaged() { throw Error("it is not a zip archive, or damaged"); }

/// A part of the archive; throws Error where it leaves it.
Bytes part(Bytes archive, uint64_t offset, uint64_t size) {
  if (offset > archive.size() || size > archive.size() - offset) damaged();
  return archive.subspan(offset, size);
}

/// A little-endian number inside a record whose size was checked.
uint64_t number(Bytes record, size_t offset, size_t width) {
  uint64_t value = 0;
  for (size_t i = 0; i < width; ++i) {
    value |= std::to_integer<uint64_t>(record[offset + i]) << (8 * i);
  }
  return value;
}

struct Directory {
  uint64_t count = 0, size = 0, offset = 0;
};

/// The end record stands at the end, before a comment of at most 64 KB.
size_t find_end(Bytes archive) {
  if (archive.size() < kEndSize) damaged();
  const size_t last = archive.size() - kEndSize;
  const size_t first = last > 0xffff ? last - 0xffff : 0;
  for (size_t at = last + 1; at-- > first;) {
    const Bytes record = archive.subspan(at);
    if (number(record, 0, 4) == kEndMark && number(record, 20, 2) == record.size() - kEndSize) {
      return at;
    }
  }
  damaged();
}

Directory find_directory(Bytes archive) {
  const size_t end_at = find_end(archive);
  const Bytes end = archive.subspan(end_at, kEndSize);
  if (number(end, 4, 2) != number(end, 6, 2)) throw Error("it is one part of a split zip archive");
  Directory directory{number(end, 10, 2), number(end, 12, 4), number(end, 16, 4)};
  const bool large = directory.count == kElsewhere16 || directory.size == kElsewhere ||
                     directory.offset == kElsewhere;
  if (!large || end_at < kLocator64Size) return directory;
  const Bytes locator = archive.subspan(end_at - kLocator64Size, kLocator64Size);
  if (number(locator, 0, 4) != kLocator64Mark) return directory;
  const Bytes end64 = part(archive, number(locator, 8, 8), kEnd64Size);
  if (number(end64, 0, 4) != kEnd64Mark) damaged();
  return {number(end64, 32, 8), number(end64, 40, 8), number(end64, 48, 8)};
}

/// Takes the numbers that did not fit from the entry's extra fields.
void put_large_numbers(ZipEntry& entry, Bytes extra) {
  while (extra.size() >= 4) {
    const auto kind = number(extra, 0, 2);
    const auto size = number(extra, 2, 2);
    Bytes field = part(extra, 4, size);
    extra = extra.subspan(4 + size);
    if (kind != kExtra64) continue;
    for (uint64_t* value : {&entry.size, &entry.packed_size, &entry.offset}) {
      if (*value != kElsewhere) continue;
      *value = number(part(field, 0, 8), 0, 8);
      field = field.subspan(8);
    }
  }
}

/// Entries that overlap let a small archive unpack to any size.
void require_apart(std::vector<ZipEntry> entries) {
  std::ranges::sort(entries, {}, &ZipEntry::offset);
  for (size_t i = 1; i < entries.size(); ++i) {
    const ZipEntry& before = entries[i - 1];
    if (entries[i].offset - before.offset < before.packed_size) {
      throw Error(fmt::format("its entries '{}' and '{}' overlap", printable(before.name),
                              printable(entries[i].name)));
    }
  }
}

}  // namespace

std::vector<ZipEntry> zip_entries(Bytes archive) {
  const Directory directory = find_directory(archive);
  Bytes records = part(archive, directory.offset, directory.size);
  std::vector<ZipEntry> entries;
  for (uint64_t i = 0; i < directory.count; ++i) {
    const Bytes record = part(records, 0, kCentralSize);
    if (number(record, 0, 4) != kCentralMark) damaged();
    const auto name_size = number(record, 28, 2), extra_size = number(record, 30, 2);
    const auto comment_size = number(record, 32, 2);
    const Bytes name = part(records, kCentralSize, name_size);
    ZipEntry entry{.name = {reinterpret_cast<const char*>(name.data()), name.size()},
                   .method = static_cast<uint16_t>(number(record, 10, 2)),
                   .crc = static_cast<uint32_t>(number(record, 16, 4)),
                   .packed_size = number(record, 20, 4),
                   .size = number(record, 24, 4),
                   .offset = number(record, 42, 4)};
    put_large_numbers(entry, part(records, kCentralSize + name_size, extra_size));
    if (number(record, 8, 2) & 1) {
      throw Error(fmt::format("its entry '{}' is encrypted", printable(entry.name)));
    }
    part(archive, entry.offset, entry.packed_size);
    const uint64_t whole = kCentralSize + name_size + extra_size + comment_size;
    records = part(records, whole, records.size() - std::min<uint64_t>(whole, records.size()));
    entries.push_back(std::move(entry));
  }
  require_apart(entries);
  return entries;
}

ZipBytes read_zip_entry(Bytes archive, const ZipEntry& entry) {
  const Bytes local = part(archive, entry.offset, kLocalSize);
  if (number(local, 0, 4) != kLocalMark) damaged();
  const uint64_t data_offset =
      entry.offset + kLocalSize + number(local, 26, 2) + number(local, 28, 2);
  const Bytes packed = part(archive, data_offset, entry.packed_size);
  ZipBytes result;
  if (entry.method == kStored) {
    if (entry.size != entry.packed_size) damaged();
    result.bytes = packed;
  } else if (entry.method == kDeflated) {
    auto bytes = std::make_shared<const std::string>(inflate_raw(packed, entry.size));
    result = {std::as_bytes(std::span(*bytes)), bytes};
  } else {
    throw Error(fmt::format("its compression method {} is not supported: save it with numpy.savez",
                            entry.method));
  }
  if (crc32_of(result.bytes) != entry.crc) throw Error("its checksum does not match");
  return result;
}

}  // namespace onward
