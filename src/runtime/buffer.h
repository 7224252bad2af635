#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace onward {

inline constexpr size_t kCacheLine = 64;

inline size_t aligned_size(size_t bytes) {
  return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

/// Memory that begins at a cache line, so that vector loads never straddle two.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(size_t bytes)
      : bytes_(bytes),
        data_(static_cast<std::byte*>(
            std::aligned_alloc(kCacheLine, aligned_size(bytes == 0 ? 1 : bytes)))) {
    if (!data_) throw std::bad_alloc();
  }

  std::byte* data() const { return data_.get(); }
  size_t size() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  size_t bytes_ = 0;
  std::unique_ptr<std::byte, Free> data_;
};

}  // namespace onward
