#include "lower/shapes.h"

namespace onward {
namespace {

/// The shape to reshape to, with -1 for the one dimension that may be unknown; nothing where there
/// are more, or where a zero would make it ambiguous.
std::optional<std::vector<int64_t>> settled(const Value& result) {
  if (!result.type.shape) return std::nullopt;
  std::vector<int64_t> dims;
  int open = 0;
  for (const Dim& dim : *result.type.shape) {
    if (dim.value == 0) return std::nullopt;
    dims.push_back(dim.value.value_or(-1));
    if (!dim.value) ++open;
  }
  return open <= 1 ? std::optional(dims) : std::nullopt;
}

}  // namespace

void settle_shapes(PassContext& c) {
  for (const auto& node : c.graph.nodes()) {
    if (node->op != "Reshape" || !node->domain.empty()) continue;
    const auto dims = settled(*node->output(0));
    if (!dims) continue;
    const Tensor shape = Tensor::of<int64_t>({static_cast<int64_t>(dims->size())}, *dims);
    Value* constant =
        c.graph.add_initializer(c.names.fresh(node->output(0)->name() + "_shape"), shape);
    constant->type = shape.type();
    node->set_input(1, constant);
    node->remove_attribute("allowzero");
  }
}

}  // namespace onward
