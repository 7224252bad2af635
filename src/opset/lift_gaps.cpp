#include "opset/lift_steps.h"

namespace onward {
namespace {

constexpr std::string_view kWhereSamplesLie = "where its samples lie is not defined";
constexpr std::string_view kRecurrence = "its formulas have R where later ones have its transpose";
constexpr std::string_view kTrees = "it is to become a TreeEnsemble";
constexpr std::string_view kMl = "ai.onnx.ml";

constexpr LiftGap kGaps[] = {
    {"GRU", 1, kRecurrence},
    {"GRU", 3, kRecurrence},
    {"GroupNormalization", 18, "its scale and bias are one for each group"},
    {"LSTM", 1, kRecurrence},
    {"LabelEncoder", 1, "its classes are to become keys and values", kMl},
    {"RNN", 1, kRecurrence},
    {"Resize", 10, kWhereSamplesLie},
    {"Scan", 8, "it runs over a batch of sequences of different lengths"},
    {"Scatter", 11, "it is deprecated: ScatterElements has replaced it"},
    {"Tile", 1, "its repeats are one tensor for the number and one for the axis"},
    {"TreeEnsembleClassifier", 3, kTrees, kMl},
    {"TreeEnsembleClassifier", 5, kTrees, kMl},
    {"TreeEnsembleRegressor", 3, kTrees, kMl},
    {"TreeEnsembleRegressor", 5, kTrees, kMl},
    {"Upsample", 1, kWhereSamplesLie},
    {"Upsample", 7, kWhereSamplesLie},
    {"Upsample", 9, kWhereSamplesLie},
    {"Upsample", 10, "it is deprecated: Resize has replaced it"},
};

}  // namespace

std::span<const LiftGap> lift_gaps() { return kGaps; }

}  // namespace onward
