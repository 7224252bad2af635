#include "emit/sequence_calls.h"

#include <fmt/format.h>

namespace onward::emit {

std::string optional(const Call& c) { return c.has(0) ? c.in(0) : "None"; }

std::string sequence_at(const Call& c) { return fmt::format("{}[{}]", c.in(0), c.scalar(1)); }

std::string sequence_erase(const Call& c) {
  const std::string at = c.has(1) ? c.scalar(1) : "-1";
  return fmt::format("{}({}, {})", c.function("erased"), c.in(0), at);
}

std::string sequence_insert(const Call& c) {
  if (!c.has(2)) return fmt::format("[*{}, {}]", c.in(0), c.in(1));
  return fmt::format("{}({}, {}, {})", c.function("inserted"), c.in(0), c.in(1), c.scalar(2));
}

}  // namespace onward::emit
