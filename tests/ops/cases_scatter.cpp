#include "tests/ops/case.h"

namespace onward {
namespace {

/// Distinct places along axis 0 of a tensor [3, 4].
CaseInput places() { return i64("i", {2, 3}, {0, -1, 1, 2, 0, -3}); }
/// Some of them twice.
CaseInput repeated() { return i64("i", {2, 3}, {0, 2, 1, 0, -1, 0}); }

const Case kCases[] = {
    {"GatherElements",
     "y = GatherElements(x, i)",
     {f64("x", {3, 4}), i64("i", {2, 3}, {0, -1, 1, 2, 2, -3})}},
    {"GatherElements axis 1",
     "y = GatherElements<axis = 1>(x, i)",
     {f64("x", {2, 3, 2}),
      i64("i", {2, 4, 2}, {0, 1, 2, 2, 1, 1, 0, -1, 0, 0, 1, 2, -2, 1, 0, 2})}},
    {"GatherND", "y = GatherND(x, i)", {f64("x", {2, 3, 4}), i64("i", {2, 2}, {0, 1, 1, -1})}},
    {"GatherND of elements",
     "y = GatherND(x, i)",
     {f64("x", {2, 3}), i64("i", {2, 2, 2}, {0, 0, 1, 2, 1, 2, -1, -3})}},
    {"GatherND of batches",
     "y = GatherND<batch_dims = 1>(x, i)",
     {f64("x", {2, 3, 4}), i64("i", {2, 2, 1}, {0, 2, 1, 1})}},
    {"GatherND of two dimensions of batches",
     "y = GatherND<batch_dims = 2>(x, i)",
     {f64("x", {2, 3, 4}), i64("i", {2, 3, 1}, {0, 1, 2, 3, -1, 0})}},
    Case{"GatherND out of range", "y = GatherND(x, i)", {f64("x", {2, 3}), i64("i", {1, 1}, {2})}}
        .refused("index 2 is out of range for a dimension of 2"),

    {"ScatterElements",
     "y = ScatterElements(x, i, u)",
     {f64("x", {3, 4}), places(), f64("u", {2, 3})}},
    {"ScatterElements axis 1",
     "y = ScatterElements<axis = 1>(x, i, u)",
     {f64("x", {2, 4}), i64("i", {2, 2}, {3, 0, 1, -2}), f64("u", {2, 2})}},
    {"ScatterElements add",
     "y = ScatterElements<reduction = \"add\">(x, i, u)",
     {f64("x", {3, 4}), repeated(), f64("u", {2, 3})}},
    {"ScatterElements mul",
     "y = ScatterElements<axis = -2, reduction = \"mul\">(x, i, u)",
     {f64("x", {3, 4}), repeated(), f64("u", {2, 3}, 0.5, 2)}},
    {"ScatterElements max",
     "y = ScatterElements<reduction = \"max\">(x, i, u)",
     {f64("x", {3, 4}), repeated(), f64("u", {2, 3})}},
    {"ScatterElements min",
     "y = ScatterElements<reduction = \"min\">(x, i, u)",
     {f64("x", {3, 4}), repeated(), f64("u", {2, 3})}},

    {"ScatterND",
     "y = ScatterND(x, i, u)",
     {f64("x", {4, 3}), i64("i", {2, 1}, {2, -4}), f64("u", {2, 3})}},
    {"ScatterND of elements",
     "y = ScatterND<reduction = \"none\">(x, i, u)",
     {f64("x", {3, 2}), i64("i", {3, 2}, {0, 0, 2, 1, -2, 0}), f64("u", {3})}},
    {"ScatterND add",
     "y = ScatterND<reduction = \"add\">(x, i, u)",
     {f64("x", {4, 3}), i64("i", {3, 1}, {2, 0, 2}), f64("u", {3, 3})}},
    {"ScatterND mul",
     "y = ScatterND<reduction = \"mul\">(x, i, u)",
     {f64("x", {4, 3}), i64("i", {3, 1}, {2, 0, 2}), f64("u", {3, 3}, 0.5, 2)}},
    {"ScatterND max",
     "y = ScatterND<reduction = \"max\">(x, i, u)",
     {f64("x", {4, 3}), i64("i", {3, 1}, {2, 0, 2}), f64("u", {3, 3})}},
    {"ScatterND min",
     "y = ScatterND<reduction = \"min\">(x, i, u)",
     {f64("x", {4, 3}), i64("i", {3, 1}, {2, 0, 2}), f64("u", {3, 3})}},
};

}  // namespace

std::span<const Case> scatter_cases() { return kCases; }

}  // namespace onward
