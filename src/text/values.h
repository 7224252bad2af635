#pragma once

// The small pieces of ONNX's text syntax: names, types, numbers, tensors.

#include <string>
#include <string_view>

#include "text/text.h"

namespace onward {

/// In double quotes, with backslashes before quotes and backslashes. Control characters, for which
/// the syntax has no escape, appear as \n or \xNN.
std::string quoted_text(std::string_view text);

/// A name as it is where ONNX's parser takes it as one, else quoted.
std::string name_text(std::string_view name);

/// A name that stands for a graph in an attribute, where the syntax allows no quotes: characters
/// that do not fit become '_'.
std::string plain_name(std::string_view name);

/// float[N,784], float for a scalar, float[] where the rank is unknown, seq(float[2]); empty where
/// nothing is known.
std::string type_text(const Type& type);

/// A number that reads as a float and not as an integer: 1.0, 0.1, 1e-07, inf.
std::string float_text(float number);

/// {1, 2, 3}, or {1, 2, 3, ...}. Floats of at most 16 bits appear as their bit patterns, as in
/// ONNX's syntax; complex numbers as two numbers each.
std::string elements_text(const Tensor& tensor, const PrintOptions& options);

/// float[2] {1, 2}
std::string tensor_text(const Tensor& tensor, const PrintOptions& options);

/// {index: value, ...}, with (i, j) for an index by axes. ONNX's syntax has no sparse tensors.
std::string elements_text(const SparseTensor& tensor, const PrintOptions& options);

/// How many elements of `count` are shown: all, or the first few where there are too many.
int64_t shown_elements(int64_t count, const PrintOptions& options);

/// open + the texts of elements 0..count-1, shortened, separated by ", " + close.
template <typename ElementText>
std::string list_text(char open, int64_t count, char close, const PrintOptions& options,
                      ElementText element_text) {
  const int64_t shown = shown_elements(count, options);
  std::string text(1, open);
  for (int64_t i = 0; i < shown; ++i) {
    if (i > 0) text += ", ";
    text += element_text(i);
  }
  if (shown < count) text += shown > 0 ? ", ..." : "...";
  return text += close;
}

}  // namespace onward
