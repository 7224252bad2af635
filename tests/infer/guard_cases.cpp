#include "tests/infer/guard_cases.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "format/load.h"
#include "infer/infer.h"

namespace onward {

Model model_of(int opset, const std::string& graph) {
  Problems ignored;
  return parse_text(fmt::format("<ir_version: 10, opset_import: [\"\" : {}]>\n{}", opset, graph),
                    {.problems = &ignored});
}

void expect_refusals(std::span<const GuardCase> cases) {
  for (const GuardCase& test : cases) {
    SCOPED_TRACE(test.name);
    Model model = model_of(test.opset, test.graph);
    Problems problems;
    infer_types(model, problems);
    ASSERT_EQ(problems.list().size(), 1);
    EXPECT_EQ(problems.list()[0].rule, test.rule);
    EXPECT_EQ(problems.list()[0].message, test.message);
  }
}

void expect_right(std::span<const RightNode> nodes) {
  for (const RightNode& test : nodes) {
    SCOPED_TRACE(test.graph);
    Model model = model_of(test.opset, test.graph);
    Problems problems;
    infer_types(model, problems);
    for (const Problem& problem : problems.list()) ADD_FAILURE() << to_string(problem);
    if (!test.type) continue;
    EXPECT_EQ(to_string(model.graph->outputs()[0]->type), test.type);
  }
}

}  // namespace onward
