#include <fmt/format.h>

#include "emit/dialect.h"
#include "emit/shared_calls.h"
#include "onward/error.h"
#include "ops/quantization.h"

namespace onward::emit {
namespace {

/// An input in another element type.
std::string cast_to(const Call& c, const std::string& text, DType from, DType to) {
  if (from == to) return text;
  return fmt::format(fmt::runtime(c.dialect().cast), text, c.dtype_name(to));
}

/// Whether an input has a dimension, but only one element.
bool is_vector_of_one(const Call& c, size_t input) {
  return c.rank(input) == 1 && c.dim(input, 0) == 1;
}

}  // namespace

std::string quantized(const Call& c) {
  const DType zero_type = c.has(2) ? c.dtype(2) : DType::undefined;
  const DType dtype = quantized_type(c.node(), zero_type);
  const QuantizedRange range = quantized_range(dtype);
  const std::string type = c.dtype_name(dtype);  // throws where frameworks have none
  const DType division = division_type(c.node(), c.dtype(1));
  const bool is_single = c.rank(1) == 0 || is_vector_of_one(c, 1);
  const auto operand = [&](size_t input) {
    return c.plain(input) + (is_single && c.rank(input) == 1 ? "[0]" : "");
  };
  const int64_t block = c.int_attribute("block_size", 0);
  std::string places;
  if (!is_single) {
    places = fmt::format(", axis={}", c.int_attribute("axis", 1));
    if (block != 0) places += fmt::format(", block={}", block);
  }
  return fmt::format("{}({}, {}, {}, {}, {}, {}{})", c.function("quantize_linear"),
                     cast_to(c, c.plain(0), c.dtype(0), division),
                     cast_to(c, operand(1), c.dtype(1), division), c.has(2) ? operand(2) : "0",
                     type, range.low, range.high, places);
}

}  // namespace onward::emit
