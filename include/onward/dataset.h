#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "onward/tensor.h"

namespace onward::api {

class Batches;
struct DatasetData;  // of the implementation

/// Named arrays whose first dimension counts the examples, and an order of these. An array without
/// dimensions holds for all examples alike. Copies share the arrays.
class ONWARD_API Dataset {
 public:
  /// Throws Error where lengths differ, or there is no example.
  explicit Dataset(const Tensors& arrays);

  int64_t size() const;
  Tensors arrays() const;

  /// The same examples in another order, which is the same on every machine for the same seed and
  /// epoch.
  Dataset shuffled(uint64_t seed, uint64_t epoch = 0) const;

  /// A range of batches; the last may be smaller:
  ///   for (const Batch& batch : data.batches(128)) trainer.step(batch);
  Batches batches(int64_t batch_size) const;

  /// The examples from number `first` on, in the order of the dataset, as far as there are any.
  Batch rows(int64_t first, int64_t count) const;

 private:
  friend struct DatasetData;
  explicit Dataset(std::shared_ptr<const DatasetData> data);

  std::shared_ptr<const DatasetData> data_;
};

/// Opens an .npz file, one .npy file, a folder of .npy files, `mnist:FOLDER` or
/// `mnist-test:FOLDER`.
ONWARD_API Dataset open_dataset(const std::string& where);

/// MNIST's training or test images as they were published, from the folder of its files.
ONWARD_API Dataset mnist(const std::string& folder);
ONWARD_API Dataset mnist_test(const std::string& folder);

/// The batches of a dataset, each made when it is reached.
class Batches {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    using pointer = const Batch*;
    using reference = Batch;

    Iterator() = default;
    Iterator(const Batches* batches, int64_t first) : batches_(batches), first_(first) {}

    Batch operator*() const { return batches_->data_.rows(first_, batches_->batch_size_); }
    Iterator& operator++() {
      first_ += batches_->batch_size_;
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(const Iterator& other) const { return first_ == other.first_; }

   private:
    const Batches* batches_ = nullptr;
    int64_t first_ = 0;
  };

  Batches(Dataset data, int64_t batch_size) : data_(std::move(data)), batch_size_(batch_size) {}

  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size() * batch_size_}; }
  /// The number of batches.
  int64_t size() const { return (data_.size() + batch_size_ - 1) / batch_size_; }

 private:
  Dataset data_;
  int64_t batch_size_;
};

}  // namespace onward::api
