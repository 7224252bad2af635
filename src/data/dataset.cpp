#include "data/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "data/base64.h"
#include "data/idx.h"
#include "data/image_folder.h"
#include "data/mask_folder.h"
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
  return arrays;
}

/// It could lead to any folder of this machine.
void refuse_link(const fs::path& folder) {
  std::error_code failure;
  if (!fs::is_symlink(folder, failure)) return;
  throw Error(fmt::format("'{}' is a link: put the folder itself in its place", folder.string()),
              ErrorCode::file);
}

/// Opens a folder without classes, and says which it is where that fails.
std::shared_ptr<const ImageFolder> open_images(const fs::path& folder) {
  try {
    return std::make_shared<const ImageFolder>(folder);
  } catch (Error& error) {
    throw error.add_context(fmt::format("in its folder '{}'", folder.string()));
  }
}

Dataset open_masked(const fs::path& images, const fs::path& masks, const DataOptions& options) {
  auto files = open_images(images);
  if (!options.is_labeled) return {std::move(files), options};
  std::error_code failure;
  if (!fs::is_directory(masks, failure)) {
    throw Error(fmt::format("there is no folder of masks '{}'", masks.string()), ErrorCode::file);
  }
  try {
    auto labels = std::make_shared<const MaskFolder>(masks, *files);
    return {std::move(files), std::move(labels), options};
  } catch (Error& error) {
    throw error.add_context(fmt::format("in the masks '{}'", masks.string()));
  }
}

Dataset open_folder(const fs::path& folder, const DataOptions& options) {
  Arrays arrays = read_folder(folder);
  if (!arrays.empty()) return Dataset(std::move(arrays));
  // A model that knows classes may call two of them so.
  const bool is_beside = options.classes.empty() && MaskFolder::is_beside_images(folder);
  if (is_beside || !options.masks.empty()) {
    const fs::path images = is_beside ? folder / kImagesFolder : folder;
    const bool has_inner = is_beside && options.masks.empty();
    const fs::path masks = has_inner ? folder / kMasksFolder : fs::path(options.masks);
    if (is_beside) refuse_link(images);
    if (has_inner) refuse_link(masks);
    return open_masked(images, masks, options);
  }
  if (!options.is_labeled) return {std::make_shared<const ImageFolder>(folder), options};
  if (!ImageFolder::is_one(folder)) {
    throw Error(
        "the folder has no .npy files, and no folders of images, one for each class; images with "
        "masks are in 'images' and 'masks', or --masks says where masks are");
  }
  return {std::make_shared<const ImageFolder>(folder, options.classes), options};
}

/// What a model makes of each row, one behind the other.
Tensor preprocessed(const Tensor& rows, const Preprocess& preprocess) {
  if (preprocess.takes != Preprocess::Takes::row) {
    throw Error("the preprocessing model takes images, but the data is a table");
  }
  const int64_t width = rows.dims()[1];
  auto bytes = std::make_shared<std::string>();
  Tensor first;
  for (int64_t row = 0; row < rows.dims()[0]; ++row) {
    const Tensor made = preprocess.run(rows.part(row * width, {width}));
    if (row == 0) first = made;
    if (made.dims() != first.dims()) {
      throw Error(fmt::format("the preprocessing model gives {} for the first row, {} for row {}",
                              to_string(first.type()), to_string(made.type()), row + 1),
                  ErrorCode::data);
    }
    bytes->append(reinterpret_cast<const char*>(made.bytes().data()), made.bytes().size());
  }
  std::vector<int64_t> dims = first.dims();
  if (dims.size() < 2 || dims.front() != 1) dims.insert(dims.begin(), 1);
  dims.front() = rows.dims()[0];
  return Tensor::from_bytes(first.dtype(), std::move(dims), std::move(bytes));
}

Dataset open_table(const fs::path& file, DataOptions options) {
  const CsvTable table = read_csv(file);
  if (!options.schema) {
    options.schema = learn_schema(table, options.table);
    if (!options.learns) require_plain(table, *options.schema);
  }
  if (!options.is_labeled) options.schema->label.clear();
  Arrays arrays = table_arrays(table, *options.schema, options.classes);
  if (options.preprocess) {
    Tensor& features = arrays.at(kFeatureArray);
    features = preprocessed(features, options.preprocess);
  }
  return Dataset(std::move(arrays), std::move(options));
}

