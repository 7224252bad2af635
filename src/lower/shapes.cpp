#include "lower/shapes.h"

#include <fmt/format.h>

#include "onward/error.h"
#include "ops/op_def.h"
#include "ops/window.h"

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

bool covers_its_input(const Node& node) {
  return has_traits(node, kWindows) && node.string_or("auto_pad", "").starts_with("SAME");
}

/// The sizes of a value behind the first two dimensions, where all are known.
std::optional<std::vector<int64_t>> spatial_dims(const Value& value) {
  if (!value.type.shape || value.type.shape->size() < 2) return std::nullopt;
  std::vector<int64_t> dims;
  for (const Dim& dim : std::span(*value.type.shape).subspan(2)) {
    if (!dim.value) return std::nullopt;
    dims.push_back(*dim.value);
  }
  return dims;
}

/// Whether runtimes agree on the padding, whatever the sizes are.
bool is_plain(const Node& node, const std::optional<std::vector<int64_t>>& kernel) {
  for (const char* name : {"strides", "dilations"}) {
    const auto* given = node.get<std::vector<int64_t>>(name);
    for (size_t d = 0; given && d < given->size(); ++d) {
      const bool is_stride = std::string_view(name) == "strides";
      if ((*given)[d] > (is_stride && kernel ? kernel->at(d) : 1)) return false;
    }
  }
  return true;
}

void settle_window(Node& node) {
  const auto* shape = node.get<std::vector<int64_t>>("kernel_shape");
  const auto kernel = shape ? std::optional(*shape) : spatial_dims(*node.input(1));
  const auto spatial = spatial_dims(*node.input(0));
  if (!kernel || !spatial) {
    if (is_plain(node, kernel)) return;
    throw Error(
        fmt::format("node '{}' ({}): the size of '{}' must be known to compute its padding {}",
                    node.label(), node.op, node.input(0)->name(), node.string_or("auto_pad", "")));
  }
  const Window window = read_window(node, *spatial, *kernel);
  std::vector<int64_t> pads = window.before;
  pads.insert(pads.end(), window.after.begin(), window.after.end());
  set_attribute(node, "pads", pads);
  node.remove_attribute("auto_pad");
  node.remove_attribute("ceil_mode");
}

}  // namespace

void settle_windows(PassContext& c) {
  for (const auto& node : c.graph.nodes()) {
    if (covers_its_input(*node)) settle_window(*node);
  }
}

void settle_shapes(PassContext& c) {
  for (const auto& node : c.graph.nodes()) {
    if (node->op != "Reshape" || !node->domain.empty()) continue;
    const auto dims = settled(*node->output(0));
    if (!dims) continue;
    const Tensor* known = c.constant(node->input(1));
    if (known && known->integers() == *dims && !node->attribute("allowzero")) continue;
    const Tensor shape = Tensor::of<int64_t>({static_cast<int64_t>(dims->size())}, *dims);
    Value* constant =
        c.graph.add_initializer(c.names.fresh(node->output(0)->name() + "_shape"), shape);
    constant->type = shape.type();
    node->set_input(1, constant);
    node->remove_attribute("allowzero");
  }
}

}  // namespace onward
