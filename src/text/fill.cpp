#include "text/fill.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "onward/error.h"
#include "proto/proto.h"

namespace onward {
namespace {

constexpr FillRule kFillRules[] = {
    {"normal", "normal(seed, stddev)", 2},
    {"uniform", "uniform(seed, low, high)", 3},
    {"full", "full(value)", 1},
};

uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

constexpr double kUnit = 0x1p-53;

/// Draw `counter` of the stream `mixed_seed`: a number of 53 bits.
uint64_t draw(uint64_t mixed_seed, uint64_t counter) {
  return mix(mixed_seed + (counter + 1) * 0x9e3779b97f4a7c15) >> 11;
}

uint64_t mixed_seed(double seed) {
  if (!(seed >= 0 && seed <= 0x1p53 && seed == std::floor(seed))) {
    throw Error(fmt::format("the seed {} is not an integer from 0 to 2^53", seed));
  }
  return mix(static_cast<uint64_t>(seed));
}

using Element = std::function<double(uint64_t index)>;

Element element_of(const FillRule& rule, const std::vector<double>& arguments) {
  if (rule.name == "full") return [value = arguments[0]](uint64_t) { return value; };
  const uint64_t seed = mixed_seed(arguments[0]);
  if (rule.name == "uniform") {
    const double low = arguments[1], width = arguments[2] - arguments[1];
    return [=](uint64_t i) {
      return std::fma(width, static_cast<double>(draw(seed, i)) * kUnit, low);
    };
  }
  const double stddev = arguments[1];
  return [=](uint64_t i) {
    uint64_t sum = 0;
    for (uint64_t k = 0; k < 12; ++k) sum += draw(seed, 12 * i + k);
    return stddev * (static_cast<double>(sum) * kUnit - 6);
  };
}

template <typename T>
std::string packed(int64_t count, const Element& element) {
  std::string bytes(static_cast<size_t>(count) * sizeof(T), '\0');
  for (int64_t i = 0; i < count; ++i) {
    const T value = static_cast<T>(element(static_cast<uint64_t>(i)));
    std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

/// `full` with whole numbers; the others make none.
template <typename T>
std::string packed_integers(const FillRule& rule, int64_t count, double value) {
  if (rule.name != "full") {
    throw Error(fmt::format("{} generates float or double, not integers", rule.usage));
  }
  // The largest int64 is no double; numbers of at most 2^53 are all exact.
  const double most = std::min(static_cast<double>(std::numeric_limits<T>::max()), 0x1p53);
  if (!(value >= -most && value <= most && value == std::floor(value))) {
    throw Error(fmt::format("{} is not an integer in the type's range", value));
  }
  return packed<T>(count, [=](uint64_t) { return value; });
}

}  // namespace

const FillRule* find_fill_rule(std::string_view name) {
  for (const FillRule& rule : kFillRules) {
    if (rule.name == name) return &rule;
  }
  return nullptr;
}

int64_t fill(onnx::TensorProto& tensor, const FillRule& rule, const std::vector<double>& arguments,
             int64_t max_elements) {
  const std::vector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  const int64_t count = checked_element_count(dims);
  if (count > max_elements) {
    throw Error(fmt::format("{} elements are more than rules may fill in one text ({})", count,
                            kMaxFilledElements));
  }
  const DType dtype = dtype_from_proto(tensor.data_type());
  switch (dtype) {
    case DType::f32:
      tensor.set_raw_data(packed<float>(count, element_of(rule, arguments)));
      break;
    case DType::f64:
      tensor.set_raw_data(packed<double>(count, element_of(rule, arguments)));
      break;
    case DType::i32:
      tensor.set_raw_data(packed_integers<int32_t>(rule, count, arguments[0]));
      break;
    case DType::i64:
      tensor.set_raw_data(packed_integers<int64_t>(rule, count, arguments[0]));
      break;
    default:
      throw Error(
          fmt::format("{} cannot generate elements of type {}", rule.usage, onnx_name(dtype)));
  }
  return count;
}

}  // namespace onward
