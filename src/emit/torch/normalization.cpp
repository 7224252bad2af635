#include <fmt/format.h>

#include "emit/node_facts.h"
#include "emit/shared_calls.h"
#include "emit/torch/calls.h"

namespace onward::emit::torch {
namespace {

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

}  // namespace

std::string batch_norm(const Call& c) {
  if (in_training(c)) return batch_norm_in_training(c);
  return fmt::format("{}.batch_norm({}, {}, {}, {}, {}, eps={})", c.module("F"), c.in(0), c.in(3),
                     c.in(4), c.in(1), c.in(2), c.float_attribute("epsilon", 1e-5F));
}

std::string group_norm(const Call& c) {
  return fmt::format("{}.group_norm({}, {}, {}, {}, eps={})", c.module("F"), c.in(0),
                     c.int_attribute("num_groups", 1), c.in(1), c.in(2),
                     c.float_attribute("epsilon", 1e-5F));
}

// A channel is a group of its own; PyTorch's own function takes no single elements.
std::string instance_norm(const Call& c) {
  return fmt::format("{0}.group_norm({1}, {1}.shape[1], {2}, {3}, eps={4})", c.module("F"), c.in(0),
                     c.in(1), c.in(2), c.float_attribute("epsilon", 1e-5F));
}

std::string lrn(const Call& c) {
  return fmt::format("{}.local_response_norm({}, {}, alpha={}, beta={}, k={})", c.module("F"),
                     c.in(0), c.int_attribute("size", 1), c.float_attribute("alpha", 1e-4F),
                     c.float_attribute("beta", 0.75F), c.float_attribute("bias", 1));
}

std::string_view refuse_even_size(const Node& node) {
  return node.int_or("size", 1) % 2 == 0 ? "PyTorch has one neighbour more on the other side" : "";
}

std::string layer_norm(const Call& c) {
  const int64_t first = first_axis(c);
  const std::string x = c.in(0), epsilon = c.float_attribute("epsilon", 1e-5F);
  if (fits(c, 1, first) && (!c.has(2) || fits(c, 2, first))) {
    return fmt::format("{5}.layer_norm({0}, {0}.shape[{1}:], {2}{3}, eps={4})", x, first, c.in(1),
                       c.has(2) ? ", " + c.in(2) : "", epsilon, c.module("F"));
  }
  return fmt::format("{5}.layer_norm({0}, {0}.shape[{1}:], eps={2}) * {3}{4}", x, first, epsilon,
                     c.in(1), c.has(2) ? " + " + c.in(2) : "", c.module("F"));
}

}  // namespace onward::emit::torch
