#include "tests/ops/case.h"

namespace onward {
namespace {

const Case kCases[] = {
    {"Expand", "y = Expand(x, shape)", {f64("x", {3, 1}), i64("shape", {2, 3, 4})}},
    {"Expand to fewer dimensions", "y = Expand(x, shape)", {f64("x", {2, 3}), i64("shape", {1})}},
    {"Flatten", "y = Flatten(x)", {f64("x", {2, 3, 4})}},
    {"Flatten axis 0", "y = Flatten<axis = 0>(x)", {f64("x", {2, 3})}},
    {"Flatten axis -1", "y = Flatten<axis = -1>(x)", {f64("x", {2, 3, 4})}},
    {"Reshape", "y = Reshape(x, shape)", {f64("x", {2, 3, 4}), i64("shape", {4, 6})}},
    {"Reshape -1 and 0", "y = Reshape(x, shape)", {f64("x", {2, 3, 4}), i64("shape", {0, -1})}},
    {"Reshape allowzero",
     "y = Reshape<allowzero = 1>(x, shape)",
     {f64("x", {2, 3}), i64("shape", {3, 2})}},
    {"Squeeze", "y = Squeeze(x, axes)", {f64("x", {2, 1, 3, 1}), i64("axes", {1, -1})}},
    {"Squeeze all", "y = Squeeze(x)", {f64("x", {2, 1, 3, 1})}},
    {"Tile", "y = Tile(x, repeats)", {f64("x", {2, 3}), i64("repeats", {3, 2})}},
    {"Tile once", "y = Tile(x, repeats)", {f64("x", {2, 3}), i64("repeats", {1, 1})}},
    {"Tile of one axis", "y = Tile(x, repeats)", {f64("x", {2, 1, 3}), i64("repeats", {1, 4, 1})}},
    {"Transpose", "y = Transpose(x)", {f64("x", {2, 3, 4})}},
    {"Transpose heads", "y = Transpose<perm = [0, 2, 1, 3]>(x)", {f64("x", {2, 3, 4, 5})}},
    {"Transpose perm", "y = Transpose<perm = [1, 2, 0]>(x)", {f64("x", {2, 3, 4})}},
    {"Unsqueeze", "y = Unsqueeze(x, axes)", {f64("x", {2, 3}), i64("axes", {0, -1})}},
    Case{"Shape", "c = Shape(x)\n y = Cast<to = 11>(c)", {f64("x", {2, 3})}}.without_gradient(),
    Case{"Size", "c = Size(x)\n y = Cast<to = 11>(c)", {f64("x", {2, 3})}}.without_gradient(),
    Case{"Shape in part",
         "c = Shape<start = 1, end = -1>(x)\n y = Cast<to = 11>(c)",
         {f64("x", {2, 3, 4, 5})}}
        .without_gradient(),
    Case{"Constant", "y = Constant<value = double[2] {1.5, 2.5}>()", {}}.without_gradient(),
    Case{"Constant float", "c = Constant<value_float = 1.5>()\n y = Cast<to = 11>(c)", {}}
        .without_gradient(),
    Case{"Constant floats", "c = Constant<value_floats = [1.5, 2.5]>()\n y = Cast<to = 11>(c)", {}}
        .without_gradient(),
    Case{"Constant int", "c = Constant<value_int = 3>()\n y = Cast<to = 11>(c)", {}}
        .without_gradient(),
    Case{"Constant ints", "c = Constant<value_ints = [3, 4]>()\n y = Cast<to = 11>(c)", {}}
        .without_gradient(),
    Case{"Constant string",
         "c = Constant<value_string = \"a\">()\n s = Shape(c)\n y = Cast<to = 11>(s)",
         {}}
        .without_gradient(),
    Case{"Constant strings",
         "c = Constant<value_strings = [\"a\", \"b\"]>()\n s = Shape(c)\n y = Cast<to = 11>(s)",
         {}}
        .without_gradient(),
};

}  // namespace

std::span<const Case> shape_cases() { return kCases; }

}  // namespace onward
