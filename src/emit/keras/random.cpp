#include <fmt/format.h>

#include "emit/keras/calls.h"
#include "emit/node_facts.h"

namespace onward::emit::keras {
namespace {

// Keras draws its own numbers: a seed of the model would give others there, so that it is left to
// the framework's own seeding.

std::string shape_and_type(const Call& c) {
  const bool is_like = c.node().op.ends_with("Like");
  const std::string shape =
      is_like ? fmt::format("ops.shape({})", c.in(0)) : python_tuple(c.ints_attribute("shape"));
  return fmt::format("{}, dtype={}", shape, c.dtype_name(c.result_dtype()));
}

}  // namespace

std::string dropout(const Call& c) {
  const DropoutFacts facts = dropout_facts(c);
  if (c.node().outputs().size() == 1 && facts.training == "False") return c.in(0);
  const std::string both =
      fmt::format("{}({}, {}, {})", c.function("dropout"), c.in(0), facts.ratio, facts.training);
  return c.node().outputs().size() > 1 ? both : both + "[0]";
}

std::string multinomial(const Call& c) {
  return fmt::format("keras.random.categorical({}, {}, dtype={})", c.in(0),
                     c.int_attribute("sample_size", 1), c.dtype_name(c.result_dtype()));
}

std::string random_normal(const Call& c) {
  return fmt::format("keras.random.normal({}, mean={}, stddev={})", shape_and_type(c),
                     python_float(static_cast<double>(c.node().float_or("mean", 0))),
                     python_float(static_cast<double>(c.node().float_or("scale", 1))));
}

std::string random_uniform(const Call& c) {
  return fmt::format("keras.random.uniform({}, minval={}, maxval={})", shape_and_type(c),
                     python_float(static_cast<double>(c.node().float_or("low", 0))),
                     python_float(static_cast<double>(c.node().float_or("high", 1))));
}

}  // namespace onward::emit::keras
