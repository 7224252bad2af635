#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/augment.h"
#include "ir/model.h"
#include "train/pool.h"

namespace onward {

/// What images go through in a training: models in ONNX that draw random numbers, one after the
/// other. What an example draws depends on the seed, the epoch and the example alone.
class Augmentation {
 public:
  /// "flip,crop:0.8-1,jitter:0.2,rotate:10,own.onnx". `functions` is a text in ONNX's syntax with
  /// the functions that the first four call. Throws Error where something else is asked for, or a
  /// model takes no images.
  Augmentation(const std::string& wanted, std::string_view functions);
  ~Augmentation();

  /// A checksum of the files that are named; empty where none is.
  const std::string& files() const { return files_; }
  /// Throws Error where masks would not follow.
  void require_masks() const;

  /// For images and masks of a training with that seed, for as long as this lives.
  Augment with_seed(uint64_t seed);

 private:
  struct Stage {
    std::string name;                              // "crop:0.8-1"
    std::string call = {};                         // of a function, with its attributes
    int64_t least_side = 1;                        // of images
    std::shared_ptr<const Model> model = nullptr;  // in place of a call
  };
  struct Form {
    int64_t channels;
    bool has_mask;
  };
  struct Runner;
  using Worker = std::vector<Runner>;

  void add(const std::string& wanted);
  void add_file(const std::string& file);
  Model model_of(const Stage& stage, const Form& form) const;
  std::unique_ptr<Worker> worker_for(const Form& form) const;
  AugmentedImage apply(AugmentedImage image, const AugmentKey& key, uint64_t seed);

  std::string functions_;
  std::string files_;
  std::vector<Stage> stages_;
  Pool<Worker> colored_, gray_, colored_masked_, gray_masked_;
};

}  // namespace onward
