#include "emit/coverage.h"

#include <algorithm>

#include "emit/calls.h"

namespace onward::emit {
namespace {

constexpr std::string_view kOrderOfPlaces = "frameworks number the places of each image apart";
constexpr std::string_view kNoCaseYet = "no case of the tests covers it yet";

constexpr EmitGap kGaps[] = {
    {"AveragePool", "more than 3 spatial dimensions", true, true, "frameworks stop at 3"},
    {"BatchNormalization", "statistics outside of training", true, true,
     "they would be the inputs"},
    {"Cast", "to strings, and floats of 8 bits and fewer", true, true, "no common element type"},
    {"CastLike", "to strings, and floats of 8 bits and fewer", true, true,
     "no common element type"},
    {"Constant", "strings and sparse tensors", true, true, "no tensor of a framework"},
    {"Conv", "more than 3 spatial dimensions", true, true, "frameworks stop at 3"},
    {"GatherElements", "", true, true, kNoCaseYet},
    {"LayerNormalization", "its results Mean and InvStdDev", true, true, "layers do not give them"},
    {"MaxPool", "its result Indices", true, true, kOrderOfPlaces},
    {"MaxPool", "more than 3 spatial dimensions", true, true, "frameworks stop at 3"},
    {"NonZero", "", true, true, kNoCaseYet},
    {"Range", "", true, true, kNoCaseYet},
    {"ReduceMean", "of integers", true, true, "frameworks round differently"},
    {"ScatterElements", "", true, true, kNoCaseYet},
    {"Size", "", true, true, kNoCaseYet},
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

}  // namespace onward::emit
