#pragma once

// The vocabulary in which rules are written: operators on values, as a user's program would have
// them.

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/rewrite.h"

namespace onward {

class Builder;

/// The version of ai.onnx that all nodes are in once a model is lifted, and that rules write.
int64_t inner_opset();

/// The domain of Onward's own operators. None of them leaves the house: each has an expansion into
/// standard ones.
inline constexpr std::string_view kInternalDomain = "onward";

/// A value that a rule computes with.
class Expr {
 public:
  Expr(Value* value, Builder* builder) : value_(value), builder_(builder) {}

  Value* value() const { return value_; }
  Builder& builder() const { return *builder_; }
  DType dtype() const { return value_->type.dtype; }

 private:
  Value* value_;
  Builder* builder_;
};

/// An attribute of a new node; rules need only these kinds.
struct NamedAttribute {
  std::string_view name;
  std::variant<int64_t, float, std::string, Tensor, std::vector<int64_t>> value;
};

/// Adds nodes to a graph, at its end or before a node, with fresh names.
class Builder {
 public:
  /// `prefix` begins the names of what is added: "d_" gives d_Mul, d_Mul_2.
  Builder(Graph& graph, Node* before, Names& names, std::string prefix = {})
      : graph_(graph), before_(before), names_(names), prefix_(std::move(prefix)) {}

  Graph& graph() const { return graph_; }
  /// The node that new ones stand before; null at the graph's end.
  Node* before() const { return before_; }
  Names& names() const { return names_; }
  std::string fresh(const std::string& wanted) const { return names_.fresh(wanted); }

  Expr expr(Value* value) { return {value, this}; }

  /// A node with one output of that element type; its shape is left to inference.
  Expr add(std::string_view op, std::vector<Value*> inputs, DType dtype,
           const std::vector<NamedAttribute>& attributes = {});
  Expr add_internal(std::string_view op, std::vector<Value*> inputs, DType dtype,
                    const std::vector<NamedAttribute>& attributes = {});
  /// A node with several outputs, of these element types; `undefined` leaves one out.
  std::vector<Expr> add_many(std::string_view op, std::string_view domain,
                             std::vector<Value*> inputs, const std::vector<DType>& dtypes,
                             const std::vector<NamedAttribute>& attributes = {});

  /// A node with one output of any type.
  Expr add_value(std::string_view op, std::vector<Value*> inputs, Type type,
                 const std::vector<NamedAttribute>& attributes = {});

  /// Adds to the end of a graph inside, with fresh names of the same kind.
  Builder inside(Graph& graph) const { return {graph, nullptr, names_, prefix_}; }

  /// Copies the nodes of a graph in, and its constants; `inputs` take the place of its inputs.
  /// Gives its outputs.
  std::vector<Expr> splice(const Graph& body, std::span<Value* const> inputs);

  Expr constant(Tensor tensor);
  /// A scalar of that element type.
  Expr scalar(double number, DType dtype);
  Expr integers(const std::vector<int64_t>& numbers);

 private:
  Graph& graph_;
  Node* before_;
  Names& names_;
  std::string prefix_;
};

/// The Value pointers of several expressions, for Builder::add.
std::vector<Value*> values(std::initializer_list<Expr> expressions);

// Arithmetic with broadcasting; a number takes the other side's element type.
Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);
Expr operator-(Expr a);
Expr operator+(Expr a, double b);
Expr operator+(double a, Expr b);
Expr operator-(Expr a, double b);
Expr operator-(double a, Expr b);
Expr operator*(Expr a, double b);
Expr operator*(double a, Expr b);
Expr operator/(Expr a, double b);
Expr operator/(double a, Expr b);

Expr larger(Expr a, Expr b);
Expr abs(Expr x);
Expr exp(Expr x);
Expr log(Expr x);
Expr sqrt(Expr x);
/// The root of what is not negative; where that is zero, so is the root's slope.
Expr sqrt_flat_at_zero(Expr x);
Expr pow(Expr x, Expr y);
Expr sign(Expr x);
Expr sigmoid(Expr x);
Expr tanh(Expr x);

// Comparisons give bool; `as` converts an element type.
Expr equal(Expr a, Expr b);
Expr less(Expr a, Expr b);
Expr greater(Expr a, Expr b);
Expr greater_or_equal(Expr a, Expr b);
Expr logical_not(Expr x);
Expr logical_and(Expr a, Expr b);
Expr where(Expr condition, Expr yes, Expr no);
Expr cast(Expr x, DType dtype);
/// The type that elements of a float type are computed with: float32 for smaller ones.
DType wide_type(DType dtype);

/// Shapes, as i64 vectors that are known when the graph runs: no rule needs to know a rank.
Expr shape_of(Expr x);
Expr rank_of(Expr x);  // a vector of one
/// The axes from `axis` to the last; the rank may be known only when the graph runs.
Expr axes_from(Expr x, int64_t axis);
Expr concat(std::initializer_list<Expr> parts, int64_t axis);
Expr gather(Expr x, Expr indices, int64_t axis);
Expr slice(Expr x, Expr starts, Expr ends, Expr axes);
Expr reshape(Expr x, Expr shape);
Expr expand(Expr x, Expr shape);
Expr unsqueeze(Expr x, Expr axes);
Expr squeeze(Expr x, Expr axes);
Expr transpose(Expr x, const std::vector<int64_t>& permutation);
Expr swap_last_two(Expr x);

enum class KeepDims : uint8_t { no, yes };
/// The sum (or mean) along `axes`, an i64 vector.
Expr sum(Expr x, Expr axes, KeepDims keepdims);
Expr mean(Expr x, Expr axes, KeepDims keepdims);
Expr matmul(Expr a, Expr b);

/// The numbers 0, 1, 2 ... below `count`, a vector of one.
Expr numbers_below(Expr count);
/// Integers from 0 to `largest`, a vector of one, as they are. Any other is refused by whatever
/// runs the graph, since each is picked from those that there can be.
Expr checked_up_to(Expr numbers, Expr largest);
/// The numbers 0, 1, 2 ... in the shape of `x`: what an operator that moves elements makes of them
/// says where each of its results came from.
Expr flat_indices(Expr x);
/// Zeros of `shape`, with each element of `x` added at the flat index that `indices` (of x's shape)
/// gives; negative ones go nowhere.
Expr scatter_add(Expr x, Expr indices, Expr shape);
/// The size of dimension `axis`, a vector of one; the axis may be negative.
Expr dim_of(Expr x, int64_t axis);

/// `x` added up over the dimensions that were broadcast, so that it has `shape` again.
Expr sum_to(Expr x, Expr shape);
/// Zeros (ones) of the shape and element type of `x`.
Expr zeros_like(Expr x);
Expr ones_like(Expr x);

}  // namespace onward
