// A largest element's place is kept as the number of its tap, one byte instead of the eight of an
// index, and its backward adds where the taps say.

#include <algorithm>

#include "ops/builder.h"
#include "runtime/passes/plan_passes.h"

namespace onward {
namespace {

constexpr int64_t kMaxTaps = 255;

bool is_way_back(const Node& node, const Value& indices, const Value& x) {
  return node.domain == kInternalDomain && node.op == "ScatterAdd" && node.input(1) == &indices &&
         static_dims(*node.output(0)) == static_dims(x);
}

bool can_keep_taps(const PassContext& c, const Node& node) {
  if (!node.domain.empty() || node.op != "MaxPool" || !node.output(1)) return false;
  const Value &x = *node.input(0), &indices = *node.output(1);
  if (x.type.dtype != DType::f32 && x.type.dtype != DType::f64) return false;
  if (node.int_or("storage_order", 0) != 0) return false;
  const auto* kernel = node.get<std::vector<int64_t>>("kernel_shape");
  int64_t taps = 1;
  for (const int64_t size : kernel ? *kernel : std::vector<int64_t>{kMaxTaps + 1}) taps *= size;
  if (taps > kMaxTaps || !static_dims(x)) return false;
  if (std::ranges::find(c.graph.outputs(), &indices) != c.graph.outputs().end()) return false;
  return std::ranges::all_of(indices.uses(),
                             [&](const Use& use) { return is_way_back(*use.node, indices, x); });
}

}  // namespace

void save_pool_taps(PassContext& c) {
  for (const auto& owned : c.graph.nodes()) {
    Node& pool = *owned;
    if (!can_keep_taps(c, pool)) continue;
    Value* taps = pool.output(1);
    const std::vector<Use> uses(taps->uses().begin(), taps->uses().end());
    for (const Use& use : uses) {
      Node& back = *use.node;
      back.set_op("MaxPoolGrad");
      back.set_inputs({back.input(0), taps});
      for (const Attribute& attribute : pool.attributes()) {
        std::visit(
            [&](const auto& value) {
              using T = std::decay_t<decltype(value)>;
              if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, std::string> ||
                            std::is_same_v<T, std::vector<int64_t>>) {
                set_attribute(back, attribute.name, value);
              }
            },
            attribute.value);
      }
    }
    pool.set_op("MaxPoolSaving");
    pool.domain = kInternalDomain;
    taps->type.dtype = DType::u8;
  }
}

}  // namespace onward
