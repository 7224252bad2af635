#pragma once

#include "emit/dialect.h"

namespace onward::emit {

// layers.cpp
Layer torch_layer(const Pattern& pattern, const TrainingFacts& training, SourceContext& context);
std::optional<Layer> torch_plain_layer(const Node& node, std::string_view kind,
                                       SourceContext& context);
// classes.cpp
std::string torch_classes(const SourceParts& parts, const std::string& name);

// recurrent.cpp
Layer torch_recurrent_layer(const Pattern& pattern);
void torch_recurrent(const Pattern& pattern, const Layer& layer, Body& body);

namespace torch {

// clamp.cpp
std::optional<Idiom> idiom(const Node& node, const Known& known);
// example.cpp
std::optional<std::string> example(const SourceParts& parts);
// load_and_save.cpp
std::string load_and_save(const SourceParts& parts, const std::string& name);
std::string load_and_save_job(const SourceParts& parts, const std::string& name,
                              const LossText& loss, const OptimizerText& optimizer);
// loss.cpp
LossText loss(const Job& job, SourceContext& context);
// optimizer.cpp
OptimizerText optimizer(const Job& job);

const Dialect& dialect();

}  // namespace torch
}  // namespace onward::emit
