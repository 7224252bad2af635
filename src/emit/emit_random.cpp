#include <fmt/format.h>

#include "emit/emitters.h"
#include "onward/error.h"

namespace onward::emit {
namespace {

// Each framework draws its own numbers: a seed of the model would give others there, so that it is
// left to the framework's own seeding.

bool is_like(const Call& c) { return c.node().op.ends_with("Like"); }

/// "torch.randn_like(x, dtype=...)" or "torch.randn((2, 3), dtype=...)".
std::string torch_drawn(const Call& c, std::string_view function) {
  const std::string dtype = c.dtype_name(c.result_dtype());
  if (is_like(c)) return fmt::format("{}_like({}, dtype={})", function, c.in(0), dtype);
  return fmt::format("{}({}, dtype={})", function, python_tuple(c.ints_attribute("shape")), dtype);
}

std::string keras_shape_and_type(const Call& c) {
  const std::string shape =
      is_like(c) ? fmt::format("ops.shape({})", c.in(0)) : python_tuple(c.ints_attribute("shape"));
  return fmt::format("{}, dtype={}", shape, c.dtype_name(c.result_dtype()));
}

struct DropoutFacts {
  std::string ratio = "0.5";
  std::string training = "False";
};

DropoutFacts dropout_facts(const Call& c) {
  DropoutFacts facts;
  if (c.has(1)) facts.ratio = c.scalar(1);
  if (c.has(2)) facts.training = c.scalar(2);
  return facts;
}

}  // namespace

std::string torch_dropout(const Call& c) {
  const DropoutFacts facts = dropout_facts(c);
  if (c.node().outputs().size() > 1) {
    return fmt::format("{}({}, {}, {})", c.function("dropout"), c.in(0), facts.ratio,
                       facts.training);
  }
  if (facts.training == "False") return c.in(0);
  return fmt::format("F.dropout({}, {}, {})", c.in(0), facts.ratio, facts.training);
}

std::string keras_dropout(const Call& c) {
  const DropoutFacts facts = dropout_facts(c);
  if (c.node().outputs().size() == 1 && facts.training == "False") return c.in(0);
  const std::string both =
      fmt::format("{}({}, {}, {})", c.function("dropout"), c.in(0), facts.ratio, facts.training);
  return c.node().outputs().size() > 1 ? both : both + "[0]";
}

std::string torch_random_normal(const Call& c) {
  return fmt::format("{} + {} * {}",
                     python_float(static_cast<double>(c.node().float_or("mean", 0))),
                     python_float(static_cast<double>(c.node().float_or("scale", 1))),
                     torch_drawn(c, "torch.randn"));
}

std::string keras_random_normal(const Call& c) {
  return fmt::format("keras.random.normal({}, mean={}, stddev={})", keras_shape_and_type(c),
                     python_float(static_cast<double>(c.node().float_or("mean", 0))),
                     python_float(static_cast<double>(c.node().float_or("scale", 1))));
}

std::string torch_random_uniform(const Call& c) {
  const auto low = static_cast<double>(c.node().float_or("low", 0));
  const auto high = static_cast<double>(c.node().float_or("high", 1));
  return fmt::format("{} + {} * {}", python_float(low), python_float(high - low),
                     torch_drawn(c, "torch.rand"));
}

std::string keras_random_uniform(const Call& c) {
  return fmt::format("keras.random.uniform({}, minval={}, maxval={})", keras_shape_and_type(c),
                     python_float(static_cast<double>(c.node().float_or("low", 0))),
                     python_float(static_cast<double>(c.node().float_or("high", 1))));
}

}  // namespace onward::emit
