#include <fmt/format.h>

#include <algorithm>

#include "emit/dialect.h"
#include "emit/jax/dialect.h"
#include "emit/keras/dialect.h"
#include "emit/python.h"
#include "emit/torch/dialect.h"
#include "onward/error.h"

namespace onward::emit {

std::span<const Dialect* const> dialects() {
  static const Dialect* const all[] = {&torch::dialect(), &keras::dialect(), &jax::dialect()};
  return all;
}

const Dialect& find_dialect(std::string_view name) {
  const auto found = std::ranges::find(dialects(), name, &Dialect::name);
  if (found != dialects().end()) return **found;
  std::vector<std::string_view> names;
  for (const Dialect* each : dialects()) names.push_back(each->name);
  throw Error(fmt::format("there is no framework '{}' to export to; there are {}", name,
                          fmt::join(names, ", ")),
              ErrorCode::invalid_argument);
}

std::string dtype_text(const Dialect& dialect, DType dtype) {
  return fmt::format(fmt::runtime(dialect.dtype), python_dtype(dtype));
}

}  // namespace onward::emit
