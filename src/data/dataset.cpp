#include "data/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "data/idx.h"
#include "data/npy.h"
#include "eval/random_numbers.h"
#include "onward/error.h"
#include "proto/external_data.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

Arrays read_folder(const fs::path& folder) {
  Arrays arrays;
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator(folder, failure)) {
    if (entry.path().extension() != ".npy") continue;
    arrays.emplace(entry.path().stem().string(), read_npy(entry.path()));
  }
  if (failure) {
    throw Error(fmt::format("cannot read folder '{}': {}", folder.string(), failure.message()));
  }
  if (arrays.empty()) throw Error(fmt::format("folder '{}' has no .npy files", folder.string()));
  return arrays;
}

Arrays read_arrays(const std::string& where) {
  struct Scheme {
    std::string_view prefix;
    MnistPart part;
  };
  for (const Scheme& each :
       {Scheme{"mnist:", MnistPart::train}, Scheme{"mnist-test:", MnistPart::test}}) {
    if (where.starts_with(each.prefix)) {
      return read_mnist(where.substr(each.prefix.size()), each.part);
    }
  }
  const fs::path path = where;
  std::error_code failure;
  if (!fs::exists(path, failure)) {
    throw Error(fmt::format("there is no file or folder '{}'", where), ErrorCode::file);
  }
  if (fs::is_directory(path, failure)) return read_folder(path);
  if (path.extension() == ".npz") return read_npz(path);
  if (path.extension() == ".npy") return {{path.stem().string(), read_npy(path)}};
  throw Error(fmt::format(
      "'{}' is not in a supported format: give an .npz file, a folder of .npy files, or "
      "mnist:FOLDER",
      where));
}

/// Copies bytes that may lie in a mapped file, which somebody may have cut.
void copy_bytes(const MappedFile* file, const std::byte* from, std::span<std::byte> to) {
  if (file) return file->read(from, to);
  if (!to.empty()) std::memcpy(to.data(), from, to.size());
}

/// Mixes numbers into one, eight bytes at a time.
class Fingerprint {
 public:
  void add(uint64_t number) {
    state_ = (state_ ^ number) * 0x9e3779b97f4a7c15;
    state_ ^= state_ >> 32;
  }
  void add(std::span<const std::byte> bytes) {
    add(bytes.size());
    const MappedFile* file = MappedFile::holding(bytes.data());
    std::vector<std::byte> piece;
    for (; bytes.size() >= 8; bytes = bytes.subspan(piece.size())) {
      piece.resize(std::min(kPiece, bytes.size() / 8 * 8));
      copy_bytes(file, bytes.data(), piece);
      for (size_t at = 0; at < piece.size(); at += 8) {
        uint64_t word = 0;
        std::memcpy(&word, piece.data() + at, 8);
        add(word);
      }
    }
    uint64_t rest = 0;
    copy_bytes(file, bytes.data(), std::as_writable_bytes(std::span(&rest, 1)).first(bytes.size()));
    add(rest);
  }
  void add(const std::string& text) { add(std::as_bytes(std::span(text))); }
  uint64_t value() const { return state_; }

 private:
  static constexpr size_t kPiece = 1 << 16;

  uint64_t state_ = 0;
};

/// An array that holds for all examples alike, in memory of its own.
Tensor copied_whole(const Tensor& array) {
  if (array.dtype() == DType::string) return array;
  auto bytes = std::make_shared<std::string>(array.bytes().size(), '\0');
  copy_bytes(MappedFile::holding(array.bytes().data()), array.bytes().data(),
             std::as_writable_bytes(std::span(*bytes)));
  return Tensor::from_bytes(array.dtype(), array.dims(), std::move(bytes));
}

}  // namespace

