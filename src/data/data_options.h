#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/table.h"
#include "ir/model.h"

namespace onward {

/// How the samples of an image, 0 to 255, become what a model takes: cut to its input's size, then
/// (sample * scale - mean) / std.
struct ImageOptions {
  /// Height and width, for a model whose input leaves them open.
  std::optional<std::array<int64_t, 2>> size;
  /// The length of the shorter side before the center is cropped; by default the image just covers
  /// the crop.
  std::optional<int64_t> resize;
  double scale = 1.0 / 255;
  /// One number, or one for each channel.
  std::vector<double> mean = {0};
  std::vector<double> std = {1};

  friend bool operator==(const ImageOptions&, const ImageOptions&) = default;
};

/// A model that makes an input of an image, in place of ImageOptions, or of a row of a table.
/// Several threads may run it at once.
struct Preprocess {
  enum class Takes : uint8_t {
    pixels,  // u8[H,W,3]
    file,    // u8[length]
    row,     // the features f32[K]
  };
  Takes takes = Takes::pixels;
  bool is_asked_for = false;            // by the user, not by the model that is used
  std::function<Tensor(Tensor)> run{};  // none where it is empty
  std::string model{};      // the bytes of its file, which are kept with what is trained
  int64_t bytes = 1 << 20;  // of what it gives, as far as that is known

  explicit operator bool() const { return static_cast<bool>(run); }
};

/// Which numbers a mask may have: those of the classes that a model tells, and one that marks
/// pixels that do not count. Any, where nothing says how many there are.
struct MaskValues {
  std::optional<int64_t> classes, ignored;
};

/// What is known of data beside the files: what was said on the command line, or what the training
/// kept in the model.
struct DataOptions {
  ImageOptions images;
  /// The folder of the masks of images, where it is not beside them.
  std::string masks;
  MaskValues mask_values;
  Preprocess preprocess;
  TableOptions table;
  /// How rows become arrays; is learned from the data where there is none.
  std::optional<TableSchema> schema;
  /// Whether means and categories may be learned from the data, as a training does.
  bool learns = true;
  /// Whether labels are wanted; without, images may lie in any folder, and a table needs no column.
  bool is_labeled = true;
  /// Names by label; none yet where empty.
  std::vector<std::string> classes;
};

/// What a training kept in the model's metadata; defaults where there is nothing. Throws Error
/// where somebody has written something else there.
DataOptions data_options_of(const Model& model);

/// What is kept as entries of metadata, and their keys.
std::string to_json(const ImageOptions& options);
std::string to_json(const std::vector<std::string>& classes);
inline constexpr const char* kImagesKey = "onward.images";
inline constexpr const char* kPreprocessKey = "onward.preprocess";  // in base64
inline constexpr const char* kTableKey = "onward.table";
inline constexpr const char* kClassesKey = "onward.classes";

/// Throws Error where a number makes no sense: a std of 0, two means, a size of 0.
void require_valid(const ImageOptions& options);

}  // namespace onward
