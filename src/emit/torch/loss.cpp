// Losses: as nodes of a model, and as a job's.

#include "emit/loss.h"

#include <fmt/format.h>

#include "emit/shared_calls.h"
#include "emit/source.h"
#include "emit/torch/calls.h"
#include "emit/torch/dialect.h"

namespace onward::emit::torch {
namespace {

/// The label that nn.CrossEntropyLoss ignores unless it is told of another.
constexpr int64_t kUsuallyIgnored = -100;

/// Torch takes labels of 64 bits only.
std::string labels(const Call& c) {
  return c.dtype(1) == DType::i64 ? c.in(1) : c.in(1) + ".long()";
}

LossText written(const Job& job, SourceContext& context) {
  const LossFunction function = write_loss(job, context);
  std::vector<std::string> arguments = function.predictions;
  arguments.insert(arguments.end(), function.labels.begin(), function.labels.end());
  return {fmt::format("def loss_function({}):\n{}    return {}\n", fmt::join(arguments, ", "),
                      indented(function.lines, 1), function.result),
          "loss_function"};
}

}  // namespace

std::string cross_entropy(const Call& c) {
  const std::string f = c.module("F");
  return with_log_prob(
      c, fmt::format("{}.cross_entropy({}, {}{})", f, c.in(0), labels(c), loss_options(c)),
      fmt::format("{}.log_softmax({}, dim=1)", f, c.in(0)));
}

std::string nll_loss(const Call& c) {
  return fmt::format("{}.nll_loss({}, {}{})", c.module("F"), c.in(0), labels(c), loss_options(c));
}

LossText loss(const Job& job, SourceContext& context) {
  if (!job.has_plain_loss || job.loss->torch.name.empty()) return written(job, context);
  std::vector<std::string> arguments;
  if (job.ignore_index.value_or(kUsuallyIgnored) != kUsuallyIgnored) {
    arguments.push_back(fmt::format("ignore_index={}", *job.ignore_index));
  }
  if (job.reduction == Reduction::sum) arguments.emplace_back("reduction=\"sum\"");
  return {{}, fmt::format("nn.{}({})", job.loss->torch.name, fmt::join(arguments, ", "))};
}

}  // namespace onward::emit::torch
