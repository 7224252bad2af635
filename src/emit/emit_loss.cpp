#include <fmt/format.h>

#include "emit/emitters.h"

namespace onward::emit {
namespace {

/// ", weight=w, ignore_index=-1, reduction=\"sum\"", without what is the default.
std::string options(const Call& c) {
  std::string text;
  if (c.has(2)) text += ", weight=" + c.in(2);
  if (const auto* ignored = c.node().get<int64_t>("ignore_index")) {
    text += fmt::format(", ignore_index={}", *ignored);
  }
  const std::string reduction = c.node().string_or("reduction", "mean");
  if (reduction != "mean") text += fmt::format(", reduction={}", python_string(reduction));
  return text;
}

/// Torch takes labels of 64 bits only.
std::string torch_labels(const Call& c) {
  return c.dtype(1) == DType::i64 ? c.in(1) : c.in(1) + ".long()";
}

std::string with_log_prob(const Call& c, const std::string& loss, const std::string& log_prob) {
  return c.node().outputs().size() > 1 ? fmt::format("{}, {}", loss, log_prob) : loss;
}

}  // namespace

std::string torch_cross_entropy(const Call& c) {
  return with_log_prob(
      c, fmt::format("F.cross_entropy({}, {}{})", c.in(0), torch_labels(c), options(c)),
      fmt::format("F.log_softmax({}, dim=1)", c.in(0)));
}

std::string keras_cross_entropy(const Call& c) {
  const std::string log_prob = fmt::format("ops.log_softmax({}, axis=1)", c.in(0));
  return with_log_prob(c,
                       fmt::format("{}({}, {}{})", c.function("negative_log_likelihood"), log_prob,
                                   c.in(1), options(c)),
                       log_prob);
}

std::string torch_nll_loss(const Call& c) {
  return fmt::format("F.nll_loss({}, {}{})", c.in(0), torch_labels(c), options(c));
}

std::string keras_nll_loss(const Call& c) {
  return fmt::format("{}({}, {}{})", c.function("negative_log_likelihood"), c.in(0), c.in(1),
                     options(c));
}

}  // namespace onward::emit
