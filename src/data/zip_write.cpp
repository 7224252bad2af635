#include <limits>
#include <numeric>

#include "data/deflate.h"
#include "data/zip.h"
#include "data/zip_format.h"
#include "format/atomic_file.h"
#include "onward/error.h"

namespace onward {
namespace {

using namespace zip;
using Bytes = std::span<const std::byte>;

constexpr uint16_t kVersion = 45;       // of the format: the first with zip64
constexpr uint16_t kUtf8Names = 0x800;  // a flag
constexpr uint16_t kFirstDay = 0x21;    // 1980-01-01: the same content gives the same file

/// Writes the little-endian numbers of a record one after the other.
class Record {
 public:
  Record& u16(uint64_t value) { return put(value, 2); }
  Record& u32(uint64_t value) { return put(value, 4); }
  Record& u64(uint64_t value) { return put(value, 8); }
  Record& text(const std::string& value) {
    bytes_ += value;
    return *this;
  }
  Bytes bytes() const { return std::as_bytes(std::span(bytes_)); }

 private:
  Record& put(uint64_t value, int width) {
    for (int i = 0; i < width; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
    return *this;
  }

  std::string bytes_;
};

/// The fields that the local header and the directory have in common.
void put_shared_fields(Record& record, const ZipEntry& entry, bool large, size_t extra_size) {
  record.u16(kVersion).u16(kUtf8Names).u16(entry.method).u16(0).u16(kFirstDay).u32(entry.crc);
  record.u32(large ? kElsewhere : entry.packed_size).u32(large ? kElsewhere : entry.size);
  record.u16(entry.name.size()).u16(extra_size);
}

bool is_large(const ZipEntry& entry) {
  return std::max({entry.packed_size, entry.size, entry.offset}) >= kElsewhere;
}

}  // namespace

void ZipWriter::write(Bytes bytes) {
  write_all(descriptor_, bytes.data(), bytes.size());
  position_ += bytes.size();
}

void ZipWriter::add(const std::string& name, std::vector<Bytes> parts, bool deflated) {
  if (name.size() > std::numeric_limits<uint16_t>::max()) throw Error("a name is too long for zip");
  ZipEntry entry{.name = name, .method = deflated ? kDeflated : kStored, .offset = position_};
  for (const Bytes each : parts) {
    entry.crc = crc32_of(each, entry.crc);
    entry.size += each.size();
  }
  std::string packed;
  if (deflated) {
    std::string joined;
    for (const Bytes each : parts) {
      joined.append(reinterpret_cast<const char*>(each.data()), each.size());
    }
    packed = deflate_raw(std::as_bytes(std::span(joined)));
    parts = {std::as_bytes(std::span(packed))};
  }
  for (const Bytes each : parts) entry.packed_size += each.size();

  const bool large = is_large(entry);
  constexpr size_t kExtraSize = 2 * sizeof(uint64_t);
  Record header;
  header.u32(kLocalMark);
  put_shared_fields(header, entry, large, large ? kExtraSize + 4 : 0);
  header.text(name);
  if (large) header.u16(kExtra64).u16(kExtraSize).u64(entry.size).u64(entry.packed_size);
  write(header.bytes());
  for (const Bytes each : parts) write(each);
  entries_.push_back(std::move(entry));
}

void ZipWriter::finish() {
  const uint64_t directory = position_;
  constexpr size_t kExtraSize = 3 * sizeof(uint64_t);
  for (const ZipEntry& entry : entries_) {
    const bool large = is_large(entry);
    Record record;
    record.u32(kCentralMark).u16(kVersion);
    put_shared_fields(record, entry, large, large ? kExtraSize + 4 : 0);
    record.u16(0).u16(0).u16(0).u32(0).u32(large ? kElsewhere : entry.offset).text(entry.name);
    if (large) {
      record.u16(kExtra64).u16(kExtraSize);
      record.u64(entry.size).u64(entry.packed_size).u64(entry.offset);
    }
    write(record.bytes());
  }
  const uint64_t size = position_ - directory, count = entries_.size();
  const bool large = count >= kElsewhere16 || directory >= kElsewhere || size >= kElsewhere;
  Record end;
  if (large) {
    end.u32(kEnd64Mark).u64(kEnd64Size - 12).u16(kVersion).u16(kVersion).u32(0).u32(0);
    end.u64(count).u64(count).u64(size).u64(directory);
    end.u32(kLocator64Mark).u32(0).u64(position_).u32(1);
  }
  end.u32(kEndMark).u16(0).u16(0);
  end.u16(large ? kElsewhere16 : count).u16(large ? kElsewhere16 : count);
  end.u32(large ? kElsewhere : size).u32(large ? kElsewhere : directory).u16(0);
  write(end.bytes());
}

}  // namespace onward
