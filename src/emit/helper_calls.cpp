#include "emit/helper_calls.h"

#include <fmt/format.h>

namespace onward::emit {
namespace {

/// ", axis=1", or nothing for the default.
std::string option(const Call& c, const char* attribute, int64_t fallback, const char* argument) {
  const int64_t number = c.int_attribute(attribute, fallback);
  return number == fallback ? "" : fmt::format(", {}={}", argument, number);
}

std::string reduction_option(const Call& c) {
  const std::string reduction = c.node().string_or("reduction", "none");
  return reduction == "none" ? "" : ", reduction=" + python_string(reduction);
}

}  // namespace

std::string gather_elements(const Call& c) {
  return fmt::format("{}({}, {}{})", c.function("gather_elements"), c.in(0), c.in(1),
                     option(c, "axis", 0, "axis"));
}

std::string gather_nd(const Call& c) {
  return fmt::format("{}({}, {}{})", c.function("gather_nd"), c.in(0), c.in(1),
                     option(c, "batch_dims", 0, "batch_dims"));
}

std::string scatter_elements(const Call& c) {
  return fmt::format("{}({}, {}, {}{}{})", c.function("scatter_elements"), c.in(0), c.in(1),
                     c.in(2), option(c, "axis", 0, "axis"), reduction_option(c));
}

std::string scatter_nd(const Call& c) {
  return fmt::format("{}({}, {}, {}{})", c.function("scatter_nd"), c.in(0), c.in(1), c.in(2),
                     reduction_option(c));
}

std::string top_k(const Call& c) {
  const auto known = c.known(1);
  const std::string k = known && known->size() == 1 ? std::to_string(known->front()) : c.scalar(1);
  const bool largest = c.int_attribute("largest", 1) != 0;
  return fmt::format("{}({}, {}{}{})", c.function("top_k"), c.in(0), k,
                     option(c, "axis", -1, "axis"), largest ? "" : ", largest=False");
}

std::string reverse_sequence(const Call& c) {
  return fmt::format("{}({}, {}{}{})", c.function("reverse_sequence"), c.in(0), c.in(1),
                     option(c, "batch_axis", 1, "batch_axis"),
                     option(c, "time_axis", 0, "time_axis"));
}

std::string compress(const Call& c) {
  const auto* axis = c.node().get<int64_t>("axis");
  return fmt::format("{}({}, {}{})", c.function("compress"), c.in(0), c.in(1),
                     axis ? fmt::format(", axis={}", *axis) : "");
}

std::string center_crop_pad(const Call& c) {
  const bool some = c.node().get<std::vector<int64_t>>("axes") != nullptr;
  return fmt::format("{}({}, {}{})", c.function("center_crop_pad"), c.in(0), c.ints(1),
                     some ? ", axes=" + python_tuple(c.ints_attribute("axes")) : "");
}

std::string max_unpool(const Call& c) {
  const auto kernel = c.ints_attribute("kernel_shape");
  const auto list = [&](const char* name, size_t count, int64_t fallback) {
    const auto given = c.ints_attribute(name);
    return python_tuple(given.empty() ? std::vector<int64_t>(count, fallback) : given);
  };
  return fmt::format("{}({}, {}, {}, {}, {}{})", c.function("max_unpool"), c.in(0), c.in(1),
                     python_tuple(kernel), list("strides", kernel.size(), 1),
                     list("pads", 2 * kernel.size(), 0), c.has(2) ? ", shape=" + c.ints(2) : "");
}

std::string resized(const Call& c) {
  const Node& node = c.node();
  const auto is_given = [&](size_t input) {
    const auto& shape = node.input(input) ? node.input(input)->type.shape : std::nullopt;
    return c.has(input) && !(shape && element_count(*shape) == 0);
  };
  const std::string mode = node.string_or("mode", "nearest");
  std::string options = is_given(3) ? "sizes=" + c.ints(3) : "scales=" + c.floats(2);
  const auto word = [&](const char* attribute, const char* argument, const char* fallback) {
    const std::string given = node.string_or(attribute, fallback);
    if (given != fallback) options += fmt::format(", {}={}", argument, python_string(given));
  };
  if (node.get<std::vector<int64_t>>("axes")) {
    options += ", axes=" + python_tuple(c.ints_attribute("axes"));
  }
  word("mode", "mode", "nearest");
  word("coordinate_transformation_mode", "coordinates", "half_pixel");
  if (mode == "nearest") word("nearest_mode", "nearest", "round_prefer_floor");
  if (mode == "cubic" && node.float_or("cubic_coeff_a", -0.75F) != -0.75F) {
    options += ", a=" + python_float(static_cast<double>(node.float_or("cubic_coeff_a", -0.75F)));
  }
  if (node.int_or("antialias", 0) != 0) options += ", antialias=True";
  if (node.int_or("exclude_outside", 0) != 0) options += ", exclude_outside=True";
  if (is_given(3)) word("keep_aspect_ratio_policy", "policy", "stretch");
  if (node.string_or("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize") {
    options += ", region=" + c.floats(1);
    const float outside = node.float_or("extrapolation_value", 0);
    if (outside != 0) options += ", outside=" + python_float(static_cast<double>(outside));
  }
  return fmt::format("{}({}, {})", c.function("resize"), c.in(0), options);
}

}  // namespace onward::emit
