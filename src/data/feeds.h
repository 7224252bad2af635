#pragma once

#include <map>
#include <optional>
#include <set>

#include "data/augment.h"
#include "data/dataset.h"
#include "ir/model.h"

namespace onward {

class ImageReader;
struct Ahead;

/// An input of a model that data is to be found for.
struct InputSlot {
  std::string name;
  Type type;
  bool optional = false;  // it has a default
};

/// The inputs of the inference graph and of the algorithms of these training infos, each once.
std::vector<InputSlot> input_slots(const Model& model, std::span<const size_t> infos);

/// The same for all training infos.
std::vector<InputSlot> input_slots(const Model& model);

/// Array names for inputs that are named otherwise.
using ArrayNames = std::map<std::string, std::string, std::less<>>;

/// Cuts batches for a model's inputs out of a dataset. Arrays are matched by name, and fitted to
/// the types of the inputs (data/convert.h). Images and their labels also go to inputs of other
/// names, where only one can take them.
class Feeds {
 public:
  /// Throws an Error that names every input without an array, or with one that does not fit.
  Feeds(Dataset data, const std::vector<InputSlot>& inputs, const ArrayNames& names = {});

  const Dataset& data() const { return data_; }
  int64_t size() const { return rows_ ? std::ssize(*rows_) : data_.size(); }
  /// Takes only these of the data's examples, which are counted anew.
  void select(std::vector<int64_t> rows) { rows_ = std::move(rows); }
  /// The place of an example in the data.
  int64_t place(int64_t row) const { return rows_ ? (*rows_)[static_cast<size_t>(row)] : row; }
  /// The classes with the number of their examples, where they have names.
  std::vector<std::pair<std::string, int64_t>> class_counts() const;
  /// The array of one integer label for each example; null where there is none.
  const Tensor* labels() const;
  /// The only size of batch that the inputs take, where one of them fixes it.
  std::optional<int64_t> fixed_batch() const { return fixed_batch_; }

  /// These examples, by the names of the inputs.
  Arrays batch(std::span<const int64_t> rows) const;
  /// The same, for these inputs alone and what is read together with them.
  using InputNames = std::set<std::string, std::less<>>;
  Arrays batch(std::span<const int64_t> rows, const InputNames& inputs) const;
  /// These inputs with what is read when they are: images with their masks.
  InputNames read_together(InputNames inputs) const;
  /// The types of one example. Reads an image, where there are some.
  std::map<std::string, Type, std::less<>> types() const;

  /// Says which examples will be asked for next, in that order, so that threads can decode their
  /// images.
  void expect(std::span<const int64_t> rows, const Ahead& ahead) const;
  void expect(std::span<const int64_t> rows, const Ahead& ahead, const InputNames& inputs) const;

  /// Reads all images once, leaves those out of the examples that can't be decoded, and says why of
  /// each, by its place in the data. Throws Error where none is left.
  std::map<int64_t, std::string> skip_unreadable(int threads);

  /// Changes images at random from now on. Throws Error where there are none.
  void augment(const Augment& augment);
  /// Whether an example is another one in each epoch.
  bool varies() const { return varies_; }

 private:
  struct Feed {
    std::string input;
    Tensor array;
    DType dtype = DType::undefined;
    std::shared_ptr<ImageReader> images = nullptr;  // in place of the array
    std::string masks = {};                         // the input that takes those of the images
  };

  std::optional<std::string> add(const InputSlot& slot, const ArrayNames& names);
  std::vector<int64_t> places(std::span<const int64_t> rows) const;
  static void add_examples(const Feed& feed, std::span<const int64_t> places, Arrays& batch);
  std::optional<std::string> add_images(const InputSlot& slot);
  std::optional<std::string> add_masks(const InputSlot& slot);
  std::optional<std::string> fix_batch(const InputSlot& slot, int64_t size);

  Dataset data_;
  std::vector<Feed> feeds_;
  std::optional<std::vector<int64_t>> rows_;
  std::optional<int64_t> fixed_batch_;
  bool varies_ = false;
};

}  // namespace onward
