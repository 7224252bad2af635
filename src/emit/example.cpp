// example.py: one training step on made-up data, for the reader to put their own in.

#include <fmt/format.h>

#include "emit/job.h"
#include "emit/source.h"

namespace onward::emit {
namespace {

constexpr int64_t kMadeUpSize = 8;  // of dimensions that the model leaves open

/// "(8, 1, 28, 28)", or nothing where the rank is unknown.
std::optional<std::string> sizes(const Type& type) {
  if (!type.shape) return std::nullopt;
  std::vector<int64_t> dims;
  for (const Dim& dim : *type.shape) dims.push_back(dim.value.value_or(kMadeUpSize));
  return python_tuple(dims);
}

/// Integers stay below what a cross entropy takes for a class.
int64_t highest(const Value& value, const Job& job) {
  const bool is_class = job.loss && job.loss->label == Label::classes && job.labels.at(0) == &value;
  const auto& shape = job.predictions[0]->type.shape;
  const bool known = is_class && shape && shape->size() > 1 && (*shape)[1].value;
  return known ? *(*shape)[1].value : 2;
}

std::optional<std::string> made_up(Target target, const Value& value, const Job& job) {
  const auto shape = sizes(value.type);
  if (!shape) return std::nullopt;
  const std::string dtype = python_dtype(value.type.dtype);
  if (target == Target::torch) {
    if (is_float(value.type.dtype)) {
      return fmt::format("torch.rand({}, dtype=torch.{})", *shape, dtype);
    }
    return fmt::format("torch.randint({}, {}, dtype=torch.{})", highest(value, job), *shape, dtype);
  }
  if (is_float(value.type.dtype)) {
    return fmt::format("random.uniform(size={}).astype(\"{}\")", *shape, dtype);
  }
  return fmt::format("random.integers({}, size={}).astype(\"{}\")", highest(value, job), *shape,
                     dtype);
}

constexpr std::string_view kTorch =
    R"("""One training step on made-up data: put yours in its place."""

import torch

from model import load, save

model, loss_function, optimizer = load()
model.train()
{0}
optimizer.zero_grad()
loss = loss_function({1})
loss.backward()
optimizer.step()
print(f"loss {{loss.item():.6f}}")

# Writes both files of tensors anew; `onward take` brings them back into the ONNX model.
save(model, optimizer)
)";

constexpr std::string_view kKeras =
    R"("""One training step on made-up data: put yours in its place."""

import numpy as np

from model import load, save

model, loss_function, optimizer = load()
random = np.random.default_rng(0)
{0}
loss = model.train_on_batch({1})
print(f"loss {{loss:.6f}}")

# Writes both files of tensors anew; `onward take` brings them back into the ONNX model.
save(model, optimizer)
)";

}  // namespace

std::optional<std::string> example_source(Target target, const SourceParts& parts) {
  PythonNames names;
  for (const std::string_view word :
       {"model", "load", "save", "loss", "loss_function", "np", "optimizer", "random", "torch"}) {
    names.reserve(word);
  }
  std::string lines = "\n";
  const auto variables = [&](const std::vector<const Value*>& values) -> std::vector<std::string> {
    std::vector<std::string> made;
    for (const Value* value : values) {
      const auto text = made_up(target, *value, *parts.job);
      if (!text) return {};
      made.push_back(names.fresh(value->name()));
      lines += fmt::format("{} = {}\n", made.back(), *text);
    }
    return made;
  };
  const auto inputs = variables(real_inputs(*parts.graph)), labels = variables(parts.job->labels);
  if (inputs.empty() || labels.size() != parts.job->labels.size()) return std::nullopt;
  const std::string all_inputs = fmt::format("{}", fmt::join(inputs, ", "));
  const std::string all_labels = fmt::format("{}", fmt::join(labels, ", "));
  if (target == Target::torch) {
    const bool several = parts.job->predictions.size() > 1;
    const std::string call = fmt::format("{}model({}){}{}", several ? "*" : "", all_inputs,
                                         labels.empty() ? "" : ", ", all_labels);
    return fmt::format(kTorch, lines, call);
  }
  const std::string x = inputs.size() == 1 ? all_inputs : fmt::format("[{}]", all_inputs);
  return fmt::format(kKeras, lines, fmt::format("{}, {}", x, all_labels));
}

}  // namespace onward::emit
