#include "data/idx.h"

#include <fmt/format.h>

#include "data/convert.h"
#include "data/deflate.h"
#include "onward/error.h"
#include "proto/external_data.h"

namespace onward {
namespace {

namespace fs = std::filesystem;
using Bytes = std::span<const std::byte>;

constexpr int kUnsignedBytes = 8;  // the type's number in the format

/// A file of MNIST, by the names under which it is found: both spellings, packed or not.
fs::path find_file(const fs::path& folder, std::string_view stem, int rank) {
  std::string tried;
  for (const char dot_or_dash : {'-', '.'}) {
    for (const std::string_view packed : {"", ".gz"}) {
      const auto name = fmt::format("{}{}idx{}-ubyte{}", stem, dot_or_dash, rank, packed);
      std::error_code failure;
      if (fs::is_regular_file(folder / name, failure)) return folder / name;
      tried += (tried.empty() ? "" : ", ") + name;
    }
  }
  throw Error(fmt::format("folder '{}' has none of {}", folder.string(), tried));
}

Tensor read_idx(const fs::path& file, size_t rank) {
  try {
    const MappedFile mapped(file);
    std::string unpacked;
    Bytes bytes = mapped.bytes();
    if (file.extension() == ".gz") {
      unpacked = gunzip(bytes, kTightestDeflate * bytes.size());
      bytes = std::as_bytes(std::span(unpacked));
    }
    Tensor tensor = parse_idx(bytes);
    if (tensor.dims().size() != rank) {
      throw Error(fmt::format("it has {} dimensions, not {}", tensor.dims().size(), rank));
    }
    return tensor;
  } catch (Error& error) {
    error.add_context(fmt::format("in '{}'", file.string()));
    throw;
  }
}

/// Bytes from 0 to 255 as f32 from 0 to 1.
Tensor scaled(const Tensor& images) {
  std::vector<float> values;
  values.reserve(static_cast<size_t>(images.size()));
  for (const uint8_t each : images.data<uint8_t>()) {
    values.push_back(static_cast<float>(each) / 255.0F);
  }
  return Tensor::of<float>({images.dims()[0], 1, images.dims()[1], images.dims()[2]}, values);
}

}  // namespace

Tensor parse_idx(Bytes file) {
  constexpr size_t kMark = 4;
  const auto at = [&](size_t i) { return std::to_integer<int64_t>(file[i]); };
  if (file.size() < kMark || at(0) != 0 || at(1) != 0) throw Error("it is not an IDX file");
  if (at(2) != kUnsignedBytes) {
    throw Error(
        fmt::format("its element type {} is not supported: only unsigned bytes are", at(2)));
  }
  const auto rank = static_cast<size_t>(at(3));
  const size_t header = kMark + 4 * rank;
  if (file.size() < header) throw Error("it is truncated");
  std::vector<int64_t> dims;
  for (size_t i = kMark; i < header; i += 4) {
    dims.push_back(at(i) << 24 | at(i + 1) << 16 | at(i + 2) << 8 | at(i + 3));
  }
  const Bytes data = file.subspan(header);
  if (checked_element_count(dims) != static_cast<int64_t>(data.size())) {
    throw Error(fmt::format("it holds {} bytes of elements, but its header announces {}",
                            data.size(), to_string(dims)));
  }
  return Tensor::from_bytes(
      DType::u8, std::move(dims),
      std::make_shared<std::string>(reinterpret_cast<const char*>(data.data()), data.size()));
}

Arrays read_mnist(const fs::path& folder, MnistPart part) {
  const std::string prefix = part == MnistPart::train ? "train" : "t10k";
  const Tensor images = read_idx(find_file(folder, prefix + "-images", 3), 3);
  const Tensor labels = read_idx(find_file(folder, prefix + "-labels", 1), 1);
  return {{"image", scaled(images)}, {"label", converted(labels, DType::i64)}};
}

}  // namespace onward
