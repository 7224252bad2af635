#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace onward {

/// Deflate can't pack tighter than this; whoever claims more is lying about a size.
inline constexpr size_t kTightestDeflate = 1032;

/// Unpacks raw deflate data, which must give exactly `size` bytes.
std::string inflate_raw(std::span<const std::byte> packed, size_t size);

/// Unpacks a gzip file of at most `most` bytes.
std::string gunzip(std::span<const std::byte> packed, size_t most);

std::string deflate_raw(std::span<const std::byte> bytes);

/// The checksum of zip files, going on from that of the bytes before.
uint32_t crc32_of(std::span<const std::byte> bytes, uint32_t before = 0);

}  // namespace onward
