#include "data/deflate.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>

#include "onward/error.h"

namespace onward {
namespace {

using Bytes = std::span<const std::byte>;

/// zlib counts in 32 bits, so that it is given large buffers piece by piece.
uInt piece(size_t left) {
  return static_cast<uInt>(std::min<size_t>(left, std::numeric_limits<uInt>::max()));
}

Bytef* as_input(const std::byte* bytes) {
  return reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes));  // zlib only reads it
}

class Inflater {
 public:
  Inflater(Bytes packed, int window_bits) : left_(packed) {
    if (inflateInit2(&stream_, window_bits) != Z_OK) throw Error("zlib can't be started");
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// Fills as much of `room` as there is data for; gives the number of bytes.
  size_t fill(std::span<char> room) {
    size_t filled = 0;
    while (!ended_ && filled < room.size()) {
      const uInt given = piece(left_.size());
      const uInt wanted = piece(room.size() - filled);
      stream_.next_in = as_input(left_.data());
      stream_.avail_in = given;
      stream_.next_out = reinterpret_cast<Bytef*>(room.data() + filled);
      stream_.avail_out = wanted;
      const int result = inflate(&stream_, Z_NO_FLUSH);
      left_ = left_.subspan(given - stream_.avail_in);
      filled += wanted - stream_.avail_out;
      if (result == Z_STREAM_END) {
        ended_ = true;
      } else if (result == Z_BUF_ERROR) {
        break;  // nothing more to read
      } else if (result != Z_OK) {
        throw Error("its compressed data is damaged");
      }
    }
    return filled;
  }

  /// True where the data says that it ends here.
  bool at_end() {
    char more = 0;
    if (!ended_ && fill({&more, 1}) > 0) return false;
    return ended_;
  }

 private:
  z_stream stream_{};
  Bytes left_;
  bool ended_ = false;
};

}  // namespace

std::string inflate_raw(Bytes packed, size_t size) {
  if (size / kTightestDeflate > packed.size()) {
    throw Error(fmt::format("{} compressed bytes can't hold {}", packed.size(), size));
  }
  std::string bytes(size, '\0');
  Inflater inflater(packed, -MAX_WBITS);
  if (inflater.fill(bytes) != size || !inflater.at_end()) {
    throw Error("its compressed data is damaged");
  }
  return bytes;
}

std::string gunzip(Bytes packed, size_t most) {
  constexpr int kGzip = 16;  // as zlib wants it said
  constexpr size_t kFirst = size_t{1} << 16;
  Inflater inflater(packed, kGzip + MAX_WBITS);
  std::string bytes;
  size_t filled = 0;
  do {  // the size is not known before: the room doubles until all fits
    bytes.resize(std::min(most, std::max(kFirst, 2 * bytes.size())));
    filled += inflater.fill(std::span(bytes).subspan(filled));
  } while (filled == bytes.size() && filled < most);
  if (!inflater.at_end()) {
    throw Error(filled == most ? fmt::format("it unpacks to more than {} bytes", most)
                               : "its compressed data is damaged");
  }
  bytes.resize(filled);
  return bytes;
}

std::string deflate_raw(Bytes bytes) {
  z_stream stream{};
  constexpr int kMemory = 8;  // zlib's default
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, kMemory,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    throw Error("zlib can't be started");
  }
  std::string packed;
  std::string buffer(size_t{1} << 16, '\0');
  int result = Z_OK;
  while (result != Z_STREAM_END) {
    const uInt given = piece(bytes.size());
    stream.next_in = as_input(bytes.data());
    stream.avail_in = given;
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    result = deflate(&stream, given == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    bytes = bytes.subspan(given - stream.avail_in);
    packed.append(buffer, 0, buffer.size() - stream.avail_out);
  }
  deflateEnd(&stream);
  return packed;
}

uint32_t crc32_of(Bytes bytes, uint32_t before) {
  return static_cast<uint32_t>(
      crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace onward
