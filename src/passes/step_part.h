#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ir/model.h"

namespace onward {

/// A model of the same opsets with a graph of the same name, and nothing in it.
Model empty_like(const Model& model);

/// The part of a step that computes these values, which become its outputs; with what its update
/// bindings need where they are kept. Nothing else is computed: an algorithm with a forward of its
/// own does not need the inference graph's.
enum class Updates : uint8_t { kept, dropped };
Model part_for(const Model& step, std::span<Value* const> outputs, Updates updates);

/// The value of that name in the step's top-level graph, or null.
Value* find_value(const Model& step, std::string_view name);

}  // namespace onward
