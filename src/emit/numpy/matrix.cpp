#include <fmt/format.h>

#include "emit/numpy/calls.h"
#include "emit/shared_calls.h"

namespace onward::emit::numpy {

std::string einsum(const Call& c) { return emit::einsum(c, c.np() + ".einsum"); }

// Ones that are both above and below the diagonal.
std::string eye_like(const Call& c) {
  return fmt::format("{0}.tril({0}.triu({0}.ones_like({1}, dtype={2}), {3}), {3})", c.np(), c.in(0),
                     c.dtype_name(c.result_dtype()), c.int_attribute("k", 0));
}

std::string trilu(const Call& c) {
  const std::string_view function = c.int_attribute("upper", 1) != 0 ? "triu" : "tril";
  const std::string k = c.has(1) ? fmt::format(", {}", c.scalar(1)) : "";
  return fmt::format("{}.{}({}{})", c.np(), function, c.in(0), k);
}

}  // namespace onward::emit::numpy
