// Every version of every operator with odd numbers, shapes and attributes: lifting refuses or gives
// what the newest schema allows, and never crashes.

#include <gtest/gtest.h>
#include <onnx/defs/schema.h>

#include <optional>
#include <string>

#include "opset/lift.h"
#include "tests/support/random_node.h"

namespace onward {
namespace {

std::optional<std::string> breach(const Node& node, const onnx::OpSchema& schema) {
  const auto inputs = static_cast<int>(node.inputs().size());
  const auto outputs = static_cast<int>(node.outputs().size());
  // The trees of ai.onnx.ml are read in the form that the standard advises against.
  if (schema.deprecated() && schema.domain().empty()) return "it is deprecated";
  if (inputs < schema.min_input() || inputs > schema.max_input()) return "number of inputs";
  if (outputs < schema.min_output() || outputs > schema.max_output()) return "number of outputs";
  for (const Attribute& attribute : node.attributes()) {
    if (!schema.attributes().contains(attribute.name)) return "unknown " + attribute.name;
  }
  for (const auto& [name, attribute] : schema.attributes()) {
    if (attribute.required && !node.attribute(name)) return "no " + name;
  }
  return std::nullopt;
}

bool is_newest(const onnx::OpSchema& schema) {
  const auto newest = static_cast<int>(newest_opset(schema.domain()).value());
  return onnx::OpSchemaRegistry::Schema(schema.Name(), newest, schema.domain())->since_version() ==
         schema.since_version();
}

TEST(LiftRandom, GivesWhatTheNewestSchemaAllows) {
  constexpr int kRounds = 50;
  const auto schemas = onnx::OpSchemaRegistry::get_all_schemas_with_history();
  RandomNode random(1);
  int lifted = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (const onnx::OpSchema& schema : schemas) {
      if (is_newest(schema)) continue;  // stays as it is, whatever it is
      Model model = random.make(schema);
      if (!lift_where_possible(model).empty()) continue;
      ++lifted;
      for (const auto& node : model.graph->nodes()) {
        const auto newest = newest_opset(node->domain).value();
        ASSERT_EQ(node->opset, newest);
        const auto* last =
            onnx::OpSchemaRegistry::Schema(node->op, static_cast<int>(newest), node->domain);
        ASSERT_EQ(breach(*node, *last), std::nullopt)
            << schema.Name() << " of opset " << schema.since_version();
      }
    }
  }
  EXPECT_GT(lifted, kRounds * 300);  // of 482 old forms each round
}

}  // namespace
}  // namespace onward
