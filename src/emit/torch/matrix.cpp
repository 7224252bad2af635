#include <fmt/format.h>

#include "emit/shared_calls.h"
#include "emit/torch/calls.h"

namespace onward::emit::torch {

std::string einsum(const Call& c) { return emit::einsum(c, "torch.einsum"); }

// Ones that are both above and below the diagonal.
std::string eye_like(const Call& c) {
  return fmt::format("torch.ones_like({}, dtype={}).triu({}).tril({})", c.in(0),
                     c.dtype_name(c.result_dtype()), c.int_attribute("k", 0),
                     c.int_attribute("k", 0));
}

std::string trilu(const Call& c) {
  const std::string_view function = c.int_attribute("upper", 1) != 0 ? "torch.triu" : "torch.tril";
  const std::string k = c.has(1) ? fmt::format(", diagonal={}", c.scalar(1)) : "";
  return fmt::format("{}({}{})", function, c.in(0), k);
}

}  // namespace onward::emit::torch
