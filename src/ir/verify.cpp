#include "ir/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

namespace onward {
namespace {

class Verification {
 public:
  std::vector<std::string> run(const Graph& graph) {
    if (graph.inside()) add_around(*graph.inside());
    visit(graph);
    return std::move(faults_);
  }

 private:
  void add_around(const Graph& graph) {
    if (graph.inside()) add_around(*graph.inside());
    define_leaves(graph);
    for (const auto& node : graph.nodes()) define_outputs(*node);
  }

  void visit(const Graph& graph) {
    define_leaves(graph);
    for (const auto& node : graph.nodes()) {
      const auto reads = [&](const Value* value, int input) { check_read(*node, value, input); };
      for (size_t i = 0; i < node->inputs().size(); ++i) {
        if (node->input(i)) reads(node->input(i), static_cast<int>(i));
      }
      for (const Attribute& attribute : node->attributes()) {
        const auto* references = std::get_if<References>(&attribute.value);
        if (!references) continue;
        for (const Value* value : references->values) reads(value, -1);
      }
      for (const Graph* subgraph : node->subgraphs()) visit_subgraph(*subgraph);
      define_outputs(*node);
    }
    for (const Value* output : graph.outputs()) {
      if (!defined_.contains(output)) {
        faults_.push_back(fmt::format("the output '{}' is not computed", output->name()));
      }
    }
  }

  /// Nobody outside of a subgraph sees its values, and the other branch may use their names.
  void visit_subgraph(const Graph& graph) {
    const auto defined = defined_;
    const auto names = names_;
    visit(graph);
    defined_ = defined;
    names_ = names;
  }

  void check_read(const Node& node, const Value* value, int input) {
    if (!defined_.contains(value)) {
      faults_.push_back(fmt::format("node '{}' ({}) reads '{}' before it is computed", node.label(),
                                    node.op, value->name()));
    }
    const bool known = std::ranges::any_of(
        value->uses(), [&](const Use& use) { return use.node == &node && use.input == input; });
    if (!known) {
      faults_.push_back(fmt::format("'{}' does not know that node '{}' ({}) reads it",
                                    value->name(), node.label(), node.op));
    }
  }

  void define_leaves(const Graph& graph) {
    for (const Value* input : graph.inputs()) define(*input);
    for (const Value* initializer : graph.initializers()) {
      if (!initializer->is_input()) define(*initializer);
    }
  }

  void define_outputs(const Node& node) {
    for (const auto& output : node.outputs()) {
      if (output) define(*output);
    }
  }

  void define(const Value& value) {
    defined_.insert(&value);
    if (!names_.insert(value.name()).second) {
      faults_.push_back(fmt::format("two values are called '{}'", value.name()));
    }
  }

  std::unordered_set<const Value*> defined_;
  std::unordered_set<std::string> names_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> structure_faults(const Graph& graph) { return Verification().run(graph); }

}  // namespace onward
