#pragma once

#include "passes/step_part.h"

namespace onward {

/// A graph of the model alone, lifted and with its gradients written out, as a model of its own:
/// the inference graph, or an initialization.
Model graph_alone(const Model& model, const Graph& graph);

/// Lets Dropout and BatchNormalization do what they do in inference: a loss is then that of the
/// model as it will be used.
void use_inference_mode(Model& step);

}  // namespace onward
