#include "opset/lift_steps.h"

namespace onward {
namespace {

constexpr LiftGap kGaps[] = {
    {"Scatter", 11, "has been withdrawn: ScatterElements has replaced it"},
    {"Upsample", 10, "has been withdrawn: Resize has replaced it"},
};

}  // namespace

std::span<const LiftGap> lift_gaps() { return kGaps; }

}  // namespace onward
