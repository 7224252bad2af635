#include "ops/heads.h"

namespace onward {

Expr split_heads(Expr x, int64_t heads) {
  const Expr size = dim_of(x, 2) / static_cast<double>(heads);
  return reshape(x, concat({dim_of(x, 0), dim_of(x, 1), x.builder().integers({heads}), size}, 0));
}

Expr merge_heads(Expr x) {
  return reshape(x, concat({dim_of(x, 0), dim_of(x, 1), dim_of(x, 2) * dim_of(x, 3)}, 0));
}

Expr swap_heads(Expr x) { return transpose(x, {0, 2, 1, 3}); }

}  // namespace onward
