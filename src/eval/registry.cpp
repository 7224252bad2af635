#include <algorithm>
#include <map>

#include "eval/families.h"

namespace onward::eval {
namespace {

/// An operator may have a kernel for tensors in one family, and one for other values in another.
void add(std::vector<KernelDef>& list, const KernelDef& def) {
  const auto known = std::ranges::find_if(
      list, [&](const KernelDef& each) { return each.op == def.op && each.domain == def.domain; });
  if (known == list.end()) {
    list.push_back(def);
  } else {
    known->of_values = def.of_values;
  }
}

}  // namespace

std::span<const KernelDef> kernels() {
  static const std::vector<KernelDef> all = [] {
    std::vector<KernelDef> list;
    for (const auto family :
         {elementwise_kernels(), shape_kernels(),         indexing_kernels(),
          reduction_kernels(),   matmul_kernels(),        conv_kernels(),
          pool_kernels(),        normalization_kernels(), softmax_kernels(),
          loss_kernels(),        random_kernels(),        control_flow_kernels(),
          sequence_kernels(),    bitwise_kernels(),       cumulative_kernels(),
          matrix_kernels(),      quantization_kernels(),  ml_lookup_kernels(),
          ml_map_kernels(),      ml_tree_kernels(),       resize_kernels(),
          scatter_kernels(),     selection_kernels(),     text_kernels(),
          fourier_kernels(),     image_kernels()}) {
      for (const KernelDef& def : family) add(list, def);
    }
    return list;
  }();
  return all;
}

const KernelDef* find_kernel(std::string_view domain, std::string_view op) {
  using Key = std::pair<std::string_view, std::string_view>;
  static const std::map<Key, const KernelDef*> index = [] {
    std::map<Key, const KernelDef*> map;
    for (const KernelDef& def : kernels()) map.emplace(Key{def.domain, def.op}, &def);
    return map;
  }();
  const auto found = index.find({domain, op});
  return found == index.end() ? nullptr : found->second;
}

}  // namespace onward::eval
