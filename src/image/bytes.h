#pragma once

#include "image/formats.h"

namespace onward::image {

/// Numbers at places of a file, little-endian; a place beyond its end is refused.
class LittleEndian {
 public:
  explicit LittleEndian(Bytes file) : file_(file) {}

  uint32_t u8(uint64_t at) const {
    if (at >= file_.size()) refuse_cut_off();
    return std::to_integer<uint32_t>(file_[at]);
  }
  uint32_t u16(uint64_t at) const { return u8(at) | u8(at + 1) << 8; }
  uint32_t u32(uint64_t at) const { return u16(at) | u16(at + 2) << 16; }
  int32_t i32(uint64_t at) const { return static_cast<int32_t>(u32(at)); }

 private:
  Bytes file_;
};

}  // namespace onward::image
