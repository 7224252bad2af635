// What JAX does not write as NumPy would. Operators without a row here or in numpy/ are refused.

#include <fmt/format.h>

#include "emit/call.h"
#include "emit/jax/dialect.h"
#include "emit/node_facts.h"

namespace onward::emit::jax {
namespace {

std::string bit_cast(const Call& c) {
  return fmt::format("{}.lax.bitcast_convert_type({}, {})", c.module("jax"), c.in(0),
                     c.dtype_name(c.result_dtype()));
}

std::string gelu(const Call& c) {
  const bool by_tanh = c.node().string_or("approximate", "none") == "tanh";
  return fmt::format("{}.gelu({}, approximate={})", c.module("nn"), c.in(0), python_bool(by_tanh));
}

std::string shape(const Call& c) {
  return fmt::format("{0}.array({0}.shape({1}){2}, dtype={3})", c.np(), c.in(0), shape_part(c),
                     c.dtype_name(DType::i64));
}

constexpr CallRow kCalls[] = {
    {"BitCast", bit_cast},
    {"Erf", "{jax}.lax.erf({0})"},
    {"Gelu", gelu},
    {"Shape", shape},
};

}  // namespace

std::span<const CallRow> calls() { return kCalls; }

}  // namespace onward::emit::jax
