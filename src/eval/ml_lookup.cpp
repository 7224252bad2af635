// Operators of ai.onnx.ml that look elements up in lists.

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <optional>

#include "eval/families.h"

namespace onward::eval {
namespace {

using Tensors = std::vector<Tensor>;
using Integers = std::vector<int64_t>;
using Texts = std::vector<std::string>;

constexpr std::string_view kMl = "ai.onnx.ml";

/// A list of keys or values, as a vector: one of the attributes <prefix>_floats, _int64s, _strings
/// and _tensor.
Tensor listed(const Node& node, const std::string& prefix) {
  std::vector<Tensor> found;
  const auto length = [](const auto& list) {
    return std::vector<int64_t>{static_cast<int64_t>(list.size())};
  };
  if (const auto* list = node.get<std::vector<float>>(prefix + "_floats")) {
    found.push_back(Tensor::of<float>(length(*list), *list));
  }
  if (const auto* list = node.get<Integers>(prefix + "_int64s")) {
    found.push_back(Tensor::of<int64_t>(length(*list), *list));
  }
  if (const auto* list = node.get<Texts>(prefix + "_strings")) {
    found.push_back(Tensor::of_strings(length(*list), *list));
  }
  if (const auto* tensor = node.get<Tensor>(prefix + "_tensor")) {
    found.push_back(tensor->reshaped({tensor->size()}));
  }
  if (found.size() != 1) {
    throw Error(fmt::format("it has {} attributes '{}_*', not one", found.size(), prefix));
  }
  return found[0];
}

/// What is found for an element: by text, by whole number, or by float, of which all NaN are one.
class Dictionary {
 public:
  explicit Dictionary(const Tensor& keys) : dtype_(keys.dtype()) {
    for (int64_t i = 0; i < keys.size(); ++i) {  // of keys that are equal, the last one counts
      if (dtype_ == DType::string) {
        texts_[keys.strings()[static_cast<size_t>(i)]] = i;
      } else if (is_integer(dtype_)) {
        integers_[keys.integer(i)] = i;
      } else if (std::isnan(keys.number(i))) {
        nan_ = i;
      } else {
        floats_[keys.number(i)] = i;
      }
    }
  }

  /// The index of the key that an element equals, or -1.
  int64_t find(const Tensor& x, int64_t i) const {
    if (dtype_ == DType::string) return at(texts_, x.strings()[static_cast<size_t>(i)]);
    if (is_integer(dtype_)) return at(integers_, x.integer(i));
    return std::isnan(x.number(i)) ? nan_ : at(floats_, x.number(i));
  }

 private:
  template <typename Map, typename Key>
  static int64_t at(const Map& map, const Key& key) {
    const auto found = map.find(key);
    return found == map.end() ? -1 : found->second;
  }

  DType dtype_;
  std::map<std::string, int64_t> texts_;
  std::map<int64_t, int64_t> integers_;
  std::map<double, int64_t> floats_;
  int64_t nan_ = -1;
};

Tensors looked_up(const Tensor& x, const Tensor& keys, const Tensor& values,
                  const Tensor& fallback) {
  if (keys.size() != values.size()) {
    throw Error(fmt::format("{} keys for {} values", keys.size(), values.size()));
  }
  if (keys.dtype() != x.dtype()) {
    throw Error(fmt::format("its keys are of type {}, but its input is {}", name(keys.dtype()),
                            name(x.dtype())));
  }
  const Dictionary dictionary(keys);
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < x.size(); ++i) indices.push_back(dictionary.find(x, i));
  return {take_elements(values, x.dims(), indices, &fallback)};
}

/// What an element becomes that is not among the keys.
Tensor default_of(const Node& node, DType values) {
  if (const auto* given = node.get<Tensor>("default_tensor")) {
    if (given->dtype() != values || given->size() != 1) {
      throw Error(fmt::format("its default_tensor is {}, but its values are of type {}",
                              to_string(given->type()), name(values)));
    }
    return *given;
  }
  if (values == DType::string) {
    return Tensor::of_strings({}, {node.string_or("default_string", "_Unused")});
  }
  Array<double> number(std::vector<int64_t>{});
  number[0] = is_integer(values) ? static_cast<double>(node.int_or("default_int64", -1))
                                 : static_cast<double>(node.float_or("default_float", -0.0F));
  if (values == DType::i64) return Tensor::scalar<int64_t>(node.int_or("default_int64", -1));
  return to_tensor(number, values);
}

Tensors label_encoder(const Context& c) {
  const Tensor keys = listed(c.node(), "keys"), values = listed(c.node(), "values");
  return looked_up(c.input(0), keys, values, default_of(c.node(), values.dtype()));
}

Tensors category_mapper(const Context& c) {
  const auto* numbers = c.node().get<Integers>("cats_int64s");
  const auto* texts = c.node().get<Texts>("cats_strings");
  if (!numbers || !texts) throw Error("its attributes 'cats_int64s' or 'cats_strings' are missing");
  const Tensor integers = Tensor::of<int64_t>({static_cast<int64_t>(numbers->size())}, *numbers);
  const Tensor strings = Tensor::of_strings({static_cast<int64_t>(texts->size())}, *texts);
  const bool to_integers = c.input(0).dtype() == DType::string;
  const DType result = to_integers ? DType::i64 : DType::string;
  return looked_up(c.input(0), to_integers ? strings : integers, to_integers ? integers : strings,
                   default_of(c.node(), result));
}

/// A row of zeros with one 1 for each element; numbers are taken as integers.
Tensors one_hot_encoder(const Context& c) {
  const Tensor& x = c.input(0);
  const Tensor categories = listed(c.node(), "cats");
  const bool of_texts = x.dtype() == DType::string;
  if (of_texts != (categories.dtype() == DType::string)) {
    throw Error(fmt::format("its categories are of type {}, but its input is {}",
                            name(categories.dtype()), name(x.dtype())));
  }
  const Tensor keys = of_texts ? x : to_tensor(to_array<int64_t>(x), DType::i64);
  const Dictionary dictionary(categories);
  std::vector<int64_t> dims = x.dims();
  dims.push_back(categories.size());
  Array<float> y(dims);
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t found = dictionary.find(keys, i);
    if (found >= 0) {
      y[i * categories.size() + found] = 1;
    } else if (c.node().int_or("zeros", 1) == 0) {
      throw Error(fmt::format("element {} is in none of its categories", i));
    }
  }
  return {to_tensor(y, DType::f32)};
}

constexpr KernelDef kMlLookupKernels[] = {
    {"CategoryMapper", category_mapper, kMl},
    {"LabelEncoder", label_encoder, kMl},
    {"OneHotEncoder", one_hot_encoder, kMl},
};

}  // namespace

std::span<const KernelDef> ml_lookup_kernels() { return kMlLookupKernels; }

}  // namespace onward::eval
