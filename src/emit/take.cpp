#include "emit/take.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <unordered_map>

#include "emit/arrangement.h"
#include "emit/layout.h"
#include "emit/safetensors.h"
#include "eval/array.h"
#include "onward/error.h"
#include "proto/mapped_tensors.h"

namespace onward::emit {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

Json read_map(const fs::path& file) {
  std::ifstream stream(file);
  if (!stream) {
    throw Error(fmt::format("there is no '{}': the folder was not written by `onward export`",
                            file.string()));
  }
  std::stringstream text;
  text << stream.rdbuf();
  try {
    return Json::parse(text.str());
  } catch (const Json::exception& error) {
    throw Error(fmt::format("'{}' is damaged: {}", file.string(), error.what()));
  }
}

/// One line of onward.json.
struct Entry {
  std::string tensor, key;
  std::vector<int64_t> permutation;
  std::optional<Arrangement> arrangement;  // of a part
  bool is_number = false;                  // frameworks keep it in a type of their own
};

std::optional<Arrangement> arrangement_of(const Json& entry) {
  if (!entry.contains("blocks")) return std::nullopt;
  Arrangement arrangement{.dims = entry.at("shape").get<std::vector<int64_t>>(),
                          .axis = entry.at("axis").get<int64_t>(),
                          .blocks = {}};
  for (const Json& block : entry.at("blocks")) {
    arrangement.blocks.push_back({.begin = block.at("begin").get<int64_t>(),
                                  .count = block.at("count").get<int64_t>(),
                                  .offset = block.at("offset").get<int64_t>(),
                                  .strides = block.at("strides").get<std::vector<int64_t>>()});
  }
  return arrangement;
}

std::vector<Entry> entries_of(const Json& list) {
  std::vector<Entry> entries;
  for (const Json& each : list) {
    entries.push_back({.tensor = each.at("tensor").get<std::string>(),
                       .key = each.at("key").get<std::string>(),
                       .permutation = each.value("permutation", std::vector<int64_t>{}),
                       .arrangement = arrangement_of(each),
                       .is_number = each.value("number", false)});
  }
  return entries;
}

bool is_permutation_of(const std::vector<int64_t>& permutation, size_t rank) {
  std::vector<int64_t> sorted = permutation;
  std::ranges::sort(sorted);
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<int64_t>(i)) return false;
  }
  return permutation.empty() || permutation.size() == rank;
}

class Taker {
 public:
  Taker(const fs::path& folder, Model& model) : folder_(folder) {
    for_each_top_level_graph(model, [&](Graph& graph, GraphRole) {
      for (Value* value : graph.initializers()) initializers_.emplace(value->name(), value);
    });
  }

  /// Finds what each tensor of a file becomes; nothing is changed yet.
  size_t read(const std::string& file, const Json& list, const Json& own) {
    const Safetensors saved = read_safetensors(folder_ / file);
    const auto mark = saved.metadata.find("save");
    marks_.push_back(mark == saved.metadata.end() ? "" : mark->second);
    std::vector<std::string> known = own.get<std::vector<std::string>>();
    size_t count = 0;
    for (const Entry& entry : entries_of(list)) {
      known.push_back(entry.key);
      const auto found = saved.tensors.find(entry.key);
      if (found == saved.tensors.end()) {
        problem(fmt::format("{} has no tensor '{}'", file, entry.key));
      } else if (entry.arrangement) {
        count += put_part(entry, found->second);
      } else if (const auto tensor = fitted(entry, found->second)) {
        new_values_.emplace_back(initializers_.at(entry.tensor), *tensor);
        ++count;
      }
    }
    for (const auto& [key, tensor] : saved.tensors) {
      if (std::ranges::find(known, key) == known.end()) {
        problem(fmt::format("{} has a tensor '{}' that the export had not", file, key));
      }
    }
    return count;
  }

