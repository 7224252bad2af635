#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/dtype.h"

namespace onward {

/// One dimension of a type: a number, a name that stands for one, or unknown.
struct Dim {
  std::optional<int64_t> value;
  std::string symbol;      // empty where `value` is set or nothing is known
  std::string denotation;  // the standard's optional label, such as DATA_CHANNEL

  static Dim known(int64_t value) { return {.value = value, .symbol = {}, .denotation = {}}; }
  static Dim named(std::string symbol) {
    return {.value = {}, .symbol = std::move(symbol), .denotation = {}};
  }

  /// Denotations are labels for people and do not count.
  friend bool operator==(const Dim& a, const Dim& b) {
    return a.value == b.value && a.symbol == b.symbol;
  }
};

using Shape = std::vector<Dim>;

/// The type of a value: a tensor, or one of the standard's containers.
struct Type {
  enum class Kind : uint8_t { unknown, tensor, sparse_tensor, sequence, optional, map, opaque };

  Kind kind = Kind::unknown;
  DType dtype = DType::undefined;       // of a tensor's elements, or of a map's keys
  std::optional<Shape> shape;           // of a tensor; nothing where even the rank is unknown
  std::shared_ptr<const Type> element;  // of a sequence, an optional, or a map's values
  std::string opaque_domain, opaque_name;
  std::string denotation;

  static Type unknown() { return {}; }
  static Type tensor(DType dtype, std::optional<Shape> shape = std::nullopt);
  static Type tensor(DType dtype, std::span<const int64_t> dims);
  static Type sequence(Type element);
  static Type optional(Type element);
  static Type map(DType key, Type value);

  bool known() const { return kind != Kind::unknown; }
  bool is_tensor() const { return kind == Kind::tensor; }
};

bool operator==(const Type& a, const Type& b);

/// f32[N,784], f32[?,3], f32 with unknown rank as f32[...], seq(f32[2]), map(i64, f32[]).
std::string to_string(const Type& type);
std::string to_string(const Shape& shape);
std::string to_string(std::span<const int64_t> dims);

/// The number of elements where all dimensions are numbers; nothing where one is not, is negative,
/// or the product does not fit an int64.
std::optional<int64_t> element_count(std::span<const int64_t> dims);
std::optional<int64_t> element_count(const Shape& shape);

/// Says why two types can't describe the same value, or nothing where they can: unknown parts agree
/// with everything, symbols are only names.
std::optional<std::string> conflict(const Type& a, const Type& b);

/// What both types know, `a` first. Only for types without a conflict.
Type merge(const Type& a, const Type& b);

}  // namespace onward
