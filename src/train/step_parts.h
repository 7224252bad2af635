#pragma once

#include <span>

#include "ir/model.h"

namespace onward {

/// A graph of the model alone, lifted and with its gradients written out, as a model of its own:
/// the inference graph, or an initialization.
Model graph_alone(const Model& model, const Graph& graph);

/// The part of a step that computes these values, which become its outputs; with what its update
/// bindings need where they are kept. Nothing else is computed: an algorithm with a forward of its
/// own does not need the inference graph's.
enum class Updates : uint8_t { kept, dropped };
Model part_for(const Model& step, std::span<Value* const> outputs, Updates updates);

/// Lets Dropout and BatchNormalization do what they do in inference: a loss is then that of the
/// model as it will be used.
void use_inference_mode(Model& step);

/// The value of that name in the step's top-level graph, or null.
Value* find_value(const Model& step, std::string_view name);

}  // namespace onward
