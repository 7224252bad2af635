#include "data/input_types.h"

#include <fmt/format.h>

#include <ranges>

#include "data/convert.h"
#include "onward/error.h"

namespace onward {

InputTypes::InputTypes(const Model& model) {
  for_each_top_level_graph(model, [&](const Graph& graph, GraphRole) {
    for (const Value* input : graph.inputs()) types_.emplace(input->name(), input->type);
  });
}

Arrays InputTypes::fitted(Arrays arrays) const {
  for (auto& [name, array] : arrays) {
    const auto input = types_.find(name);
    if (input == types_.end()) {
      throw Error(fmt::format("the model has no input '{}': it has '{}'", name,
                              fmt::join(std::views::keys(types_), "', '")));
    }
    try {
      array = onward::fitted(array, input->second);
    } catch (Error& error) {
      throw error.add_context(
          fmt::format("in the array for '{}' {}", name, to_string(input->second)));
    }
  }
  return arrays;
}

}  // namespace onward
