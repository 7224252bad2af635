#include <fmt/format.h>

#include "emit/emitters.h"
#include "onward/error.h"

namespace onward::emit {
namespace {

bool is_whole(DType dtype) { return is_integer(dtype) || dtype == DType::boolean; }

/// Max or Min. Inputs that tie share the gradient equally, whatever a framework's own function of
/// two tensors does: `shares` says that it does so.
struct Extremum {
  std::string_view of_two;
  bool shares;
  std::string_view of_all;  // ours
};

std::string extremum(const Call& c, const Extremum& words) {
  if (c.inputs() == 1) return c.in(0);
  if (!is_whole(c.dtype(0)) && (c.inputs() > 2 || !words.shares)) {
    std::vector<std::string> inputs;
    for (size_t i = 0; i < c.inputs(); ++i) inputs.push_back(c.in(i));
    return fmt::format("{}({})", c.function(words.of_all), fmt::join(inputs, ", "));
  }
  std::string all = c.in(0);
  for (size_t i = 1; i < c.inputs(); ++i) {
    all = fmt::format("{}({}, {})", words.of_two, all, c.in(i));
  }
  return all;
}

/// Where both choices are numbers nothing says their type: then one is made a tensor.
std::string chosen(const Call& c, std::string_view function) {
  const bool both = c.is_number(1) && c.is_number(2);
  return fmt::format("{}({}, {}, {})", function, c.in(0), both ? c.in(1) : c.operand(1),
                     c.operand(2));
}

}  // namespace

std::string torch_cast(const Call& c) {
  return fmt::format("{}.to({})", c.in(0), c.dtype_name(c.result_dtype()));
}

std::string keras_cast(const Call& c) {
  return fmt::format("ops.cast({}, {})", c.in(0), c.dtype_name(c.result_dtype()));
}

// The lower bound first, then the upper one, which wins where they cross. On a bound the gradient
// is x's, as in Keras's maximum and minimum of x and the bound; torch.clamp stops it or shares it.
std::string torch_clip(const Call& c) {
  const bool whole = is_whole(c.dtype(0));
  // torch.clamp takes two numbers or two tensors.
  const bool numbers = (!c.has(1) || c.is_number(1)) && (!c.has(2) || c.is_number(2));
  const auto bound = [&](size_t i) {
    return (whole ? numbers : c.is_number(i)) ? c.operand(i) : c.plain(i);
  };
  std::string bounds;
  if (c.has(1)) bounds += fmt::format(", min={}", bound(1));
  if (c.has(2)) bounds += fmt::format(", max={}", bound(2));
  if (bounds.empty()) return c.in(0);
  return fmt::format("{}({}{})", whole ? "torch.clamp" : c.function("clip"), c.in(0), bounds);
}

std::string keras_clip(const Call& c) {
  std::string text = c.in(0);
  const auto bound = [&](size_t i) { return c.is_number(i) ? c.operand(i) : c.plain(i); };
  if (c.has(1)) text = fmt::format("ops.maximum({}, {})", text, bound(1));
  if (c.has(2)) text = fmt::format("ops.minimum({}, {})", text, bound(2));
  return text;
}

// Integers are divided towards zero.
std::string torch_div(const Call& c) {
  if (!is_whole(c.dtype(0))) return fmt::format("{} / {}", c.operand(0), c.operand(1));
  return fmt::format("torch.div({}, {}, rounding_mode=\"trunc\")", c.in(0), c.operand(1));
}

std::string keras_div(const Call& c) {
  if (!is_whole(c.dtype(0))) return fmt::format("{} / {}", c.operand(0), c.operand(1));
  return fmt::format("{}({}, {})", c.function("truncated_division"), c.in(0), c.in(1));
}

std::string torch_gelu(const Call& c) {
  const bool by_tanh = c.node().string_or("approximate", "none") == "tanh";
  return fmt::format("F.gelu({}{})", c.in(0), by_tanh ? ", approximate=\"tanh\"" : "");
}

std::string keras_gelu(const Call& c) {
  const bool by_tanh = c.node().string_or("approximate", "none") == "tanh";
  if (c.dtype(0) == DType::f64) {
    // TensorFlow's own has constants of float32.
    const std::string inner =
        by_tanh ? "ops.tanh(0.7978845608028654 * ({0} + 0.044715 * {0} * {0} * {0}))"
                : "ops.erf({0} / 1.4142135623730951)";
    return fmt::format(fmt::runtime("0.5 * {0} * (1 + " + inner + ")"), c.in(0));
  }
  return fmt::format("ops.gelu({}, approximate={})", c.in(0), python_bool(by_tanh));
}

std::string torch_max(const Call& c) { return extremum(c, {"torch.maximum", true, "largest"}); }
std::string keras_max(const Call& c) { return extremum(c, {"ops.maximum", false, "largest"}); }
std::string torch_min(const Call& c) { return extremum(c, {"torch.minimum", true, "smallest"}); }
std::string keras_min(const Call& c) { return extremum(c, {"ops.minimum", false, "smallest"}); }

// The result has the base's type, whatever the exponent's is.
std::string torch_pow(const Call& c) {
  const std::string power = fmt::format("torch.pow({}, {})", c.operand(0), c.operand(1));
  const bool keeps = c.dtype(0) == c.dtype(1) || (!is_whole(c.dtype(0)) && is_whole(c.dtype(1)));
  return keeps ? power : fmt::format("{}.to({})", power, c.dtype_name(c.dtype(0)));
}

std::string keras_pow(const Call& c) {
  const std::string exponent = c.operand(1);
  if (exponent == "0.0" || exponent == "0") {  // on TensorFlow the slope of 0^0 is NaN
    return fmt::format("ops.ones_like({})", c.in(0));
  }
  if (c.dtype(0) == c.dtype(1) || (c.is_number(1) && is_whole(c.dtype(1)))) {
    return fmt::format("ops.power({}, {})", c.operand(0), c.operand(1));
  }
  if (is_whole(c.dtype(0))) {
    return fmt::format("ops.cast(ops.power(ops.cast({}, {}), {}), {})", c.in(0),
                       c.dtype_name(c.dtype(1)), c.operand(1), c.dtype_name(c.dtype(0)));
  }
  return fmt::format("ops.power({}, ops.cast({}, {}))", c.operand(0), c.in(1),
                     c.dtype_name(c.dtype(0)));
}

std::string sum(const Call& c) {
  std::string all = c.operand(0);
  for (size_t i = 1; i < c.inputs(); ++i) all += " + " + c.operand(i);
  return all;
}

std::string torch_where(const Call& c) { return chosen(c, "torch.where"); }
std::string keras_where(const Call& c) { return chosen(c, "ops.where"); }

}  // namespace onward::emit
