#include "cli/predict_masks.h"

#include <fmt/format.h>

#include "format/atomic_file.h"
#include "image/indices.h"
#include "ir/utf8.h"
#include "onward/error.h"
#include "train/metrics.h"

namespace onward::cli {
namespace {

namespace fs = std::filesystem;

/// The first of the largest, as the accuracy takes it.
image::IndexMap classes_of(const Tensor& scores, int64_t example) {
  const int64_t classes = scores.dims()[1], pixels = scores.dims()[2] * scores.dims()[3];
  image::IndexMap map{.height = scores.dims()[2], .width = scores.dims()[3], .values = {}};
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    const int64_t first = example * classes * pixels + pixel;
    int64_t best = 0;
    for (int64_t c = 1; c < classes; ++c) {
      if (scores.number(first + c * pixels) > scores.number(first + best * pixels)) best = c;
    }
    map.values.push_back(static_cast<uint16_t>(best));
  }
  return map;
}

}  // namespace

MaskWriter::MaskWriter(const Model& model, fs::path folder) : folder_(std::move(folder)) {
  const Value* scores =
      find_scores(*model.graph, Type::tensor(DType::i64, Shape{Dim{}, Dim{}, Dim{}}));
  if (!scores) {
    throw Error(
        "--masks writes the classes of pixels, but the model has no output of scores [N,C,H,W]");
  }
  if ((*scores->type.shape)[1].value.value_or(2) > 256) {
    throw Error(fmt::format("--masks writes up to 256 classes, but output '{}' is {}",
                            scores->name(), to_string(scores->type)));
  }
  scores_ = scores->name();
}

std::string MaskWriter::write(const TensorMap& outputs, int64_t example,
                              const std::string& name) const {
  const fs::path file = (folder_ / name).replace_extension(".png");
  std::error_code failure;
  if (fs::exists(file, failure)) {
    throw Error(fmt::format("'{}' exists already, and would be the mask of '{}': choose another "
                            "folder for --masks",
                            printable(file.string()), printable(name)),
                ErrorCode::file);
  }
  fs::create_directories(file.parent_path(), failure);
  const std::string bytes = image::encoded_png(classes_of(outputs.at(scores_), example));
  write_atomically(file,
                   [&](int descriptor) { write_all(descriptor, bytes.data(), bytes.size()); });
  return file.string();
}

}  // namespace onward::cli
