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
    {"Min", "y = Min(a, b)", {f64("a", {2, 3}), f64("b", {2, 3})}},
    {"Min of one", "y = Min(a)", {f64("a", {2, 3})}},
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
    Case{"Equal",
         "c = Equal(a, b)\n y = Cast<to = 11>(c)",
         {i64("a", {1, 2, 3}), i64("b", {1, 0, 3})}}
        .without_gradient(),
    Case{"Less", "c = Less(a, b)\n y = Cast<to = 11>(c)", {f64("a", {2, 3}), f64("b", {3})}}
        .without_gradient(),
    Case{"Greater", "c = Greater(a, b)\n y = Cast<to = 11>(c)", {f64("a", {2, 3}), f64("b", {})}}
        .without_gradient(),
};

}  // namespace

std::span<const Case> elementwise_cases() { return kCases; }

}  // namespace onward
