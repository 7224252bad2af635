#include "tests/ops/case.h"

namespace onward {
namespace {

const Case kCases[] = {
    // Away from the kink at 0, where no derivative exists.
    {"Abs positive", "y = Abs(x)", {f64("x", {2, 3}, 0.5, 2)}},
    {"Abs negative", "y = Abs(x)", {f64("x", {2, 3}, -2, -0.5)}},
    {"Erf", "y = Erf(x)", {f64("x", {2, 3})}},
    {"Exp", "y = Exp(x)", {f64("x", {2, 3})}},
    {"Exp of a scalar", "y = Exp(x)", {f64("x", {})}},
    {"Identity", "y = Identity(x)", {f64("x", {2, 3})}},
    {"Log", "y = Log(x)", {f64("x", {2, 3}, 0.5, 3)}},
    {"Neg", "y = Neg(x)", {f64("x", {2, 3})}},
    {"Reciprocal", "y = Reciprocal(x)", {f64("x", {2, 3}, 0.5, 3)}},
    {"Relu on", "y = Relu(x)", {f64("x", {2, 3}, 0.5, 3)}},
    {"Relu off", "y = Relu(x)", {f64("x", {2, 3}, -3, -0.5)}},
    {"Sigmoid", "y = Sigmoid(x)", {f64("x", {2, 3})}},
    {"Softplus", "y = Softplus(x)", {f64("x", {2, 3})}},
    {"Sqrt", "y = Sqrt(x)", {f64("x", {2, 3}, 0.5, 3)}},
    {"Tanh", "y = Tanh(x)", {f64("x", {2, 3})}},
    {"Add", "y = Add(a, b)", {f64("a", {2, 3}), f64("b", {2, 3})}},
    {"Add broadcast", "y = Add(a, b)", {f64("a", {2, 1, 3}), f64("b", {4, 1})}},
    {"Add of a value to itself", "y = Add(x, x)", {f64("x", {2, 3})}},
    {"Sub broadcast", "y = Sub(a, b)", {f64("a", {3}), f64("b", {2, 3})}},
    {"Mul broadcast", "y = Mul(a, b)", {f64("a", {2, 3}), f64("b", {})}},
    {"Mul of a value with itself", "y = Mul(x, x)", {f64("x", {2, 3})}},
    {"Div broadcast", "y = Div(a, b)", {f64("a", {2, 3}), f64("b", {2, 1}, 0.5, 2)}},
    {"Acos", "y = Acos(x)", {f64("x", {2, 3}, -0.9, 0.9)}},
    {"Acosh", "y = Acosh(x)", {f64("x", {2, 3}, 1.25, 4)}},
    {"Asin", "y = Asin(x)", {f64("x", {2, 3}, -0.9, 0.9)}},
    {"Asinh", "y = Asinh(x)", {f64("x", {2, 3})}},
    {"Atan", "y = Atan(x)", {f64("x", {2, 3})}},
    {"Atanh", "y = Atanh(x)", {f64("x", {2, 3}, -0.9, 0.9)}},
    {"Cosh", "y = Cosh(x)", {f64("x", {2, 3})}},
    {"Sinh", "y = Sinh(x)", {f64("x", {2, 3})}},
    {"Tan", "y = Tan(x)", {f64("x", {2, 3}, -1.25, 1.25)}},
    {"Cos", "y = Cos(x)", {f64("x", {2, 3}, -4, 4)}},
    {"Sin", "y = Sin(x)", {f64("x", {2, 3}, -4, 4)}},
    {"Cast to itself", "y = Cast<to = 11>(x)", {f64("x", {2, 3})}},
    {"CastLike", "y = CastLike(x, like)", {f64("x", {2, 3}), f64("like", {4})}, {"x"}},
    {"Clip both",
     "y = Clip(x, low, high)",
     {f64("x", {4, 5}, -2, 2), f64("low", {}, -0.7, -0.7), f64("high", {}, 0.9, 0.9)}},
    {"Clip low", "y = Clip(x, low)", {f64("x", {4, 5}, -2, 2), f64("low", {}, -0.7, -0.7)}},
    {"Clip high", "y = Clip(x, , high)", {f64("x", {4, 5}, -2, 2), f64("high", {}, 0.9, 0.9)}},
    {"Clip crossed",
     "y = Clip(x, low, high)",
     {f64("x", {4, 5}, -2, 2), f64("low", {}, 0.9, 0.9), f64("high", {}, -0.7, -0.7)}},
    {"Gelu", "y = Gelu(x)", {f64("x", {2, 3})}},
    {"Gelu by tanh", "y = Gelu<approximate = \"tanh\">(x)", {f64("x", {2, 3})}},
    {"HardSwish", "y = HardSwish(x)", {f64("x", {4, 5}, -4, 4)}},
    {"LeakyRelu on", "y = LeakyRelu(x)", {f64("x", {2, 3}, 0.5, 2)}},
    {"LeakyRelu off", "y = LeakyRelu<alpha = 0.25>(x)", {f64("x", {2, 3}, -2, -0.5)}},
    {"Max", "y = Max(a, b)", {f64("a", {2, 3}), f64("b", {2, 3})}},
    {"Max of three broadcast",
     "y = Max(a, b, d)",
     {f64("a", {2, 3}), f64("b", {3}), f64("d", {2, 1})}},
    {"Mean of three broadcast",
     "y = Mean(a, b, d)",
     {f64("a", {2, 3}), f64("b", {3}), f64("d", {2, 1})}},
    {"Mean of one", "y = Mean(a)", {f64("a", {2, 3})}},
    {"Min", "y = Min(a, b)", {f64("a", {2, 3}), f64("b", {2, 3})}},
    {"Min of one", "y = Min(a)", {f64("a", {2, 3})}},
    {"Mod", "y = Mod(a, b)", {f64("a", {2, 3}, -4, 4), f64("b", {3}, 0.75, 1.5)}},
    {"Mod of a negative divisor",
     "y = Mod(a, b)",
     {f64("a", {2, 3}, -4, 4), f64("b", {}, -1.5, -1)}},
    {"Mod as fmod",
     "y = Mod<fmod = 1>(a, b)",
     {f64("a", {2, 3}, -4, 4), f64("b", {2, 3}, 0.75, 1.5)}},
    {"Mod as fmod of a negative divisor",
     "y = Mod<fmod = 1>(a, b)",
     {f64("a", {2, 3}, -4, 4), f64("b", {1}, -1.5, -1)}},
    Case{"Mod of integers",
         "m = Mod(a, b)\n n = Mod<fmod = 1>(a, b)\n s = Sub(m, n)\n y = Cast<to = 11>(s)",
         {i64("a", {7, -7, 7, -7, 6}), i64("b", {3, 3, -3, -3, -3})}}
        .without_gradient(),
    {"Pow", "y = Pow(x, e)", {f64("x", {2, 3}, 0.5, 2), f64("e", {2, 3}, -2, 3)}},
    {"Pow broadcast", "y = Pow(x, e)", {f64("x", {2, 3}, 0.5, 2), f64("e", {})}},
    {"Pow of a negative base",
     "y = Pow(x, e)",
     {f64("x", {2, 3}, -2, -0.5), f64("e", {}, 3, 3)},
     {"x"}},
    {"Pow integer exponent", "y = Pow(x, e)", {f64("x", {2, 3}), i64("e", {1}, {2})}},
    {"Sum of three broadcast", "y = Sum(a, b, d)", {f64("a", {2, 3}), f64("b", {3}), f64("d", {})}},
    {"Where",
     "y = Where(which, a, b)",
     {boolean("which", {2, 3}, {1, 0, 1, 0, 0, 1}), f64("a", {2, 3}), f64("b", {2, 3})}},
    {"Where broadcast",
     "y = Where(which, a, b)",
     {boolean("which", {2, 1}, {1, 0}), f64("a", {3}), f64("b", {})}},
    Case{"Add of shapes that do not fit", "y = Add(a, b)", {f64("a", {2, 3}), f64("b", {2})}}
        .refused("can't be broadcast"),
    Case{"And",
         "c = And(a, b)\n y = Cast<to = 11>(c)",
         {boolean("a", {3}, {1, 0, 1}), boolean("b", {3}, {1, 1, 0})}}
        .without_gradient(),
    Case{"Or",
         "c = Or(a, b)\n y = Cast<to = 11>(c)",
         {boolean("a", {3}, {1, 0, 0}), boolean("b", {3}, {1, 1, 0})}}
        .without_gradient(),
    Case{"Not", "c = Not(a)\n y = Cast<to = 11>(c)", {boolean("a", {3}, {1, 0, 1})}}
        .without_gradient(),
    Case{"BitShift",
         "s = BitShift<direction = \"LEFT\">(a, b)\n t = BitShift<direction = \"RIGHT\">(a, b)\n"
         "z = BitwiseXor(s, t)\n y = Cast<to = 11>(z)",
         {i64("a", {5, -5, 7, -7, 1}), i64("b", {1, 2, 64, -1, 40})}}
        .without_gradient(),
    Case{"BitwiseAnd",
         "z = BitwiseAnd(a, b)\n y = Cast<to = 11>(z)",
         {i64("a", {2, 2}, {5, -5, 7, 12}), i64("b", {3, 6})}}
        .without_gradient(),
    Case{"BitwiseOr",
         "z = BitwiseOr(a, b)\n y = Cast<to = 11>(z)",
         {i64("a", {2, 2}, {5, -5, 7, 12}), i64("b", {3, 6})}}
        .without_gradient(),
    {"BitCast to the same type", "y = BitCast<to = 11>(x)", {f64("x", {2, 3})}},
    Case{"BitCast",  // the bits of 1, -2 and 0
         "y = BitCast<to = 11>(a)",
         {i64("a", {0x1p62 - 0x1p52, -0x1p62, 0})}}
        .without_gradient(),
    Case{"BitwiseNot", "z = BitwiseNot(a)\n y = Cast<to = 11>(z)", {i64("a", {5, -5, 0})}}
        .without_gradient(),
    Case{"Xor",
         "c = Xor(a, b)\n y = Cast<to = 11>(c)",
         {boolean("a", {4}, {1, 0, 1, 0}), boolean("b", {4}, {1, 1, 0, 0})}}
        .without_gradient(),
    Case{"IsInf",
         "l = Log(x)\n c = IsInf(l)\n d = IsInf(x)\n e = Xor(c, d)\n y = Cast<to = 11>(e)",
         {{"x", DType::f64, {3}, 0, 0, {0, 1, -1}}}}
        .without_gradient(),
    Case{"IsInf on one side",
         "r = Reciprocal(x)\n a = IsInf<detect_negative = 0>(r)\n b = IsInf<detect_positive = "
         "0>(r)\n"
         "f = Cast<to = 11>(a)\n g = Cast<to = 11>(b)\n y = Sub(f, g)",
         {{"x", DType::f64, {4}, 0, 0, {0, 1, -0.0, -1}}}}
        .without_gradient(),
    Case{"IsInf on neither side",
         "r = Reciprocal(x)\n c = IsInf<detect_negative = 0, detect_positive = 0>(r)\n"
         "y = Cast<to = 11>(c)",
         {{"x", DType::f64, {2}, 0, 0, {0, 1}}}}
        .without_gradient(),
    Case{"IsNaN",
         "l = Log(x)\n c = IsNaN(l)\n d = IsNaN(x)\n e = Xor(c, d)\n y = Cast<to = 11>(e)",
         {{"x", DType::f64, {3}, 0, 0, {2, 1, -1}}}}
        .without_gradient(),
    Case{"Ceil", "y = Ceil(x)", {f64("x", {2, 3})}}.without_gradient(),
    Case{"Floor", "y = Floor(x)", {f64("x", {2, 3})}}.without_gradient(),
    Case{"Round", "y = Round(x)", {f64("x", {2, 3})}}.without_gradient(),
    Case{"Equal",
         "c = Equal(a, b)\n y = Cast<to = 11>(c)",
         {i64("a", {1, 2, 3}), i64("b", {1, 0, 3})}}
        .without_gradient(),
    Case{"Less", "c = Less(a, b)\n y = Cast<to = 11>(c)", {f64("a", {2, 3}), f64("b", {3})}}
        .without_gradient(),
    Case{"LessOrEqual",
         "c = LessOrEqual(a, b)\n y = Cast<to = 11>(c)",
         {i64("a", {1, 2, 3}), i64("b", {1, 0, 4})}}
        .without_gradient(),
    Case{"LessOrEqual of floats",
         "c = LessOrEqual(a, b)\n y = Cast<to = 11>(c)",
         {f64("a", {2, 3}), f64("b", {3})}}
        .without_gradient(),
    Case{"GreaterOrEqual",
         "c = GreaterOrEqual(a, b)\n y = Cast<to = 11>(c)",
         {i64("a", {1, 2, 3}), i64("b", {1, 0, 4})}}
        .without_gradient(),
    Case{"GreaterOrEqual of floats",
         "c = GreaterOrEqual(a, b)\n y = Cast<to = 11>(c)",
         {f64("a", {2, 3}), f64("b", {})}}
        .without_gradient(),
    Case{"Greater", "c = Greater(a, b)\n y = Cast<to = 11>(c)", {f64("a", {2, 3}), f64("b", {})}}
        .without_gradient(),
};

}  // namespace

std::span<const Case> elementwise_cases() { return kCases; }

}  // namespace onward
