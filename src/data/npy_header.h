#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/dtype.h"

namespace onward {

/// What stands before the elements of a .npy file.
struct NpyHeader {
  DType dtype = DType::undefined;
  int64_t text_width = 0;      // of strings: characters of each element
  bool wide_text = false;      // of strings: four bytes a character (U) rather than one (S)
  bool fortran_order = false;  // the first dimension runs fastest
  std::vector<int64_t> dims;
  size_t data_offset = 0;
  size_t data_size = 0;  // what type and shape ask for
};

/// Throws Error where the bytes begin no .npy file, or one of a type that we can't hold.
NpyHeader parse_npy_header(std::span<const std::byte> file);

/// The bytes that begin a .npy file of such elements, in row-major order.
std::string npy_header(std::string_view descr, std::span<const int64_t> dims);

/// NumPy's name of a type such as "<f4"; empty where NumPy has none.
std::string_view npy_descr(DType dtype);

}  // namespace onward
