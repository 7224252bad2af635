#include <fmt/format.h>

#include "emit/node_facts.h"
#include "emit/torch/calls.h"

namespace onward::emit::torch {
namespace {

// PyTorch draws its own numbers: a seed of the model would give others there, so that it is left to
// the framework's own seeding.

/// "torch.randn_like(x, dtype=...)" or "torch.randn((2, 3), dtype=...)".
std::string drawn(const Call& c, std::string_view function) {
  const std::string dtype = c.dtype_name(c.result_dtype());
  if (c.node().op.ends_with("Like")) {
    return fmt::format("{}_like({}, dtype={})", function, c.in(0), dtype);
  }
  return fmt::format("{}({}, dtype={})", function, python_tuple(c.ints_attribute("shape")), dtype);
}

}  // namespace

std::string dropout(const Call& c) {
  const DropoutFacts facts = dropout_facts(c);
  if (c.node().outputs().size() > 1) {
    return fmt::format("{}({}, {}, {})", c.function("dropout"), c.in(0), facts.ratio,
                       facts.training);
  }
  if (facts.training == "False") return c.in(0);
  return fmt::format("{}.dropout({}, {}, {})", c.module("F"), c.in(0), facts.ratio, facts.training);
}

std::string multinomial(const Call& c) {
  return fmt::format("torch.multinomial(torch.softmax({}, 1), {}, replacement=True).to({})",
                     c.in(0), c.int_attribute("sample_size", 1), c.dtype_name(c.result_dtype()));
}

std::string random_normal(const Call& c) {
  return fmt::format(
      "{} + {} * {}", python_float(static_cast<double>(c.node().float_or("mean", 0))),
      python_float(static_cast<double>(c.node().float_or("scale", 1))), drawn(c, "torch.randn"));
}

std::string random_uniform(const Call& c) {
  const auto low = static_cast<double>(c.node().float_or("low", 0));
  const auto high = static_cast<double>(c.node().float_or("high", 1));
  return fmt::format("{} + {} * {}", python_float(low), python_float(high - low),
                     drawn(c, "torch.rand"));
}

}  // namespace onward::emit::torch
