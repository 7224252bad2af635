#pragma once

#include <array>
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

/// What is known of data beside the files: what was said on the command line, or what the training
/// kept in the model.
struct DataOptions {
  ImageOptions images;
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
inline constexpr const char* kTableKey = "onward.table";
inline constexpr const char* kClassesKey = "onward.classes";

/// Throws Error where a number makes no sense: a std of 0, two means, a size of 0.
void require_valid(const ImageOptions& options);

}  // namespace onward
