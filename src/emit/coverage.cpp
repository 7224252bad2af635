#include "emit/coverage.h"

#include <fmt/format.h>

namespace onward::emit {
namespace {

constexpr EmitGap kGaps[] = {
    {"AveragePool", "more than 3 spatial dimensions", "frameworks stop at 3"},
    {"BatchNormalization", "statistics outside of training", "they would be the inputs"},
    {"Cast", "to strings, and floats of 8 bits and fewer", "no common element type"},
    {"Constant", "strings and sparse tensors", "no tensor of a framework"},
    {"Conv", "more than 3 spatial dimensions", "frameworks stop at 3"},
    {"ConvTranspose", "more than 3 spatial dimensions", "frameworks stop at 3"},
    {"LayerNormalization", "its results Mean and InvStdDev", "layers do not give them"},
    {"MaxPool", "its result Indices", "frameworks number the places of each image apart"},
    {"MaxPool", "more than 3 spatial dimensions", "frameworks stop at 3"},
    {"ReduceMean", "of integers", "frameworks round differently"},
};

}  // namespace

std::span<const EmitGap> gaps_of_most() { return kGaps; }

bool can_emit(std::string_view op, const Dialect& dialect) {
  const CallRow* row = find_call(dialect, op);
  return row && row->cell.gap.empty();
}

std::string_view why_not(std::string_view op, const Dialect& dialect) {
  const CallRow* row = find_call(dialect, op);
  return row ? row->cell.gap : dialect.unwritten;
}

std::string refused_by_framework(const Node& node, const Dialect& dialect) {
  if (!can_emit(node.op, dialect)) {
    return fmt::format("{} has no such operator", dialect.framework);
  }
  const CallRow* row = find_call(dialect, node.op);
  return std::string(row->refuses ? row->refuses(node) : "");
}

}  // namespace onward::emit