Dataset::Dataset(Arrays arrays) : arrays_(std::move(arrays)) {
  const std::string* first = nullptr;
  for (const auto& [name, array] : arrays_) {
    if (array.dims().empty()) continue;
    if (first && array.dims()[0] != size_) {
      throw Error(fmt::format("array '{}' has {} examples, '{}' has {}", *first, size_, name,
                              array.dims()[0]));
    }
    first = &name;
    size_ = array.dims()[0];
  }
  if (!first) throw Error("the data has no array whose first dimension could count the examples");
  if (size_ == 0) throw Error("the data has no examples");
}

std::string Dataset::description() const {
  std::string text;
  for (const auto& [name, array] : arrays_) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, to_string(array.type()));
  }
  return text;
}

uint64_t Dataset::fingerprint() const {
  Fingerprint fingerprint;
  for (const auto& [name, array] : arrays_) {
    fingerprint.add(name);
    fingerprint.add(static_cast<uint64_t>(array.dtype()));
    for (const int64_t dim : array.dims()) fingerprint.add(static_cast<uint64_t>(dim));
    if (array.dtype() == DType::string) {
      for (const std::string& text : array.strings()) fingerprint.add(text);
    } else {
      fingerprint.add(array.bytes());
    }
  }
  return fingerprint.value();
}

Dataset open_dataset(const std::string& where) {
  Arrays arrays = read_arrays(where);
  try {
    return Dataset(std::move(arrays));
  } catch (Error& error) {
    error.add_context(fmt::format("in '{}'", where));
    throw;
  }
}

Tensor take_rows(const Tensor& array, std::span<const int64_t> rows) {
  if (array.dims().empty()) return copied_whole(array);
  std::vector<int64_t> dims = array.dims();
  dims[0] = static_cast<int64_t>(rows.size());
  if (array.dtype() == DType::string) {
    const auto width = array.strings().size() / static_cast<size_t>(array.dims()[0]);
    std::vector<std::string> values;
    for (const int64_t row : rows) {
      const auto first = array.strings().begin() + row * static_cast<int64_t>(width);
      values.insert(values.end(), first, first + static_cast<int64_t>(width));
    }
    return Tensor::of_strings(std::move(dims), std::move(values));
  }
  const size_t width = array.bytes().size() / static_cast<size_t>(array.dims()[0]);
  auto bytes = std::make_shared<std::string>(width * rows.size(), '\0');
  const std::byte* from = array.bytes().data();
  std::span<std::byte> to = std::as_writable_bytes(std::span(*bytes));
  const MappedFile* file = MappedFile::holding(from);
  for (size_t i = 0; i < rows.size();) {  // rows that follow each other at once
    size_t count = 1;
    while (i + count < rows.size() && rows[i + count] == rows[i] + static_cast<int64_t>(count)) {
      ++count;
    }
    copy_bytes(file, from + static_cast<size_t>(rows[i]) * width, to.first(count * width));
    to = to.subspan(count * width);
    i += count;
  }
  return Tensor::from_bytes(array.dtype(), std::move(dims), std::move(bytes));
}

std::vector<int64_t> shuffled_order(int64_t size, uint64_t seed, uint64_t epoch) {
  std::vector<int64_t> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  const eval::RandomNumbers random({.seed = seed, .step = epoch}, "onward.order");
  for (size_t i = order.size(); i > 1; --i) {  // Fisher and Yates's method
    const auto other = static_cast<size_t>(random.uniform(i) * static_cast<double>(i));
    std::swap(order[i - 1], order[other]);
  }
  return order;
}

std::vector<std::vector<int64_t>> shuffled_batches(int64_t size, int64_t batch, uint64_t seed,
                                                   uint64_t epoch) {
  const std::vector<int64_t> order = shuffled_order(size, seed, epoch);
  std::vector<std::vector<int64_t>> batches;
  for (int64_t first = 0; first < size; first += batch) {
    batches.emplace_back(order.begin() + first, order.begin() + std::min(first + batch, size));
  }
  return batches;
}

}  // namespace onward
