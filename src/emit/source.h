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

/// model.py: the class, its loss and optimizer, load and save.
std::string torch_source(const SourceParts& parts);
std::string keras_source(const SourceParts& parts);

/// example.py: one training step on made-up data; nothing where the shapes of the data are unknown.
/// Only for a job.
std::optional<std::string> example_source(Target target, const SourceParts& parts);

/// The inputs of a graph that a call must give.
std::vector<const Value*> real_inputs(const Graph& graph);

/// Lines with four more spaces each, empty ones left empty.
std::string indented(const std::vector<std::string>& lines, int depth);

/// "import math" and the like, one a line, for those of `modules` that the text uses.
std::string imports_used(std::string_view text, std::span<const std::string_view> modules);

/// Stands for the class's name in a source, until `with_class_name` gives it one.
inline constexpr std::string_view kClassName = "@Class@";

/// The code with the class called as near to `wanted` as nothing else in it is called.
std::string with_class_name(std::string code, const std::string& wanted);

/// The first lines of model.py: what it is, and what it was written from.
std::string first_lines(const SourceParts& parts, std::string_view framework,
                        std::string_view more);

}  // namespace onward::emit
