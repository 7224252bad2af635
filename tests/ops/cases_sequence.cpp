#include "tests/ops/case.h"

namespace onward {
namespace {

const Case kSequenceCases[] = {
    {"SequenceConstruct and SequenceAt",
     "s = SequenceConstruct(a, b, a)\n  p = SequenceAt(s, i)\n  q = SequenceAt(s, j)\n"
     "  y = Mul(p, q)",
     {f64("a", {2, 3}), f64("b", {2, 3}), i64("i", {}, {1}), i64("j", {}, {-1})}},
    {"SequenceInsert",
     "s = SequenceConstruct(a, b)\n  t = SequenceInsert(s, x)\n  u = SequenceInsert(t, x, i)\n"
     "  v = SequenceInsert(u, a, j)\n  p = ConcatFromSequence<axis = 0>(v)\n  y = Mul(p, p)",
     {f64("a", {2}), f64("b", {3}), f64("x", {1}), i64("i", {}, {0}), i64("j", {}, {-2})}},
    {"SequenceErase",
     "s = SequenceConstruct(a, b, x)\n  t = SequenceErase(s)\n  u = SequenceErase(s, i)\n"
     "  p = ConcatFromSequence<axis = -1>(t)\n  q = ConcatFromSequence<axis = 0>(u)\n"
     "  y = Concat<axis = 0>(p, q)",
     {f64("a", {2}), f64("b", {3}), f64("x", {1}), i64("i", {}, {-2})}},
    {"SequenceEmpty and SequenceLength",
     "s = SequenceEmpty<dtype = 11>()\n  t = SequenceInsert(s, x)\n  n = SequenceLength(t)\n"
     "  f = Cast<to = 11>(n)\n  p = ConcatFromSequence<axis = 1, new_axis = 1>(t)\n"
     "  y = Mul(p, f)",
     {f64("x", {2, 3})}},
    {"ConcatFromSequence of a new last axis",
     "s = SequenceConstruct(a, b)\n  y = ConcatFromSequence<axis = -1, new_axis = 1>(s)",
     {f64("a", {2, 3}), f64("b", {2, 3})}},
    {"SplitToSequence",
     "s = SplitToSequence<axis = 1>(x, split)\n  p = SequenceAt(s, i)\n  y = Mul(p, p)",
     {f64("x", {2, 5}), i64("split", {2, 2, 1}), i64("i", {}, {1})}},
    {"SplitToSequence of one size",
     "s = SplitToSequence<axis = -1>(x, split)\n  y = SequenceAt(s, i)",
     {f64("x", {2, 5}), i64("split", {}, {2}), i64("i", {}, {2})}},
    {"SplitToSequence without the axis",
     "s = SplitToSequence<keepdims = 0>(x)\n  y = SequenceAt(s, i)",
     {f64("x", {3, 2}), i64("i", {}, {2})}},
    {"SplitToSequence of ones",
     "s = SplitToSequence(x)\n  y = SequenceAt(s, i)",
     {f64("x", {3, 2}), i64("i", {}, {0})}},
    // Their gradients carry sequences in a Loop, which can't be kept for a second one.
    Case{"SequenceMap",
         "s = SequenceConstruct(a, b)\n  t = SequenceConstruct(b, a)\n"
         "  u = SequenceMap<body = each (double[] p, double[] w, double[] q)"
         " => (double[] r) { m = Mul(p, q)  r = Mul(m, w) }>(s, c, t)\n"
         "  y = ConcatFromSequence<axis = 0>(u)",
         {f64("a", {2}), f64("b", {2}), f64("c", {2})}}
        .not_smooth(),
    Case{"SequenceMap that reads the graph around",
         "s = SequenceConstruct(a, b)\n"
         "  u, v = SequenceMap<body = each (double[] p) => (double[] r, double[] z) {"
         " r = Mul(p, p)  z = Mul(p, x) }>(s)\n"
         "  y = ConcatFromSequence<axis = 0>(u)\n  o = ConcatFromSequence<axis = 0>(v)",
         {f64("a", {2}), f64("b", {2}), f64("x", {2})},
         {},
         {"y", "o"}}
        .not_smooth(),
    {"Optional",
     "o = Optional(x)\n  h = OptionalHasElement(o)\n  f = Cast<to = 11>(h)\n"
     "  p = OptionalGetElement(o)\n  y = Mul(p, f)",
     {f64("x", {2})}},
    {"Optional of nothing",
     "o = Optional<type = double[]>()\n  h = OptionalHasElement(o)\n"
     "  f = Cast<to = 11>(h)\n  y = Add(x, f)",
     {f64("x", {2})}},
    {"Optional of a tensor that is there",
     "h = OptionalHasElement(x)\n  f = Cast<to = 11>(h)\n  p = OptionalGetElement(x)\n"
     "  y = Mul(p, f)",
     {f64("x", {2})}},
    {"Identity of a sequence",
     "s = SequenceConstruct(a, b)\n  t = Identity(s)\n  y = ConcatFromSequence<axis = 0>(t)",
     {f64("a", {2}), f64("b", {3})}},
    {"If of sequences",
     "s = SequenceConstruct(a, b)\n"
     "  t = If<then_branch = g () => (seq(double[]) u) { u = SequenceInsert(s, x) },"
     " else_branch = h () => (seq(double[]) v) { v = Identity(s) }>(c)\n"
     "  y = ConcatFromSequence<axis = 0>(t)",
     {f64("a", {2}), f64("b", {3}), f64("x", {2}), boolean("c", {}, {1})}},
    Case{"Loop that carries a sequence",
         "m = Constant<value = int64 {3}>()\n  e = SequenceEmpty<dtype = 11>()\n"
         "  last, s = Loop<body = step (int64 i, bool go, double[] h, seq(double[]) l)"
         " => (bool on, double[] k, seq(double[]) n) {"
         " on = Identity(go)  p = Mul(h, w)  k = Tanh(p)  n = SequenceInsert(l, k) }>(m, , x, e)\n"
         "  y = ConcatFromSequence<axis = 0, new_axis = 1>(s)",
         {f64("x", {2}), f64("w", {2})},
         {},
         {"y", "last"}}
        .not_smooth(),
    Case{"Loop over a sequence around it",
         "s = SequenceConstruct(a, b, a)\n  m = SequenceLength(s)\n"
         "  y = Loop<body = step (int64 i, bool go, double[] h) => (bool on, double[] k) {"
         " on = Identity(go)  e = SequenceAt(s, i)  p = Mul(h, e)  k = Tanh(p) }>(m, , x)",
         {f64("a", {2}), f64("b", {2}), f64("x", {2})}}
        .not_smooth(),
    Case{"SequenceAt out of range",
         "s = SequenceConstruct(x)\n  y = SequenceAt(s, i)",
         {f64("x", {2}), i64("i", {}, {1})}}
        .refused("position 1 is out of range in a sequence of 1"),
    Case{"SequenceInsert out of range",
         "s = SequenceConstruct(x)\n  t = SequenceInsert(s, x, i)\n  y = SequenceAt(t, i)",
         {f64("x", {2}), i64("i", {}, {-2})}}
        .refused("position -2 is out of range in a sequence of 1"),
    Case{"SequenceErase of nothing",
         "s = SequenceEmpty<dtype = 11>()\n  t = SequenceErase(s)\n"
         "  y = ConcatFromSequence<axis = 0>(t)",
         {}}
        .refused("an empty sequence has nothing to erase"),
    Case{"SplitToSequence that does not fit",
         "s = SplitToSequence(x, n)\n  y = ConcatFromSequence<axis = 0>(s)",
         {f64("x", {3}), i64("n", {2, 2})}}
        .refused("do not fit 3"),
    Case{"ConcatFromSequence of nothing",
         "s = SequenceEmpty<dtype = 11>()\n  y = ConcatFromSequence<axis = 0>(s)",
         {}}
        .refused("an empty sequence has nothing to join"),
    Case{"OptionalGetElement of nothing",
         "o = Optional<type = double[]>()\n  y = OptionalGetElement(o)",
         {}}
        .refused("there is no element"),
};

}  // namespace

std::span<const Case> sequence_cases() { return kSequenceCases; }

}  // namespace onward
