#include <fmt/format.h>

#include "emit/emitters.h"
#include "onward/error.h"

namespace onward::emit {
namespace {

/// Only y, or all that the function gives.
std::string picked(const Call& c, const std::string& text) {
  return c.node().outputs().size() == 1 ? text + "[0]" : text;
}

std::string batch_norm_in_training(const Call& c) {
  return picked(
      c, fmt::format("{}({}, {}, {}, {}, {}, epsilon={}, momentum={})", c.function("batch_norm"),
                     c.in(0), c.plain(1), c.plain(2), c.plain(3), c.plain(4),
                     c.float_attribute("epsilon", 1e-5F), c.float_attribute("momentum", 0.9F)));
}

bool in_training(const Call& c) {
  if (c.int_attribute("training_mode", 0) != 0) return true;
  if (c.node().outputs().size() > 1) throw Error("it asks for statistics outside of training");
  return false;
}

/// Whether input `index` has exactly the shape that is normalized, so that it needs no
/// broadcasting.
bool fits(const Call& c, size_t index, int64_t first) {
  const auto &x = c.value(0)->type.shape, &given = c.value(index)->type.shape;
  if (!x || !given || given->size() + static_cast<size_t>(first) != x->size()) return false;
  for (size_t d = 0; d < given->size(); ++d) {
    const Dim& wanted = (*x)[d + static_cast<size_t>(first)];
    if (!(*given)[d].value || (*given)[d].value != wanted.value) return false;
  }
  return true;
}

int64_t first_axis(const Call& c) {
  const int64_t axis = c.int_attribute("axis", -1);
  return axis < 0 ? axis + static_cast<int64_t>(c.rank(0)) : axis;
}

}  // namespace

std::string torch_batch_norm(const Call& c) {
  if (in_training(c)) return batch_norm_in_training(c);
  return fmt::format("F.batch_norm({}, {}, {}, {}, {}, eps={})", c.in(0), c.in(3), c.in(4), c.in(1),
                     c.in(2), c.float_attribute("epsilon", 1e-5F));
}

std::string keras_batch_norm(const Call& c) {
  if (in_training(c)) return batch_norm_in_training(c);
  return fmt::format(
      "ops.batch_normalization({}, {}, {}, axis=-1, offset={}, scale={}, epsilon={})", c.in(0),
      c.plain(3), c.plain(4), c.plain(2), c.plain(1), c.float_attribute("epsilon", 1e-5F));
}

std::string torch_layer_norm(const Call& c) {
  const int64_t first = first_axis(c);
  const std::string x = c.in(0), epsilon = c.float_attribute("epsilon", 1e-5F);
  if (fits(c, 1, first) && (!c.has(2) || fits(c, 2, first))) {
    return fmt::format("F.layer_norm({0}, {0}.shape[{1}:], {2}{3}, eps={4})", x, first, c.in(1),
                       c.has(2) ? ", " + c.in(2) : "", epsilon);
  }
  return fmt::format("F.layer_norm({0}, {0}.shape[{1}:], eps={2}) * {3}{4}", x, first, epsilon,
                     c.in(1), c.has(2) ? " + " + c.in(2) : "");
}

std::string keras_layer_norm(const Call& c) {
  std::vector<int64_t> axes;
  for (int64_t d = first_axis(c); d < static_cast<int64_t>(c.rank(0)); ++d) axes.push_back(d);
  return fmt::format("{}({}, {}, {}) * {}{}", c.function("layer_norm"), c.in(0), python_tuple(axes),
                     c.float_attribute("epsilon", 1e-5F), c.in(1), c.has(2) ? " + " + c.in(2) : "");
}

}  // namespace onward::emit
