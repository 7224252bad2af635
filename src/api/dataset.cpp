#include "onward/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "api/data.h"

namespace onward::api {

Dataset DatasetData::wrap(onward::Dataset dataset) {
  return Dataset(std::make_shared<const DatasetData>(
      DatasetData{std::make_shared<const onward::Dataset>(std::move(dataset)), {}}));
}

Dataset::Dataset(std::shared_ptr<const DatasetData> data) : data_(std::move(data)) {}

Dataset::Dataset(const Tensors& arrays)
    : Dataset(with_code(ErrorCode::data, [&] {
        return DatasetData::wrap(onward::Dataset(unwrap_copies(arrays)));
      })) {}

int64_t Dataset::size() const { return data_->arrays->size(); }
Tensors Dataset::arrays() const { return api::wrap(data_->arrays->arrays()); }

Dataset Dataset::shuffled(uint64_t seed, uint64_t epoch) const {
  DatasetData other{data_->arrays, shuffled_order(size(), seed, epoch)};
  if (!data_->order.empty()) {
    for (int64_t& row : other.order) row = data_->order[static_cast<size_t>(row)];
  }
  return Dataset(std::make_shared<const DatasetData>(std::move(other)));
}

Batches Dataset::batches(int64_t batch_size) const {
  if (batch_size < 1) {
    throw Error(fmt::format("a batch of {} examples is none", batch_size),
                ErrorCode::invalid_argument);
  }
  return {*this, batch_size};
}

Batch Dataset::rows(int64_t first, int64_t count) const {
  if (first < 0 || count < 0 || first > size()) {
    throw Error(fmt::format("{} examples from number {} on are not among {}", count, first, size()),
                ErrorCode::invalid_argument);
  }
  std::vector<int64_t> rows(static_cast<size_t>(std::min(count, size() - first)));
  std::iota(rows.begin(), rows.end(), first);
  if (!data_->order.empty()) {
    for (int64_t& row : rows) row = data_->order[static_cast<size_t>(row)];
  }
  Batch batch;
  for (const auto& [name, array] : data_->arrays->arrays()) {
    batch.emplace(name, TensorData::wrap(take_rows(array, rows)));
  }
  return batch;
}

Dataset open_dataset(const std::string& where) {
  return with_code(ErrorCode::data, [&] {
    onward::Dataset data = onward::open_dataset(where);
    if (data.images()) {
      throw Error(
          fmt::format("'{}' is a folder of images, which `onward train` and `onward eval` read: "
                      "give decoded images as an array",
                      where),
          ErrorCode::unsupported);
    }
    return DatasetData::wrap(std::move(data));
  });
}

Dataset mnist(const std::string& folder) { return open_dataset("mnist:" + folder); }
Dataset mnist_test(const std::string& folder) { return open_dataset("mnist-test:" + folder); }

}  // namespace onward::api
