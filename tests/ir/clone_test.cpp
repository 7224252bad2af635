// A copy of a node says all that the node says.

#include "ir/clone.h"

#include <gtest/gtest.h>

#include "format/load.h"

namespace onward {
namespace {

TEST(Clone, KeepsAllThatANodeSays) {
  Model model = parse_text(R"(<ir_version: 8, opset_import: ["" : 17]>
g (float[2] x) => (float[2] y) { [n] y = LeakyRelu<alpha = 0.5>(x) })");
  Node& node = *model.graph->nodes().front();
  node.doc = "what it is for";
  node.metadata = {{"key", "value"}};
  node.output(0)->doc = "what comes out";
  node.output(0)->metadata = {{"of", "the value"}};
  Graph to;
  ValueMap map;
  const Node* copy = clone_node(node, to, map);
  EXPECT_EQ(copy->op, "LeakyRelu");
  EXPECT_EQ(copy->name, "n");
  EXPECT_EQ(copy->opset, 17);
  EXPECT_EQ(copy->doc, node.doc);
  EXPECT_EQ(copy->metadata, node.metadata);
  EXPECT_EQ(copy->float_or("alpha", 0), 0.5F);
  EXPECT_EQ(copy->output(0)->name(), "y");
  EXPECT_EQ(copy->output(0)->doc, node.output(0)->doc);
  EXPECT_EQ(copy->output(0)->metadata, node.output(0)->metadata);
  EXPECT_EQ(to_string(copy->output(0)->type), to_string(node.output(0)->type));
  EXPECT_EQ(mapped(map, node.output(0)), copy->output(0));
}

}  // namespace
}  // namespace onward
