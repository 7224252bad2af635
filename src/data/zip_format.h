#pragma once

// The records of zip files that we read and write, by their sizes and marks: PKWARE's APPNOTE.

#include <cstddef>
#include <cstdint>

namespace onward::zip {

inline constexpr uint32_t kLocalMark = 0x04034b50;
inline constexpr size_t kLocalSize = 30;
inline constexpr uint32_t kCentralMark = 0x02014b50;
inline constexpr size_t kCentralSize = 46;
inline constexpr uint32_t kEndMark = 0x06054b50;
inline constexpr size_t kEndSize = 22;
inline constexpr uint32_t kEnd64Mark = 0x06064b50;
inline constexpr size_t kEnd64Size = 56;
inline constexpr uint32_t kLocator64Mark = 0x07064b50;
inline constexpr size_t kLocator64Size = 20;

// Stands for a number that does not fit, and is in the record for large archives (zip64) instead.
inline constexpr uint32_t kElsewhere = 0xffffffff;
inline constexpr uint16_t kElsewhere16 = 0xffff;
inline constexpr uint16_t kExtra64 = 1;  // the extra field with the numbers that did not fit

inline constexpr uint16_t kStored = 0;
inline constexpr uint16_t kDeflated = 8;

}  // namespace onward::zip
