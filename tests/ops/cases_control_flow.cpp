#include "tests/ops/case.h"

namespace onward {
namespace {

// The graphs inside say no shapes: the same text stands for inputs of known, symbolic and unknown
// shapes. Where a gradient multiplies matrices, lowering needs ranks.

const Case kControlFlowCases[] = {
    {"If then",
     "y = If<then_branch = g () => (double[] a) { a = Mul(x, w) },"
     " else_branch = h () => (double[] b) { b = Exp(x) }>(c)",
     {f64("x", {2, 3}), f64("w", {3}), boolean("c", {}, {1})}},
    {"If else",
     "y = If<then_branch = g () => (double[] a) { a = Mul(x, w) },"
     " else_branch = h () => (double[] b) { b = Exp(x) }>(c)",
     {f64("x", {2, 3}), f64("w", {3}), boolean("c", {1}, {0})}},
    {"If of data, two results",
     "n = Mul(x, x)\n  s = ReduceSum<keepdims = 0>(n)\n  zero = Constant<value = double {0}>()\n"
     "  c = Greater(s, zero)\n"
     "  y, z = If<then_branch = g () => (double[] a, double[] o) { a = MatMul(x, w)  o = "
     "Identity(n) },"
     " else_branch = h () => (double[] b, double[] d) { b = Neg(w)  d = Identity(x) }>(c)",
     {f64("x", {2, 3}), f64("w", {3, 2})},
     {},
     {"y", "z"}},
    {"If in an If",
     "y = If<then_branch = g () => (double[] a) {"
     " p = Mul(x, x)"
     " a = If<then_branch = gg () => (double[] aa) { aa = Mul(p, w) },"
     " else_branch = hh () => (double[] bb) { bb = Neg(p) }>(d) },"
     " else_branch = h () => (double[] b) { b = Identity(w) }>(c)",
     {f64("x", {3}), f64("w", {3}), boolean("c", {}, {1}), boolean("d", {}, {1})}},

    {"Loop for",
     "m = Constant<value = int64 {3}>()\n"
     "  y = Loop<body = step (int64 i, bool go, double[] s) => (bool on, double[] t) {"
     " on = Identity(go)  p = Mul(s, w)  t = Tanh(p) }>(m, , x)",
     {f64("x", {2, 3}), f64("w", {3})}},
    {"Loop with a condition that data ends",
     "go = Constant<value = bool {1}>()\n"
     "  y, n = Loop<body = step (int64 i, bool go_, double[] s, double[] k)"
     " => (bool on, double[] t, double[] l) {"
     " t = Mul(s, w)  one = Constant<value = double {1}>()  l = Add(k, one)"
     " q = Mul(t, t)  r = ReduceSum<keepdims = 0>(q)"
     " most = Constant<value = double {20}>()  small = Less(r, most)"
     " ten = Constant<value = double {10}>()  few = Less(l, ten)  on = And(small, few) }>"
     "(, go, x, start)",
     {f64("x", {3}, 0.5, 1), f64("w", {3}, 1.3, 1.6), f64("start", {}, 0, 0)},
     {"x", "w"}},
    {"Loop with both, scan outputs, the iteration",
     "m = Constant<value = int64 {4}>()\n  go = Constant<value = bool {1}>()\n"
     "  last, y = Loop<body = step (int64 i, bool go_, double[] s)"
     " => (bool on, double[] t, double[] out) {"
     " f = Cast<to = 11>(i)  p = Mul(s, w)  t = Add(p, f)  out = Mul(t, s)"
     " two = Constant<value = int64 {2}>()  on = Less(i, two) }>(m, go, x)",
     {f64("x", {2, 2}), f64("w", {2})},
     {},
     {"last", "y"}},
    {"Loop whose iteration is declared as a vector of one",
     "m = Constant<value = int64 {3}>()\n"
     "  y = Loop<body = step (int64[1] i, bool go, double[] s) => (bool on, double[] t) {"
     " on = Identity(go)  f = Cast<to = 11>(i)  q = Mul(s, f)  p = Add(q, w)  t = Tanh(p) }>(m, , "
     "x)",
     {f64("x", {2, 3}), f64("w", {3})}},
    {"Loop of no iteration",
     "m = Constant<value = int64 {0}>()\n"
     "  y, z = Loop<body = step (int64 i, bool go, double[] s)"
     " => (bool on, double[] t, double[2] out) {"
     " on = Identity(go)  t = Mul(s, w)  out = Exp(s) }>(m, , x)",
     {f64("x", {2}), f64("w", {2})},
     {},
     {"y", "z"}},
    {"Loop whose condition does not hold at first",
     "go = Constant<value = bool {0}>()\n"
     "  y = Loop<body = step (int64 i, bool go_, double[] s) => (bool on, double[] t) {"
     " on = Identity(go_)  t = Mul(s, w) }>(, go, x)",
     {f64("x", {2}), f64("w", {2})}},
    {"Loop without a condition, whose body gives one",
     "m = Constant<value = int64 {3}>()\n"
     "  y = Loop<body = step (int64 i, bool go, double[] s) => (bool on, double[] t) {"
     " on = Not(go)  t = Mul(s, w) }>(m, , x)",
     {f64("x", {2}), f64("w", {2})}},
    {"Loop in a Loop",
     "m = Constant<value = int64 {2}>()\n  k = Constant<value = int64 {3}>()\n"
     "  y = Loop<body = outer (int64 i, bool go, double[] s) => (bool on, double[] t) {"
     " on = Identity(go)  v = Mul(s, w)"
     " t, all = Loop<body = inner (int64 j, bool gi, double[] u)"
     " => (bool oi, double[] r, double[] seen) {"
     " oi = Identity(gi)  p = Mul(u, v)  q = Add(p, w)  r = Sigmoid(q)  seen = Neg(r) }>(k, , s)"
     " }>(m, , x)",
     {f64("x", {3}), f64("w", {3})}},
    {"If in a Loop",
     "m = Constant<value = int64 {4}>()\n"
     "  y = Loop<body = outer (int64 i, bool go, double[] s) => (bool on, double[] t) {"
     " on = Identity(go)  two = Constant<value = int64 {2}>()  c = Less(i, two)"
     " t = If<then_branch = g () => (double[] a) { a = Mul(s, w) },"
     " else_branch = h () => (double[] b) { b = Tanh(s) }>(c) }>(m, , x)",
     {f64("x", {3}), f64("w", {3})}},
    {"Loop of matrices",
     "m = Constant<value = int64 {3}>()\n"
     "  y = Loop<body = step (int64 i, bool go, double[n, k] s) => (bool on, double[n, k] t) {"
     " on = Identity(go)  p = MatMul(s, w)  q = Add(p, b)  t = Tanh(q) }>(m, , x)",
     {f64("x", {2, 3}), f64("w", {3, 3}), f64("b", {3})}},
    {"Loop that carries what has no gradient",
     "m = Constant<value = int64 {3}>()\n  zero = Constant<value = int64 {0}>()\n"
     "  y, n, other = Loop<body = step (int64 i, bool go, double[] s, int64 k, double[] o)"
     " => (bool on, double[] t, int64 l, double[] p) {"
     " on = Identity(go)  one = Constant<value = int64 {1}>()  l = Add(k, one)"
     " f = Cast<to = 11>(k)  t = Mul(s, f)  p = Mul(o, s) }>(m, , x, n0, z)",
     {f64("x", {2}), i64("n0", {}, {1}), f64("z", {2})}},
    Case{"Loop with scan outputs of two shapes",
         "m = Constant<value = int64 {2}>()\n"
         "  last, y = Loop<body = step (int64 i, bool go, double[] s)"
         " => (bool on, double[] t, double[] out) {"
         " on = Identity(go)  t = Concat<axis = 0>(s, s)  out = Neg(s) }>(m, , x)",
         {f64("x", {2})}}
        .refused("its result 'out' is f64[4] in iteration 1, and f64[2] before"),
    Case{"Loop of several trip counts",
         "y = Loop<body = step (int64 i, bool go, double[] s) => (bool on, double[] t) {"
         " on = Identity(go)  t = Neg(s) }>(m, , x)",
         {f64("x", {2}), i64("m", {2, 3})}}
        .refused("input 0 has 2 elements instead of one"),

    {"Scan",
     "last, y = Scan<num_scan_inputs = 1, body = step (double[] s, double[] x_)"
     " => (double[] t, double[] out) {"
     " p = Mul(s, w)  q = Add(p, x_)  t = Tanh(q)  out = Mul(t, x_) }>(h, x)",
     {f64("h", {3}), f64("x", {4, 3}), f64("w", {3})},
     {},
     {"last", "y"}},
    {"Scan of matrices",
     "last, y = Scan<num_scan_inputs = 1, body = step (double[] s, double[] x_)"
     " => (double[] t, double[] out) {"
     " p = MatMul(s, w)  q = Add(p, x_)  t = Tanh(q)  out = Identity(t) }>(h, x)",
     {f64("h", {2, 3}), f64("x", {4, 2, 3}), f64("w", {3, 3})},
     {},
     {"last", "y"}},
    {"Scan axes and directions",
     "last, y, z = Scan<num_scan_inputs = 2, scan_input_axes = [1, -1],"
     " scan_input_directions = [0, 1], scan_output_axes = [1, 0], scan_output_directions = [1, 0],"
     " body = step (double[] s, double[] a, double[] b) => (double[] t, double[] o, double[] p) {"
     " q = Mul(s, a)  t = Add(q, b)  o = Mul(t, a)  p = Mul(b, b) }>(h, x, u)",
     {f64("h", {2}), f64("x", {2, 3}), f64("u", {2, 3})},
     {},
     {"last", "y", "z"}},
    {"Scan without states",
     "y = Scan<num_scan_inputs = 2, body = step (double[] a, double[] b) => (double[] o) {"
     " p = Mul(a, b)  o = Mul(p, w) }>(x, u)",
     {f64("x", {3, 2}), f64("u", {3, 2}), f64("w", {2})}},
    {"Scan of nothing",
     "last, y = Scan<num_scan_inputs = 1, body = step (double[3] s, double[3] x_)"
     " => (double[3] t, double[3] out) { t = Mul(s, x_)  out = Mul(t, w) }>(h, x)",
     {f64("h", {3}), f64("x", {0, 3}), f64("w", {3})},
     {},
     {"last", "y"}},
    {"Scan in a Scan",
     "last, y = Scan<num_scan_inputs = 1, body = outer (double[] s, double[] rows)"
     " => (double[] t, double[] out) {"
     " t, out = Scan<num_scan_inputs = 1, body = inner (double[] v, double[] row)"
     " => (double[] r, double[] o) { p = Mul(v, w)  r = Add(p, row)  o = Mul(r, s) }>(s, rows)"
     " }>(h, x)",
     {f64("h", {2}), f64("x", {2, 3, 2}), f64("w", {2})},
     {},
     {"last", "y"}},
    Case{"Scan of unequal lengths",
         "y = Scan<num_scan_inputs = 2, body = step (double[] a, double[] b) => (double[] o) {"
         " o = Mul(a, b) }>(x, u)",
         {f64("x", {3}), f64("u", {4})}}
        .refused("it is given sequences of 3 and of 4 elements"),
};

}  // namespace

std::span<const Case> control_flow_cases() { return kControlFlowCases; }

}  // namespace onward
