#pragma once

#include <optional>

#include "data/dataset.h"
#include "ir/model.h"

namespace onward {

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
/// the types of the inputs (data/convert.h).
class Feeds {
 public:
  /// Throws an Error that names every input without an array, or with one that does not fit.
  Feeds(Dataset data, const std::vector<InputSlot>& inputs, const ArrayNames& names = {});

  const Dataset& data() const { return data_; }
  int64_t size() const { return data_.size(); }
  /// The only size of batch that the inputs take, where one of them fixes it.
  std::optional<int64_t> fixed_batch() const { return fixed_batch_; }

  /// These examples, by the names of the inputs.
  Arrays batch(std::span<const int64_t> rows) const;

 private:
  struct Feed {
    std::string input;
    Tensor array;
    DType dtype;
  };

  std::optional<std::string> add(const InputSlot& slot, const ArrayNames& names);
  std::optional<std::string> fix_batch(const InputSlot& slot, int64_t size);

  Dataset data_;
  std::vector<Feed> feeds_;
  std::optional<int64_t> fixed_batch_;
};

}  // namespace onward
