// Gradients are clipped before anything is added to them. Norms are those of torch's
// clip_grad_norm_ in its formula, and Keras's global_clipnorm and clipnorm in all others.

#include "recipe/gradient_clipping.h"

#include <fmt/format.h>

#include <cmath>

#include "onward/error.h"

namespace onward {
namespace {

Expr sum_of_squares(Expr x) {
  const Expr wide = cast(x, wide_type(x.dtype()));
  return wide.builder().add("ReduceSumSquare", {wide.value()}, wide.dtype(),
                            {{"keepdims", int64_t{0}}});
}

class Clipper {
 public:
  Clipper(Algorithm& algorithm, const Recipe& recipe)
      : algorithm_(algorithm), recipe_(recipe), builder_(algorithm.builder("clip/")) {}

  std::vector<ParameterGradient> clipped(std::span<const ParameterGradient> parameters) {
    std::vector<ParameterGradient> result(parameters.begin(), parameters.end());
    const std::optional<Expr> scale = recipe_.clip.norm ? scale_of_all(parameters) : std::nullopt;
    for (ParameterGradient& each : result) {
      const Expr g = builder_.expr(each.gradient);
      each.gradient = (scale ? g * cast(*scale, g.dtype()) : clipped(g)).value();
    }
    return result;
  }

 private:
  Expr number(const std::string& name, double value, DType dtype) {
    return builder_.expr(algorithm_.constant(name, value, dtype));
  }

  Expr clipped(Expr g) {
    if (recipe_.clip.value) {
      const Expr bound = number("clip_value", *recipe_.clip.value, g.dtype());
      return smaller(larger(g, -bound), bound);
    }
    // g bound / max(norm, bound), where a norm of 0 leaves zeros
    const DType wide = wide_type(g.dtype());
    const Expr bound = number("clip_norm_each", *recipe_.clip.norm_each, wide);
    const Expr scale = bound / larger(sqrt(sum_of_squares(g)), bound);
    return g * cast(scale, g.dtype());
  }

  /// torch: min(1, bound / (norm + 1e-6)); Keras: bound min(1 / norm, 1 / bound)
  std::optional<Expr> scale_of_all(std::span<const ParameterGradient> parameters) {
    DType wide = DType::f32;
    for (const ParameterGradient& each : parameters) {
      if (each.gradient->type.dtype == DType::f64) wide = DType::f64;
    }
    std::optional<Expr> squares;
    for (const ParameterGradient& each : parameters) {
      const Expr own = cast(sum_of_squares(builder_.expr(each.gradient)), wide);
      squares = squares ? *squares + own : own;
    }
    const Expr norm = sqrt(*squares), one = number("one", 1, wide);
    const Expr bound = number("clip_norm", *recipe_.clip.norm, wide);
    if (recipe_.optimizer.formula() == Formula::torch) {
      return smaller(bound / (norm + number("clip_norm_margin", 1e-6, wide)), one);
    }
    return bound * smaller(one / norm, one / bound);
  }

  Algorithm& algorithm_;
  const Recipe& recipe_;
  Builder builder_;
};

}  // namespace

std::vector<ParameterGradient> clip_gradients(Algorithm& algorithm, const Recipe& recipe,
                                              std::span<const ParameterGradient> parameters) {
  check_clipping(recipe.clip);
  if (recipe.clip == Clipping{}) return {parameters.begin(), parameters.end()};
  return Clipper(algorithm, recipe).clipped(parameters);
}

void check_clipping(const Clipping& clip) {
  const std::pair<const char*, std::optional<double>> ways[] = {
      {"clip_norm", clip.norm}, {"clip_norm_each", clip.norm_each}, {"clip_value", clip.value}};
  std::string_view first;
  for (const auto& [name, bound] : ways) {
    if (!bound) continue;
    if (!(*bound > 0 && std::isfinite(*bound))) {
      throw Error(fmt::format("{} must be a finite number above 0, not {}", name, *bound));
    }
    if (!first.empty()) {
      throw Error(fmt::format("{} and {} exclude each other: give one of them", first, name));
    }
    first = name;
  }
}

}  // namespace onward
