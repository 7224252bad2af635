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

std::optional<std::string> made_up(const ExampleWords& words, const Value& value,
                                   const SourceParts& parts) {
  const auto shape = sizes(value.type);
  if (!shape) return std::nullopt;
  const std::string dtype = dtype_text(*parts.module->context().dialect, value.type.dtype);
  if (is_float(value.type.dtype)) return fmt::format(fmt::runtime(words.floats), *shape, dtype);
  return fmt::format(fmt::runtime(words.integers), highest(value, *parts.job), *shape, dtype);
}

}  // namespace

std::optional<ExampleData> example_data(const SourceParts& parts, const ExampleWords& words) {
  PythonNames names;
  for (const std::string_view word :
       {"model", "load", "save", "loss", "loss_function", "optimizer"}) {
    names.reserve(word);
  }
  for (const std::string_view word : words_of(words.names)) names.reserve(word);
  ExampleData data;
  data.lines = "\n";
  const auto add = [&](const Value* value, std::vector<std::string>& variables) {
    const auto text = made_up(words, *value, parts);
    if (!text) return false;
    variables.push_back(names.fresh(value->name()));
    data.lines += fmt::format("{} = {}\n", variables.back(), *text);
    return true;
  };
  for (const Value* input : real_inputs(*parts.graph)) {
    if (!add(input, data.inputs)) return std::nullopt;
  }
  for (const Value* label : parts.job->labels) {
    if (!add(label, data.labels)) return std::nullopt;
  }
  if (data.inputs.empty()) return std::nullopt;
  return data;
}

}  // namespace onward::emit
