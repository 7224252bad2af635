#include "opset/lift_steps.h"

namespace onward {
namespace {

constexpr std::string_view kRecurrence = "its formulas have R where later ones have its transpose";
constexpr std::string_view kMl = "ai.onnx.ml";

constexpr LiftGap kGaps[] = {
    {"GRU", 1, kRecurrence},
    {"GRU", 3, kRecurrence},
    {"LSTM", 1, kRecurrence},
    {"LabelEncoder", 1, "its classes are to become keys and values", kMl},
    {"RNN", 1, kRecurrence},
    {"Scan", 8, "it runs over a batch of sequences of different lengths"},
    {"Scatter", 11, "it is deprecated: ScatterElements has replaced it"},
    {"Upsample", 1, "where its samples lie is not defined"},
    {"Upsample", 10, "it is deprecated: Resize has replaced it"},
};

}  // namespace

std::span<const LiftGap> lift_gaps() { return kGaps; }

}  // namespace onward
