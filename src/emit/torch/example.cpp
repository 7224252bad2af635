#include <fmt/format.h>

#include "emit/job.h"
#include "emit/source.h"
#include "emit/torch/dialect.h"

namespace onward::emit::torch {
namespace {

constexpr std::string_view kExample =
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

# Writes both files of tensors anew; `onward import-weights` brings them back into the ONNX model.
save(model, optimizer)
)";

constexpr ExampleWords kWords = {
    .floats = "torch.rand({}, dtype={})",
    .integers = "torch.randint({}, {}, dtype={})",
    .names = "torch",
};

}  // namespace

std::optional<std::string> example(const SourceParts& parts) {
  const auto data = example_data(parts, kWords);
  if (!data) return std::nullopt;
  const bool several = parts.job->predictions.size() > 1;
  const std::string call =
      fmt::format("{}model({}){}{}", several ? "*" : "", fmt::join(data->inputs, ", "),
                  data->labels.empty() ? "" : ", ", fmt::join(data->labels, ", "));
  return fmt::format(kExample, data->lines, call);
}

}  // namespace onward::emit::torch
