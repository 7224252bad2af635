#pragma once

#include "emit/dialect.h"

namespace onward::emit {

// layers.cpp
Layer keras_layer(const Pattern& pattern, const TrainingFacts& training, SourceContext& context);
std::optional<Layer> keras_plain_layer(const Node& node, std::string_view kind,
                                       SourceContext& context);
std::string_view keras_activation(const Node& node);
std::vector<Pattern> keras_patterns(const Graph& graph, const Known& known);
// recurrent.cpp
Layer keras_recurrent_layer(const Pattern& pattern, const TrainingFacts& training,
                            SourceContext& context);
void keras_recurrent(const Pattern& pattern, const Layer& layer, Body& body);
// classes.cpp
std::string keras_classes(const SourceParts& parts, const std::string& name);

namespace keras {

// example.cpp
std::optional<std::string> example(const SourceParts& parts);
// load_and_save.cpp
std::string load_and_save(const SourceParts& parts, const std::string& name);
std::string load_and_save_job(const SourceParts& parts, const std::string& name,
                              const LossText& loss, const OptimizerText& optimizer);
// loss.cpp
LossText loss(const Job& job, SourceContext& context);
/// Whether Keras's own loss reads what the model's last Softmax or Sigmoid does, as the job's does,
/// where it is given what that gives: Keras on TensorFlow looks through it.
bool looks_through(const Job& job);
// optimizer.cpp
OptimizerText optimizer(const Job& job);

const Dialect& dialect();

}  // namespace keras
}  // namespace onward::emit
