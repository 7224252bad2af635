#include <fmt/format.h>

#include "emit/job.h"
#include "emit/keras/dialect.h"
#include "emit/source.h"

namespace onward::emit::keras {
namespace {

constexpr std::string_view kExample =
    R"("""One training step on made-up data: put yours in its place."""

import numpy as np

from model import load, save

model, loss_function, optimizer = load()
random = np.random.default_rng(0)
{0}
loss = model.train_on_batch({1})
print(f"loss {{loss:.6f}}")

# Writes both files of tensors anew; `onward import-weights` brings them back into the ONNX model.
save(model, optimizer)
)";

constexpr ExampleWords kWords = {
    .floats = "random.uniform(size={}).astype({})",
    .integers = "random.integers({}, size={}).astype({})",
    .names = "np random",
};

}  // namespace

std::optional<std::string> example(const SourceParts& parts) {
  const auto data = example_data(parts, kWords);
  if (!data) return std::nullopt;
  const std::string inputs = fmt::format("{}", fmt::join(data->inputs, ", "));
  const std::string x = data->inputs.size() == 1 ? inputs : fmt::format("[{}]", inputs);
  return fmt::format(kExample, data->lines,
                     fmt::format("{}, {}", x, fmt::join(data->labels, ", ")));
}

}  // namespace onward::emit::keras
