// Operators of ai.onnx.ml that take or give maps.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "eval/families.h"
#include "eval/number_text.h"

namespace onward::eval {
namespace {

using Values = std::vector<RuntimeValue>;

constexpr int64_t kLongestMap = std::numeric_limits<int32_t>::max();

/// The one element that is the value of a key.
const Tensor& scalar_of(const RuntimeValue& value) {
  const Tensor& tensor = value.tensor();
  if (tensor.size() != 1) throw Error(fmt::format("a key has {} values", tensor.size()));
  return tensor;
}

/// A value of a map in the type that is asked for.
Tensor converted_value(const Tensor& value, DType to) {
  if (value.dtype() == to) return value;
  if (value.dtype() == DType::string) return texts_to_numbers(value, to);
  if (to == DType::string) return numbers_to_texts(value);
  return to_tensor(to_array<double>(value), to);
}

DType cast_type(const Node& node) {
  const std::string to = node.string_or("cast_to", "TO_FLOAT");
  if (to == "TO_FLOAT") return DType::f32;
  if (to == "TO_INT64") return DType::i64;
  if (to == "TO_STRING") return DType::string;
  throw Error(fmt::format("its cast_to '{}' is none of the standard's", to));
}

/// Zero, or no text.
Tensor nothing_of(DType dtype) {
  if (dtype == DType::string) return Tensor::of_strings({}, {""});
  const Array<double> zero(std::vector<int64_t>{});
  return to_tensor(zero, dtype);
}

Tensor joined(DType dtype, std::vector<int64_t> dims, const std::vector<Tensor>& elements) {
  std::vector<ElementRun> runs;
  for (const Tensor& each : elements) runs.push_back({&each, 0, 1});
  return take_runs(dtype, std::move(dims), runs);
}

/// One row: the values in the order of their keys, or each at the place that its key says.
Values cast_map(const ValueContext& c) {
  const RuntimeMap& map = c.input(0).map();
  const DType to = cast_type(c.node());
  std::map<int64_t, Tensor> by_key;
  for (int64_t i = 0; i < map.keys.size(); ++i) {
    by_key.insert_or_assign(map.keys.integer(i),
                            converted_value(scalar_of(map.values[static_cast<size_t>(i)]), to));
  }
  std::vector<Tensor> row;
  const std::string form = c.node().string_or("map_form", "DENSE");
  if (form == "DENSE") {
    for (const auto& [key, value] : by_key) row.push_back(value);
  } else if (form == "SPARSE") {
    const int64_t length = c.node().int_or("max_map", 1);
    if (length < 0 || length > kLongestMap) {
      throw Error(fmt::format("its max_map of {} is out of range", length));
    }
    row.assign(static_cast<size_t>(length), nothing_of(to));
    for (const auto& [key, value] : by_key) {
      if (key < 0 || key >= length) {
        throw Error(fmt::format("key {} is out of range for a map of {}", key, length));
      }
      row[static_cast<size_t>(key)] = value;
    }
  } else {
    throw Error(fmt::format("its map_form '{}' is neither DENSE nor SPARSE", form));
  }
  return {joined(to, {1, static_cast<int64_t>(row.size())}, row)};
}

/// A vector with the value of each word of the vocabulary, zero where the map has none.
template <typename Key, typename KeyAt>
Tensor vectorized(const RuntimeMap& map, const std::vector<Key>& vocabulary, KeyAt key_at) {
  std::map<Key, size_t> places;
  for (size_t i = 0; i < vocabulary.size(); ++i) places[vocabulary[i]] = i;
  if (map.values.empty()) throw Error("the type of an empty map's values is not known");
  const DType dtype = map.values[0].tensor().dtype();
  std::vector<Tensor> row(vocabulary.size(), nothing_of(dtype));
  for (size_t i = 0; i < map.values.size(); ++i) {
    const auto found = places.find(key_at(i));
    if (found == places.end())
      throw Error(fmt::format("key '{}' is not in its vocabulary", key_at(i)));
    row[found->second] = scalar_of(map.values[i]);
  }
  return joined(dtype, {static_cast<int64_t>(row.size())}, row);
}

Values dict_vectorizer(const ValueContext& c) {
  const RuntimeMap& map = c.input(0).map();
  const auto* integers = c.node().get<std::vector<int64_t>>("int64_vocabulary");
  const auto* texts = c.node().get<std::vector<std::string>>("string_vocabulary");
  const bool of_texts = map.keys.dtype() == DType::string;
  if (of_texts ? !texts : !integers) {
    throw Error(fmt::format("it has no vocabulary of keys of type {}", name(map.keys.dtype())));
  }
  if (of_texts) {
    return {vectorized(map, *texts, [&](size_t i) { return map.keys.strings()[i]; })};
  }
  return {vectorized(map, *integers,
                     [&](size_t i) { return map.keys.integer(static_cast<int64_t>(i)); })};
}

/// A map for each row, with a value for each label.
Values zip_map(const ValueContext& c) {
  const Tensor& x = c.input(0).tensor();
  const auto* integers = c.node().get<std::vector<int64_t>>("classlabels_int64s");
  const auto* texts = c.node().get<std::vector<std::string>>("classlabels_strings");
  if ((integers != nullptr) == (texts != nullptr)) {
    throw Error("it must have labels that are integers, or labels that are strings");
  }
  const auto count = static_cast<int64_t>(integers ? integers->size() : texts->size());
  const Tensor keys =
      integers ? Tensor::of<int64_t>({count}, *integers) : Tensor::of_strings({count}, *texts);
  if (x.dims().empty() || x.dims().size() > 2 || x.dims().back() != count) {
    throw Error(fmt::format("{} labels for scores of shape {}", count, to_string(x.dims())));
  }
  const int64_t rows = x.dims().size() == 1 ? 1 : x.dims()[0];
  RuntimeSequence maps{.element = Type::map(keys.dtype(), Type::tensor(DType::f32, Shape{})),
                       .values = {}};
  for (int64_t row = 0; row < rows; ++row) {
    RuntimeMap map{.keys = keys, .values = {}};
    for (int64_t i = 0; i < count; ++i) map.values.emplace_back(x.part(row * count + i, {}));
    maps.values.emplace_back(std::move(map));
  }
  return {RuntimeValue(std::move(maps))};
}

constexpr KernelDef kMlMapKernels[] = {
    {.op = "CastMap", .domain = "ai.onnx.ml", .of_values = cast_map},
    {.op = "DictVectorizer", .domain = "ai.onnx.ml", .of_values = dict_vectorizer},
    {.op = "ZipMap", .domain = "ai.onnx.ml", .of_values = zip_map},
};

}  // namespace

std::span<const KernelDef> ml_map_kernels() { return kMlMapKernels; }

}  // namespace onward::eval
