#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "onward/error.h"
#include "opset/lift_steps.h"

namespace onward {
namespace {

using Strings = std::vector<std::string>;

// The type of X told whether strings became their places among the classes, or places strings. Of
// classes of the same name, runtimes take the last where others would find the first.
void turn_classes_into_keys(Rewrite& rewrite) {
  Node& node = rewrite.node();
  const Value* x = node.input(0);
  if (!x->type.is_tensor() || x->type.dtype == DType::undefined) {
    throw Error(fmt::format("the element type of '{}' is not known", x->name()));
  }
  const auto* given = node.get<Strings>("classes_strings");
  if (!given) throw Error("it has no classes_strings");
  const Strings classes = *given;
  std::vector<int64_t> places(classes.size());
  std::iota(places.begin(), places.end(), 0);
  const bool from_strings = x->type.dtype == DType::string;
  if (from_strings) {
    Strings sorted = classes;
    std::ranges::sort(sorted);
    const auto twice = std::ranges::adjacent_find(sorted);
    if (twice != sorted.end()) throw Error(fmt::format("class '{}' has two places", *twice));
  }
  node.remove_attribute("classes_strings");
  node.remove_attribute(from_strings ? "default_string" : "default_int64");
  if (from_strings) {
    set_attribute(node, "keys_strings", classes);
    set_attribute(node, "values_int64s", places);
  } else {
    set_attribute(node, "keys_int64s", places);
    set_attribute(node, "values_strings", classes);
  }
}

constexpr LiftStep kMlSteps[] = {
    {.op = "LabelEncoder",
     .from = 1,
     .to = 2,
     .rule = turn_classes_into_keys,
     .reads_types = true,
     .domain = "ai.onnx.ml"},
};

}  // namespace

std::span<const LiftStep> ml_lift_steps() { return kMlSteps; }

}  // namespace onward
