#include "tests/ops/case.h"

namespace onward {
namespace {

const Case kCases[] = {
    {"Concat", "y = Concat<axis = 0>(a, b)", {f64("a", {2, 3}), f64("b", {1, 3})}},
    {"Concat last axis", "y = Concat<axis = -1>(a, b, a)", {f64("a", {2, 3}), f64("b", {2, 2})}},
    {"Gather", "y = Gather(x, i)", {f64("x", {4, 3}), i64("i", {2, 2}, {0, 3, -1, 0})}},
    {"Gather images", "y = Gather(x, i)", {f64("x", {3, 2, 4, 5}), i64("i", {2, 0, 2, 1})}},
    {"Gather axis 1", "y = Gather<axis = 1>(x, i)", {f64("x", {2, 4, 3}), i64("i", {1, 1, 3})}},
    {"Gather one", "y = Gather(x, i)", {f64("x", {4, 3}), i64("i", std::vector<int64_t>{}, {2})}},
    {"Gather axis -1", "y = Gather<axis = -1>(x, i)", {f64("x", {4, 3}), i64("i", {0, 0, 2})}},
    Case{"Gather out of range", "y = Gather(x, i)", {f64("x", {4, 3}), i64("i", {4})}}.refused(
        "index 4 is out of range for a dimension of 4"),
    {"Pad", "y = Pad(x, pads)", {f64("x", {2, 3}), i64("pads", {1, 0, 2, 1})}},
    {"Pad value",
     "y = Pad(x, pads, value)",
     {f64("x", {2, 3}), i64("pads", {1, 0, 2, 1}), f64("value", {})}},
    {"Pad axes",
     "y = Pad(x, pads, , axes)",
     {f64("x", {2, 3}), i64("pads", {1, 2}), i64("axes", {-1})}},
    {"Pad negative", "y = Pad(x, pads)", {f64("x", {3, 4}), i64("pads", {-1, 0, 1, -2})}},
    {"Pad reflect",
     "y = Pad<mode = \"reflect\">(x, pads)",
     {f64("x", {3, 4}), i64("pads", {1, 2, 2, 3})}},
    {"Pad edge",
     "y = Pad<mode = \"edge\">(x, pads)",
     {f64("x", {2, 3}), i64("pads", {1, 2, 2, 1})}},
    {"Pad wrap",
     "y = Pad<mode = \"wrap\">(x, pads)",
     {f64("x", {2, 3}), i64("pads", {1, 2, 2, 1})}},
    {"Concat channels of images",
     "c = Conv(x, w)\nd = Conv(x, v)\ny = Concat<axis = 1>(c, d, c)",
     {f64("x", {2, 2, 4, 3}), f64("w", {3, 2, 1, 1}), f64("v", {8, 2, 1, 1})}},
    {"Concat rows of images",
     "c = Conv(x, w)\ny = Concat<axis = 2>(c, x)",
     {f64("x", {2, 3, 4, 3}), f64("w", {3, 3, 2, 1})}},
    {"Slice",
     "y = Slice(x, starts, ends)",
     {f64("x", {4, 5}), i64("starts", {1, 0}), i64("ends", {3, -1})}},
    {"Slice axes",
     "y = Slice(x, starts, ends, axes)",
     {f64("x", {4, 5}), i64("starts", {-3}), i64("ends", {1000}), i64("axes", {-1})}},
    {"Slice steps",
     "y = Slice(x, starts, ends, axes, steps)",
     {f64("x", {4, 5}), i64("starts", {0, -1}), i64("ends", {4, -6}), i64("axes", {0, 1}),
      i64("steps", {2, -2})}},
    {"Slice backwards from before the beginning",
     "y = Slice(x, starts, ends, axes, steps)",
     {f64("x", {4, 3}), i64("starts", {-6}), i64("ends", {-9}), i64("axes", {0}),
      i64("steps", {-2})}},
    Case{"Split", "y, z = Split<num_outputs = 2>(x)", {f64("x", {4, 3})}}.giving({"y", "z"}),
    Case{"Split unevenly", "y, z = Split<num_outputs = 2, axis = -1>(x)", {f64("x", {2, 3})}}
        .giving({"y", "z"}),
    Case{"Split by lengths",
         "y, z = Split<axis = 1>(x, lengths)",
         {f64("x", {2, 5}), i64("lengths", {2, 3})}}
        .giving({"y", "z"}),
    Case{"Split channels of images",
         "c = Conv(x, w)\ny, z = Split<axis = 1>(c, lengths)",
         {f64("x", {2, 2, 4, 3}), f64("w", {5, 2, 1, 1}), i64("lengths", {2, 3})}}
        .giving({"y", "z"}),
    {"Split without its first part", "\"\", y = Split<num_outputs = 2>(x)", {f64("x", {4, 3})}},
    // Along the first axis by default: another one would give other sizes.
    Case{"Split by lengths, of the axis by default",
         "y, z = Split(x, lengths)",
         {f64("x", {5, 2, 5}), i64("lengths", {2, 3})}}
        .giving({"y", "z"}),
    Case{"Split unevenly, of the axis by default",
         "y, z = Split<num_outputs = 2>(x)",
         {f64("x", {3, 4, 4})}}
        .giving({"y", "z"}),
    {"Split in part", "z, y = Split<num_outputs = 2>(x)", {f64("x", {4, 3})}},
    {"OneHot",
     "y = OneHot(i, depth, values)",
     {i64("i", {0, 2}), i64("depth", std::vector<int64_t>{}, {3}), f64("values", {2})}},
    {"OneHot of numbers that are no class",
     "y = OneHot<axis = 1>(i, depth, values)",
     {i64("i", {2, 2}, {0, 3, -4, -3}), i64("depth", std::vector<int64_t>{}, {3}),
      f64("values", {2})}},
    Case{"ConstantOfShape",
         "y = ConstantOfShape<value = double[1] {2.5}>(shape)",
         {i64("shape", {2, 3})}}
        .without_gradient(),
    {"OneHot axis 0",
     "y = OneHot<axis = 0>(i, depth, values)",
     {i64("i", {0, -1}), i64("depth", std::vector<int64_t>{}, {3}), f64("values", {2})}},
};

}  // namespace

std::span<const Case> indexing_cases() { return kCases; }

}  // namespace onward
