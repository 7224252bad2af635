#include <algorithm>
#include <map>

#include "ops/families.h"

namespace onward {

Expr VjpContext::demanded_output(size_t index, DType dtype) const {
  if (Value* present = node_.output(index)) return builder_.expr(present);
  // The first output itself may be left out.
  const auto& named =
      *std::ranges::find_if(node_.outputs(), [](const auto& each) { return !!each; });
  const std::string wanted = named->name() + "_" + std::to_string(index);
  return builder_.expr(node_.set_output(index, builder_.fresh(wanted), Type::tensor(dtype)));
}

std::span<const OpDef> op_defs() {
  static const std::vector<OpDef> all = [] {
    std::vector<OpDef> list;
    for (const auto family :
         {elementwise_ops(), shape_ops(), indexing_ops(), reduction_ops(), matmul_ops(), conv_ops(),
          pool_ops(), normalization_ops(), softmax_ops(), loss_ops(), random_ops(), optimizer_ops(),
          internal_ops()}) {
      list.insert(list.end(), family.begin(), family.end());
    }
    return list;
  }();
  return all;
}

const OpDef* find_op_def(std::string_view domain, std::string_view name) {
  using Key = std::pair<std::string_view, std::string_view>;
  static const std::map<Key, const OpDef*> index = [] {
    std::map<Key, const OpDef*> map;
    for (const OpDef& def : op_defs()) map.emplace(Key{def.domain, def.name}, &def);
    return map;
  }();
  const auto found = index.find({domain, name});
  return found == index.end() ? nullptr : found->second;
}

}  // namespace onward
