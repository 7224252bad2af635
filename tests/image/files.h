#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "image/decode.h"
#include "onward/error.h"

namespace onward::image {

inline std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// Small files of each format, which hold one picture of 5 x 3 pixels; the fuzz targets start from
/// them too.
inline std::filesystem::path folder() { return "tests/image/files"; }

inline std::vector<std::string> names_of_files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    names.push_back(entry.path().filename());
  }
  return names;
}

inline std::string read_file(const std::string& name) {
  std::ifstream in(folder() / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// What is said of a file that is refused; nothing of an image.
inline std::string message_of(const std::string& file) {
  try {
    decode(bytes_of(file), Channels::rgb);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace onward::image
