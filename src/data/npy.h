#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "ir/tensor.h"

namespace onward {

/// Reads the bytes of a .npy file. Where elements can be used as they lie there, the tensor refers
/// to them, and `owner` keeps them; it copies where the owner is null.
Tensor parse_npy(std::span<const std::byte> file, std::shared_ptr<const void> owner = nullptr);

/// Maps a .npy file; elements are read when touched.
Tensor read_npy(const std::filesystem::path& file);

/// A .npy file about to be written. Elements of a type that NumPy lacks become the next larger one
/// that holds all their values (f32 for bf16, i8 for i4).
class NpyFile {
 public:
  explicit NpyFile(const Tensor& tensor);

  std::span<const std::byte> header() const { return std::as_bytes(std::span(header_)); }
  std::span<const std::byte> elements() const;

 private:
  Tensor tensor_;
  std::string header_;
  std::string text_;  // strings, filled up to one width
};

void write_npy(const Tensor& tensor, const std::filesystem::path& file);

}  // namespace onward