Dataset open_any(const std::string& where, const DataOptions& options) {
  struct Scheme {
    std::string_view prefix;
    MnistPart part;
  };
  for (const Scheme& each :
       {Scheme{"mnist:", MnistPart::train}, Scheme{"mnist-test:", MnistPart::test}}) {
    if (where.starts_with(each.prefix)) {
      return Dataset(read_mnist(where.substr(each.prefix.size()), each.part));
    }
  }
  const fs::path path = where;
  std::error_code failure;
  if (!fs::exists(path, failure)) {
    throw Error(fmt::format("there is no file or folder '{}'", where), ErrorCode::file);
  }
  if (fs::is_directory(path, failure)) return open_folder(path, options);
  if (!options.is_labeled && ImageFolder::is_image(path)) {
    return {std::make_shared<const ImageFolder>(path), options};
  }
  if (path.extension() == ".npz") return Dataset(read_npz(path));
  if (path.extension() == ".npy") return Dataset({{path.stem().string(), read_npy(path)}});
  if (path.extension() == ".csv" || path.extension() == ".tsv") return open_table(path, options);
  throw Error(fmt::format(
      "'{}' is not in a supported format: give an .npz or .csv file, a folder of .npy files, a "
      "folder with one of images for each class, or mnist:FOLDER",
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

Dataset::Dataset(Arrays arrays, DataOptions options)
    : arrays_(std::move(arrays)), options_(std::move(options)) {
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

Dataset::Dataset(std::shared_ptr<const ImageFolder> images, DataOptions options)
    : options_(std::move(options)), size_(images->size()) {
  if (!images->labels().empty()) {
    arrays_.emplace(kLabelArray, Tensor::of<int64_t>({size_}, images->labels()));
    options_.classes = images->classes();
  }
  images_ = std::move(images);
}

Dataset::Dataset(std::shared_ptr<const ImageFolder> images, std::shared_ptr<const MaskFolder> masks,
                 DataOptions options)
    : images_(std::move(images)),
      masks_(std::move(masks)),
      options_(std::move(options)),
      size_(images_->size()) {}

Metadata Dataset::kept() const {
  Metadata entries;
  if ((images_ || options_.schema) && options_.preprocess) {
    entries.emplace_back(kPreprocessKey, to_base64(options_.preprocess.model));
  } else if (images_) {
    entries.emplace_back(kImagesKey, to_json(options_.images));
  }
  if (options_.schema) entries.emplace_back(kTableKey, to_json(*options_.schema));
  if ((images_ || options_.schema) && !options_.classes.empty()) {
    entries.emplace_back(kClassesKey, to_json(options_.classes));
  }
  return entries;
}

std::map<std::string, Type> Dataset::types() const {
  std::map<std::string, Type> types;
  for (const auto& [name, array] : arrays_) types.emplace(name, array.type());
  if (masks_) types.emplace(kLabelArray, Type::tensor(DType::i64, Shape{Dim{}, Dim{}, Dim{}}));
  return types;
}

std::string Dataset::description() const {
  std::string text;
  if (images_) text = fmt::format("{} ({} files)", kImageArray, images_->size());
  if (masks_) text += fmt::format(", {} ({} masks)", kLabelArray, masks_->size());
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
  if (images_) {
    fingerprint.add(to_json(options_.images));
    if (options_.preprocess) fingerprint.add(options_.preprocess.model);
    for (int64_t i = 0; i < images_->size(); ++i) {
      fingerprint.add(images_->name(i));
      fingerprint.add(static_cast<uint64_t>(images_->bytes(i)));
    }
  }
  if (masks_) {
    for (int64_t i = 0; i < masks_->size(); ++i) {
      fingerprint.add(masks_->files().name(masks_->file_of(i)));
      fingerprint.add(static_cast<uint64_t>(masks_->files().bytes(masks_->file_of(i))));
    }
  }
  return fingerprint.value();
}

Dataset open_dataset(const std::string& where, const DataOptions& options) {
  try {
    Dataset data = open_any(where, options);
    if (options.is_labeled && !options.masks.empty() && !data.masks()) {
      throw Error("--masks says where the masks of a folder of images are, but this is none");
    }
    const Preprocess& preprocess = options.preprocess;
    if (preprocess && data.images() && preprocess.takes == Preprocess::Takes::row) {
      throw Error("the preprocessing model takes rows f32[K], but the data has images");
    }
    if (preprocess.is_asked_for && !data.images() && !data.options().schema) {
      throw Error("--preprocess is for images and tables: arrays are fed as they are");
    }
    return data;
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
