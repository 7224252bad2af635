#pragma once

// Python's words: names, numbers and lists as its source has them.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "ir/tensor.h"

namespace onward::emit {

/// A name that Python accepts: other characters become underscores.
std::string identifier(std::string_view text);

/// "mnist_cnn" and "mnist-cnn" become "MnistCnn"; `fallback` where no letter is left, or for
/// "none", "NoneModel".
std::string class_name(std::string_view text, std::string_view fallback);

/// The words of a text, which spaces part.
std::vector<std::string_view> words_of(std::string_view text);

/// Gives out names of one scope, each once.
class PythonNames {
 public:
  /// Names that are not given out: Python's own and those that the source uses already.
  explicit PythonNames(std::span<const std::string_view> reserved = {});

  /// The identifier of `wanted`, or that with _2, _3 ... where it is taken.
  std::string fresh(std::string_view wanted);
  void reserve(std::string_view name) { taken_.emplace(name); }
  bool has(std::string_view name) const { return taken_.contains(std::string(name)); }

 private:
  std::unordered_set<std::string> taken_;
};

/// The shortest number that reads back as exactly this double, with a point or an exponent.
std::string python_float(double number);
/// A float attribute or a float32 element, for a computation in `dtype`: in float32 the shortest
/// that rounds to it, in float64 its exact value.
std::string python_float(float number, DType dtype);
std::string python_bool(bool value);

/// "(1, 2)", "(1,)", "()".
std::string python_tuple(std::span<const int64_t> numbers);
std::string python_tuple(std::span<const std::string> elements);
/// "3" where all are the same, as frameworks let one say a square window; else a tuple.
std::string python_square(std::span<const int64_t> numbers);
/// "'text'", with what needs it escaped.
std::string python_string(std::string_view text);

/// One element of a tensor as a literal.
std::string python_element(const Tensor& tensor, int64_t index);

/// Python's name of an element type in NumPy, torch and Keras ("float64"); throws Error for one
/// that they do not share.
std::string python_dtype(DType dtype);

}  // namespace onward::emit
