#include <fmt/format.h>

#include "emit/keras/calls.h"
#include "emit/node_facts.h"
#include "emit/shared_calls.h"

namespace onward::emit::keras {

std::string batch_norm(const Call& c) {
  if (in_training(c)) return batch_norm_in_training(c);
  return fmt::format(
      "ops.batch_normalization({}, {}, {}, axis=-1, offset={}, scale={}, epsilon={})", c.in(0),
      c.plain(3), c.plain(4), c.plain(2), c.plain(1), c.float_attribute("epsilon", 1e-5F));
}

std::string layer_norm(const Call& c) {
  std::vector<int64_t> axes;
  for (int64_t d = first_axis(c); d < static_cast<int64_t>(c.rank(0)); ++d) axes.push_back(d);
  return fmt::format("{}({}, {}, {}) * {}{}", c.function("layer_norm"), c.in(0), python_tuple(axes),
                     c.float_attribute("epsilon", 1e-5F), c.in(1), c.has(2) ? " + " + c.in(2) : "");
}

}  // namespace onward::emit::keras
