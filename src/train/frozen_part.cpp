#include "train/frozen_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "data/image_reader.h"
#include "onward/error.h"
#include "passes/step_part.h"

namespace onward {
namespace {

std::string readable(double bytes) {
  for (const char* unit : {"bytes", "KB", "MB"}) {
    if (bytes < 1000) return fmt::format("{:.3g} {}", bytes, unit);
    bytes /= 1000;
  }
  return fmt::format("{:.3g} GB", bytes);
}

}  // namespace

std::string to_string(const FrozenSummary& summary) {
  std::string text =
      fmt::format("{} of {} nodes are computed once per example, {} each", summary.nodes,
                  summary.all_nodes, readable(static_cast<double>(summary.bytes)));
  if (summary.kept < summary.examples) {
    text += fmt::format("; there is room for {} of {} examples", summary.kept, summary.examples);
  }
  return text;
}

FrozenPart::FrozenPart(FrozenPrefix found, const Feeds& feeds, const std::vector<std::string>& read,
                       FrozenOptions options)
    : feeds_(feeds),
      options_(std::move(options)),
      program_(part_for(found.prefix, found.prefix.graph->outputs(), Updates::dropped)),
      outputs_(std::move(found.cut)),
      multiply_adds_(found.multiply_adds),
      record_(static_cast<size_t>(found.bytes)) {
  for (const auto& [name, type] : feeds.types()) {
    if (find_value(found.prefix, name)) inputs_.insert(name);
    if (std::ranges::find(read, name) != read.end()) read_.insert(name);
  }
  read_ = feeds.read_together(std::move(read_));
  summary_ = {.nodes = found.nodes,
              .all_nodes = found.all_nodes,
              .bytes = found.bytes,
              .examples = feeds.size()};
  if (!options_.room) return;
  store_ = std::make_unique<ExampleStore>(feeds.size(), found.bytes, *options_.room);
  summary_.kept = store_->capacity();
}

bool FrozenPart::gives(std::string_view name) const {
  return std::ranges::find(outputs_, name, &FrozenPrefix::Kept::name) != outputs_.end();
}

TensorMap FrozenPart::batch(std::span<const int64_t> rows, State& state) {
  TensorMap batch = feeds_.batch(rows, read_);
  std::vector<std::shared_ptr<std::string>> all;
  for (const auto& output : outputs_) {
    all.push_back(
        std::make_shared<std::string>(static_cast<size_t>(output.bytes) * rows.size(), '\0'));
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!store_ || !store_->read(rows[i], record_)) {
      compute(rows[i], static_cast<int64_t>(i), batch, state);
      if (store_) store_->write(rows[i], record_);
    }
    const std::byte* from = record_.data();
    for (size_t k = 0; k < outputs_.size(); ++k) {
      const auto bytes = static_cast<size_t>(outputs_[k].bytes);
      std::memcpy(all[k]->data() + i * bytes, from, bytes);
      from += bytes;
    }
  }
  for (size_t k = 0; k < outputs_.size(); ++k) {
    std::vector<int64_t> dims = outputs_[k].dims;
    dims[0] = std::ssize(rows);
    batch.emplace(outputs_[k].name,
                  Tensor::from_bytes(outputs_[k].dtype, std::move(dims), std::move(all[k])));
  }
  if (store_) {
    if (const std::string failure = store_->take_failure(); !failure.empty()) {
      options_.on_warning(
          fmt::format("{}; what the frozen part gives for the examples that do not fit is computed "
                      "in each epoch",
                      failure));
    }
  }
  return batch;
}

void FrozenPart::compute(int64_t row, int64_t place, const TensorMap& given, State& state) {
  TensorMap inputs;
  InputNames missing;
  for (const std::string& name : inputs_) {
    const auto found = given.find(name);
    if (found == given.end() || bits(found->second.dtype()) % 8 != 0 ||
        found->second.dtype() == DType::string) {
      missing.insert(name);
    } else if (found->second.dims().empty()) {
      inputs.emplace(name, found->second);
    } else {
      std::vector<int64_t> dims = found->second.dims();
      const int64_t width = found->second.size() / dims[0];
      dims[0] = 1;
      inputs.emplace(name, found->second.part(place * width, std::move(dims)));
    }
  }
  inputs.merge(feeds_.batch({&row, 1}, missing));
  const TensorMap results = program_.run(inputs, state);
  std::byte* to = record_.data();
  for (const auto& output : outputs_) {
    const auto bytes = results.at(output.name).bytes();
    std::memcpy(to, bytes.data(), bytes.size());
    to += bytes.size();
  }
}

void FrozenPart::expect(std::span<const int64_t> rows, const Ahead& ahead) const {
  feeds_.expect(rows, ahead, read_);
  InputNames alone;
  std::ranges::set_difference(inputs_, read_, std::inserter(alone, alone.end()));
  std::vector<int64_t> missing;
  for (const int64_t row : rows) {
    if (!store_ || !store_->has(row)) missing.push_back(row);
  }
  feeds_.expect(missing, ahead, alone);
}

std::string FrozenPart::explain() const {
  return fmt::format("frozen: {}; {:.3g} million multiply-adds an example\n{}", to_string(summary_),
                     multiply_adds_ / 1e6, program_.explain());
}

std::vector<BatchTypes> batch_types(const Feeds& feeds, int64_t batch) {
  std::vector<BatchTypes> types = {{.size = 1, .inputs = feeds.types()}};
  for (const int64_t size : {batch, feeds.size() % batch}) {
    if (size == 0 || std::ranges::find(types, size, &BatchTypes::size) != types.end()) continue;
    BatchTypes of_size{.size = size, .inputs = types[0].inputs};
    for (auto& [name, type] : of_size.inputs) {
      if (!type.shape->empty()) type.shape->front() = Dim::known(size);
    }
    types.push_back(std::move(of_size));
  }
  return types;
}

std::string why_not_kept(const Feeds& feeds) {
  if (feeds.varies()) return "images are changed at random in each epoch";
  const int64_t size = feeds.fixed_batch().value_or(1);
  if (size != 1) return fmt::format("the model's batch size is fixed at {}", size);
  try {
    feeds.types();
  } catch (const Error& error) {  // which the training will say where it comes to that example
    return error.what();
  }
  return "";
}

}  // namespace onward
