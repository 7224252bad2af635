#include "emit/coverage.h"

#include <fmt/format.h>

#include <algorithm>

#include "emit/calls.h"

namespace onward::emit {
namespace {

constexpr std::string_view kOrderOfPlaces = "frameworks number the places of each image apart";

constexpr EmitGap kGaps[] = {
    {"AveragePool", "more than 3 spatial dimensions", true, true, "frameworks stop at 3"},
    {"BatchNormalization", "statistics outside of training", true, true,
     "they would be the inputs"},
    {"Cast", "to strings, and floats of 8 bits and fewer", true, true, "no common element type"},
    {"Constant", "strings and sparse tensors", true, true, "no tensor of a framework"},
    {"Conv", "more than 3 spatial dimensions", true, true, "frameworks stop at 3"},
    {"ConvTranspose", "more than 3 spatial dimensions", true, true, "frameworks stop at 3"},
    {"LayerNormalization", "its results Mean and InvStdDev", true, true, "layers do not give them"},
    {"MaxPool", "its result Indices", true, true, kOrderOfPlaces},
    {"MaxPool", "more than 3 spatial dimensions", true, true, "frameworks stop at 3"},
    {"ReduceMean", "of integers", true, true, "frameworks round differently"},
    {"Split", "into equal parts of a dimension whose size is not declared", false, true,
     "Keras must know where parts begin"},
};

}  // namespace

std::span<const EmitGap> emit_gaps() { return kGaps; }

bool can_emit(std::string_view op, Target target) {
  const auto rows = calls();
  const auto row = std::ranges::find(rows, op, &CallRow::op);
  return row != rows.end() && row->cell(target).gap.empty();
}

std::string refused_by_framework(const Node& node, Target target) {
  if (node.op == "ConvTranspose" && node.attribute("output_shape")) {
    return "frameworks take padding, not the result's shape";
  }
  if (can_emit(node.op, target)) return "";
  return fmt::format("{} has no such operator", target == Target::torch ? "PyTorch" : "Keras");
}

}  // namespace onward::emit
