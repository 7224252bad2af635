#pragma once

// The source files of an export.

#include <optional>
#include <string>

#include "emit/module.h"

namespace onward::emit {

struct Job;

/// What a source is made from.
struct SourceParts {
  const Graph* graph;      // the inference graph, lifted
  Module* module;          // of that graph
  const Job* job;          // null for a model without training
  std::string model_file;  // what it was exported from, for the first lines
};

/// model.py: helpers, the module, its loss and optimizer, load and save. Throws an Error that names
/// everything that cannot be expressed.
std::string write_source(const Dialect& dialect, const SourceParts& parts);

/// What an example reads, made up: a line for each variable.
struct ExampleData {
  std::string lines;
  std::vector<std::string> inputs, labels;
};

/// How made-up data is written: a pattern for floats, of shape and type, and one for integers, of
/// what they stay below, shape and type.
struct ExampleWords {
  std::string_view floats, integers;
  std::string_view names;  // of variables that the example has besides
};

/// Data for example.py, one training step; nothing where the shapes are unknown. Only for a job.
std::optional<ExampleData> example_data(const SourceParts& parts, const ExampleWords& words);

/// The inputs of a graph that a call must give.
std::vector<const Value*> real_inputs(const Graph& graph);

/// Lines with four more spaces each, empty ones left empty.
std::string indented(const std::vector<std::string>& lines, int depth);

}  // namespace onward::emit
