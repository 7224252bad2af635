#include "ops/families.h"

namespace onward {
namespace {

/// A derivative as a function of the input x, the result y and the incoming dy.
template <Expr (*Rule)(Expr x, Expr y, Expr dy)>
Grads of_one(const VjpContext& c) {
  return {Rule(c.input(0), c.output(0), c.grad(0))};
}

Expr apply(std::string_view op, Expr x) { return x.builder().add(op, {x.value()}, x.dtype()); }

Expr acos_rule(Expr x, Expr, Expr dy) { return -(dy / sqrt(1 - x * x)); }
Expr acosh_rule(Expr x, Expr, Expr dy) { return dy / sqrt(x * x - 1); }
Expr asin_rule(Expr x, Expr, Expr dy) { return dy / sqrt(1 - x * x); }
Expr asinh_rule(Expr x, Expr, Expr dy) { return dy / sqrt(x * x + 1); }
Expr atan_rule(Expr x, Expr, Expr dy) { return dy / (x * x + 1); }
Expr atanh_rule(Expr x, Expr, Expr dy) { return dy / (1 - x * x); }
Expr cos_rule(Expr x, Expr, Expr dy) { return -(dy * apply("Sin", x)); }
Expr cosh_rule(Expr x, Expr, Expr dy) { return dy * apply("Sinh", x); }
Expr sin_rule(Expr x, Expr, Expr dy) { return dy * apply("Cos", x); }
Expr sinh_rule(Expr x, Expr, Expr dy) { return dy * apply("Cosh", x); }
Expr tan_rule(Expr, Expr y, Expr dy) { return dy * (y * y + 1); }

const OpDef kTrigonometryOps[] = {
    {.name = "Acos", .vjp = of_one<acos_rule>},
    {.name = "Acosh", .vjp = of_one<acosh_rule>},
    {.name = "Asin", .vjp = of_one<asin_rule>},
    {.name = "Asinh", .vjp = of_one<asinh_rule>},
    {.name = "Atan", .vjp = of_one<atan_rule>},
    {.name = "Atanh", .vjp = of_one<atanh_rule>},
    {.name = "Cos", .vjp = of_one<cos_rule>, .range = ranges::sign_like},
    {.name = "Cosh", .vjp = of_one<cosh_rule>},
    {.name = "Sin", .vjp = of_one<sin_rule>, .range = ranges::sign_like},
    {.name = "Sinh", .vjp = of_one<sinh_rule>},
    {.name = "Tan", .vjp = of_one<tan_rule>},
};

}  // namespace

OpFamily trigonometry_ops() { return {kTrigonometryOps, kElementwise}; }

}  // namespace onward
