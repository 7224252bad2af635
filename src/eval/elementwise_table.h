#pragma once

// The table of elementwise operators: a row says what computes an element, of which types, at what
// cost. Reference kernels (eval/elementwise.cpp), tiles
// (runtime/tile_functions.inc), their plans and the bounds of commits come from it.

#include <span>
#include <string_view>
#include <tuple>

#include "eval/elementwise_functions.h"

namespace onward {
class Node;
}

namespace onward::elementwise {

struct FloatAttribute {
  std::string_view name;
  float fallback = 0;
};

/// What is known of an operator beside its function.
struct Facts {
  std::string_view op;
  double nanoseconds = 0.2;  // roughly what an element takes in a tile; one instruction: 0.2
  std::array<FloatAttribute, 2> attributes = {};
  /// An operator of several forms: this row is for nodes with that string attribute, the next row
  /// for the others.
  struct {
    std::string_view attribute, value;
  } form = {};
  /// The operators of two operands that the second input, and all further ones, join the result
  /// by; inputs may be left out.
  std::array<std::string_view, 2> joined_by = {};
  bool has_condition = false;  // the first input is a truth value, whatever the type of the others

  bool joins_inputs() const { return !joined_by[0].empty(); }
  Attributes attributes_of(const Node& node) const;
};

/// What the reference kernel made of a row takes; none: it is written by hand.
enum class Reference : uint8_t { none, floats, numbers, truths };

/// What a function takes: in the reference kernel, and the types of tiles.
template <Reference kReference, typename... T>
struct Takes {
  static constexpr Reference reference = kReference;
};
using Floats = Takes<Reference::floats, float, double>;
using Numbers = Takes<Reference::numbers, float, double, int64_t>;
using NumbersTilesOfFloats = Takes<Reference::numbers, float, double>;
using Ordered = Takes<Reference::numbers, float, double, int64_t, int32_t>;
using All = Takes<Reference::numbers, float, double, int64_t, int32_t, uint8_t>;
using Truths = Takes<Reference::truths, uint8_t>;  // uint8_t is always a truth value
template <typename... T>
using OnlyTiles = Takes<Reference::none, T...>;

template <typename F, typename TakenTypes>
struct Row {
  using Function = F;
  using Takes = TakenTypes;
  Facts facts;
};
template <typename Function, typename Takes>
constexpr Row<Function, Takes> row(Facts facts) {
  return {facts};
}
/// One whose kernels are all written by hand.
constexpr Row<void, OnlyTiles<>> row(Facts facts) { return {facts}; }

inline constexpr auto kTable = std::tuple{
    row<Abs, Numbers>({.op = "Abs"}),
    row<Acos, Floats>({.op = "Acos", .nanoseconds = 10}),
    row<Acosh, Floats>({.op = "Acosh", .nanoseconds = 15}),
    row<Add, Numbers>({.op = "Add"}),
    row<And, Truths>({.op = "And"}),
    row<Asin, Floats>({.op = "Asin", .nanoseconds = 10}),
    row<Asinh, Floats>({.op = "Asinh", .nanoseconds = 15}),
    row<Atan, Floats>({.op = "Atan", .nanoseconds = 10}),
    row<Atanh, Floats>({.op = "Atanh", .nanoseconds = 15}),
    row({.op = "Cast"}),
    row<Ceil, Floats>({.op = "Ceil"}),
    // A limit is one number, of whatever shape: it does not broadcast.
    row<Max, OnlyTiles<float, double, int64_t>>({.op = "Clip", .joined_by = {"Max", "Min"}}),
    row<Cos, Floats>({.op = "Cos", .nanoseconds = 8}),
    row<Cosh, Floats>({.op = "Cosh", .nanoseconds = 10}),
    // Integers are refused where they are divided by zero, which no tile can.
    row<Div, NumbersTilesOfFloats>({.op = "Div", .nanoseconds = 0.6}),
    row<Equal, All>({.op = "Equal"}),
    row<Erf, Floats>({.op = "Erf", .nanoseconds = 2}),
    row<Exp, Floats>({.op = "Exp", .nanoseconds = 1}),
    row<Floor, Floats>({.op = "Floor"}),
    row<GeluByTanh, Floats>({.op = "Gelu", .nanoseconds = 2.5, .form = {"approximate", "tanh"}}),
    row<Gelu, Floats>({.op = "Gelu", .nanoseconds = 2.5}),
    row<Greater, Ordered>({.op = "Greater"}),
    row<GreaterOrEqual, Ordered>({.op = "GreaterOrEqual"}),
    row<Identity, OnlyTiles<float, double, int64_t, int32_t, uint8_t>>({.op = "Identity"}),
    row<LeakyRelu, Floats>({.op = "LeakyRelu", .attributes = {{{"alpha", 0.01F}}}}),
    row<Less, Ordered>({.op = "Less"}),
    row<LessOrEqual, Ordered>({.op = "LessOrEqual"}),
    row<Log, Floats>({.op = "Log", .nanoseconds = 4}),
    row<Max, Numbers>({.op = "Max", .joined_by = {"Max", "Max"}}),
    row<Min, Numbers>({.op = "Min", .joined_by = {"Min", "Min"}}),
    row<Mul, Numbers>({.op = "Mul"}),
    row<Neg, Numbers>({.op = "Neg"}),
    row<Not, Truths>({.op = "Not"}),
    row<Or, Truths>({.op = "Or"}),
    row<PRelu, Numbers>({.op = "PRelu"}),
    // Base and exponent may differ in type.
    row<Pow, OnlyTiles<float, double>>({.op = "Pow", .nanoseconds = 20}),
    row<Reciprocal, Floats>({.op = "Reciprocal"}),
    row<Relu, Numbers>({.op = "Relu"}),
    row<Round, Floats>({.op = "Round"}),
    row<Shrink, NumbersTilesOfFloats>(
        {.op = "Shrink", .attributes = {{{"bias", 0.0F}, {"lambd", 0.5F}}}}),
    row<Sigmoid, Floats>({.op = "Sigmoid", .nanoseconds = 1.5}),
    row<Sign, Numbers>({.op = "Sign"}),
    row<Sin, Floats>({.op = "Sin", .nanoseconds = 8}),
    row<Sinh, Floats>({.op = "Sinh", .nanoseconds = 10}),
    row<Softplus, Floats>({.op = "Softplus", .nanoseconds = 12}),
    row<Sqrt, Floats>({.op = "Sqrt", .nanoseconds = 0.6}),
    row<Sub, Numbers>({.op = "Sub"}),
    row<Add, Numbers>({.op = "Sum", .joined_by = {"Add", "Add"}}),
    row<Tan, Floats>({.op = "Tan", .nanoseconds = 10}),
    row<Tanh, Floats>({.op = "Tanh", .nanoseconds = 1.5}),
    row({.op = "Where", .has_condition = true}),
    row<Xor, Truths>({.op = "Xor"}),
};

/// The facts of all rows, in order.
std::span<const Facts> all_facts();

/// The row of a node's form, or null.
const Facts* find_facts(const Node& node);
/// The first row of an operator, or null.
const Facts* find_facts(std::string_view op);

}  // namespace onward::elementwise
