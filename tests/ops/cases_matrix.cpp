#include "tests/ops/case.h"

namespace onward {
namespace {

const Case kCases[] = {
    {"Einsum", "y = Einsum<equation = \"ij,jk->ik\">(a, b)", {f64("a", {2, 3}), f64("b", {3, 4})}},
    {"Einsum with an implicit output",
     "y = Einsum<equation = \"bA, Ac\">(a, b)",
     {f64("a", {2, 3}), f64("b", {3, 4})}},
    {"Einsum of heads",
     "y = Einsum<equation = \"bqhd,bkhd->bhqk\">(q, k)",
     {f64("q", {2, 3, 2, 4}), f64("k", {2, 5, 2, 4})}},
    {"Einsum over several labels",
     "y = Einsum<equation = \"abcd,cbde->ea\">(a, b)",
     {f64("a", {2, 3, 2, 4}), f64("b", {2, 3, 4, 2})}},
    {"Einsum of an ellipsis",
     "y = Einsum<equation = \"...ij,...jk->...ik\">(a, b)",
     {f64("a", {2, 1, 2, 3}), f64("b", {1, 4, 3, 2})}},
    {"Einsum of an ellipsis between letters",
     "y = Einsum<equation = \"i...j,j...->i...\">(a, b)",
     {f64("a", {2, 3, 1, 4}), f64("b", {4, 1, 2})}},
    {"Einsum of an implicit ellipsis",
     "y = Einsum<equation = \"...i,i...\">(a, b)",
     {f64("a", {2, 3}), f64("b", {3, 2})}},
    {"Einsum of a diagonal", "y = Einsum<equation = \"iji->ij\">(x)", {f64("x", {3, 2, 3})}},
    {"Einsum of a trace", "y = Einsum<equation = \"ii\">(x)", {f64("x", {3, 3})}},
    {"Einsum of a transpose", "y = Einsum<equation = \"ijk->kij\">(x)", {f64("x", {2, 3, 4})}},
    {"Einsum of one as it is", "y = Einsum<equation = \"ij->ij\">(x)", {f64("x", {2, 3})}},
    {"Einsum of a sum", "y = Einsum<equation = \"ijk->j\">(x)", {f64("x", {2, 3, 4})}},
    {"Einsum of elements",
     "y = Einsum<equation = \"ij,ji->ij\">(a, b)",
     {f64("a", {2, 3}), f64("b", {3, 2})}},
    {"Einsum of an outer product",
     "y = Einsum<equation = \"i,jk->kij\">(a, b)",
     {f64("a", {2}), f64("b", {3, 4})}},
    {"Einsum with a label of one operand",
     "y = Einsum<equation = \"ij,jk->i\">(a, b)",
     {f64("a", {2, 3}), f64("b", {3, 4})}},
    {"Einsum of three",
     "y = Einsum<equation = \"ij,jk,kl->il\">(a, b, d)",
     {f64("a", {2, 3}), f64("b", {3, 4}), f64("d", {4, 2})}},
    {"Einsum of a value with itself",
     "y = Einsum<equation = \"ij,ik->jk\">(x, x)",
     {f64("x", {4, 3})}},
    Case{"Einsum of sizes that differ",
         "y = Einsum<equation = \"ij,jk->ik\">(a, b)",
         {f64("a", {2, 3}), f64("b", {1, 4})}}
        .refused("'j' is 3 in one place of its equation and 1 in another"),
    {"Det", "y = Det(x)", {f64("x", {3, 3})}},
    {"Det of many", "y = Det(x)", {f64("x", {2, 3, 2, 2})}},
    {"Det of one number", "y = Det(x)", {f64("x", {2, 1, 1})}},
    {"Det of a matrix without an inverse",
     "y = Det(x)",
     {{"x", DType::f64, {3, 3}, 0, 0, {1, 2, 3, 2, 4, 6, 1, 0, 1}}}},
    {"Trilu", "y = Trilu(x)", {f64("x", {2, 3, 4})}},
    {"Trilu lower", "y = Trilu<upper = 0>(x, k)", {f64("x", {4, 3}), i64("k", {}, {1})}},
    {"Trilu above", "y = Trilu(x, k)", {f64("x", {4, 3}), i64("k", {}, {-1})}},
    Case{"EyeLike", "y = EyeLike(x)", {f64("x", {3, 4})}}.without_gradient(),
    Case{
        "EyeLike k", "e = EyeLike<k = -1, dtype = 7>(x)\n y = Cast<to = 11>(e)", {f64("x", {3, 4})}}
        .without_gradient(),
};

}  // namespace

std::span<const Case> matrix_cases() { return kCases; }

}  // namespace onward
