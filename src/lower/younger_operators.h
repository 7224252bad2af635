#pragma once

#include "ops/op_def.h"

namespace onward {

/// An operator that opsets before its first do not have, in plainer ones.
struct YoungerOperator {
  std::string_view op;
  int since;
  Expansion expansion;
};

/// Null where there is none.
const YoungerOperator* find_younger_operator(std::string_view op);

}  // namespace onward