  void finish() {
    if (marks_.size() == 2 && marks_[0] != marks_[1]) {
      problem("weights.safetensors and optimizer.safetensors were not saved together");
    }
    if (!problems_.empty()) {
      throw Error(fmt::format("'{}' does not fit the model:\n  {}", folder_.string(),
                              fmt::join(problems_, "\n  ")));
    }
    for (auto& [value, bytes] : assembled_) {
      new_values_.emplace_back(value,
                               Tensor::from_bytes(value->tensor()->dtype(), value->tensor()->dims(),
                                                  std::make_shared<std::string>(std::move(bytes))));
    }
    for (auto& [value, tensor] : new_values_) {
      value->graph().set_initializer(value, std::move(tensor));
    }
  }

 private:
  void problem(std::string text) { problems_.push_back(std::move(text)); }

  /// Puts what a framework keeps apart into the model's tensor; says whether that is a new one.
  size_t put_part(const Entry& entry, const Tensor& tensor) {
    const auto found = initializers_.find(entry.tensor);
    Value* value = found == initializers_.end() ? nullptr : found->second;
    const Tensor* old = value ? value->tensor() : nullptr;
    if (!old) {
      problem(fmt::format("the model has no initializer '{}'", entry.tensor));
      return 0;
    }
    const bool is_first = !assembled_.contains(value);
    if (is_first) {
      const Tensor read = in_memory(*old);
      assembled_[value] =
          std::string(reinterpret_cast<const char*>(read.bytes().data()), read.bytes().size());
    }
    if (tensor.dtype() != old->dtype() ||
        !put_back(tensor, *entry.arrangement, assembled_.at(value))) {
      problem(fmt::format("'{}' is {}, which does not fit '{}' of the model, {}", entry.key,
                          to_string(tensor.type()), entry.tensor, to_string(old->type())));
    }
    return is_first ? 1 : 0;
  }

  std::optional<Tensor> fitted(const Entry& entry, const Tensor& tensor) {
    const auto found = initializers_.find(entry.tensor);
    const Tensor* old = found == initializers_.end() ? nullptr : found->second->tensor();
    if (!old) {
      problem(fmt::format("the model has no initializer '{}'", entry.tensor));
      return std::nullopt;
    }
    if (entry.is_number) {
      if (tensor.size() == 1 && old->size() == 1) return as_number(tensor, *old);
    } else if (tensor.dtype() == old->dtype() &&
               is_permutation_of(entry.permutation, tensor.dims().size())) {
      const Tensor here = permuted(tensor, inverse(entry.permutation));
      if (here.dims() == old->dims()) return here;
    }
    problem(fmt::format("'{}' is {}, but '{}' of the model is {}", entry.key,
                        to_string(tensor.type()), entry.tensor, to_string(old->type())));
    return std::nullopt;
  }

  static Tensor as_number(const Tensor& tensor, const Tensor& old) {
    if (is_integer(old.dtype()) && is_integer(tensor.dtype())) {
      auto whole = eval::to_array<int64_t>(tensor);
      whole.dims = old.dims();
      return eval::to_tensor(whole, old.dtype());
    }
    auto number = eval::to_array<double>(tensor);
    number.dims = old.dims();
    return eval::to_tensor(number, old.dtype());
  }

  fs::path folder_;
  std::unordered_map<std::string, Value*> initializers_;
  std::vector<std::pair<Value*, Tensor>> new_values_;
  std::map<Value*, std::string> assembled_;  // bytes of tensors that come in parts
  std::vector<std::string> problems_;
  std::vector<std::string> marks_;
};

}  // namespace

Taken take(const fs::path& folder, Model& model) {
  const Json map = read_map(folder / "onward.json");
  Taker taker(folder, model);
  Taken taken;
  try {
    taken.weights = taker.read("weights.safetensors", map.at("weights"), map.at("own"));
    if (map.contains("optimizer")) {
      taken.state = taker.read("optimizer.safetensors", map.at("optimizer"), Json::array());
    }
  } catch (const Json::exception& error) {
    throw Error(
        fmt::format("'{}' is damaged: {}", (folder / "onward.json").string(), error.what()));
  }
  taker.finish();
  return taken;
}

}  // namespace onward::emit
