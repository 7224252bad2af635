#include "ops/builder.h"

#include <fmt/format.h>
#include <onnx/defs/schema.h>

#include <numeric>

#include "ir/clone.h"
#include "ir/float_formats.h"
#include "onward/error.h"
#include "opset/lift.h"

namespace onward {
namespace {

template <typename T>
Tensor scalar_of(double number) {
  return Tensor::scalar<T>(static_cast<T>(number));
}

Tensor scalar_tensor(double number, DType dtype) {
  switch (dtype) {
    case DType::f32:
      return scalar_of<float>(number);
    case DType::f64:
      return scalar_of<double>(number);
    case DType::i8:
      return scalar_of<int8_t>(number);
    case DType::i16:
      return scalar_of<int16_t>(number);
    case DType::i32:
      return scalar_of<int32_t>(number);
    case DType::i64:
      return scalar_of<int64_t>(number);
    case DType::u8:
      return scalar_of<uint8_t>(number);
    case DType::u16:
      return scalar_of<uint16_t>(number);
    case DType::u32:
      return scalar_of<uint32_t>(number);
    case DType::u64:
      return scalar_of<uint64_t>(number);
    case DType::f16:
    case DType::bf16: {
      const auto pattern =
          static_cast<uint16_t>(encode_small_float(dtype, number, Overflow::special));
      const char bytes[2] = {static_cast<char>(pattern & 0xff), static_cast<char>(pattern >> 8)};
      return Tensor::from_bytes(dtype, {}, std::make_shared<const std::string>(bytes, 2));
    }
    default:
      throw Bug(fmt::format("no number of type {}", name(dtype)));
  }
}

Expr unary(std::string_view op, Expr x) { return x.builder().add(op, {x.value()}, x.dtype()); }

Expr binary(std::string_view op, Expr a, Expr b) {
  return a.builder().add(op, {a.value(), b.value()}, a.dtype());
}

Expr number_like(double number, Expr like) { return like.builder().scalar(number, like.dtype()); }

Expr compare(std::string_view op, Expr a, Expr b) {
  return a.builder().add(op, {a.value(), b.value()}, DType::boolean);
}

Expr reduce(std::string_view op, Expr x, Expr axes, KeepDims keepdims) {
  // No axes given means no axis at all, where a rank is only known when the graph runs.
  return x.builder().add(
      op, {x.value(), axes.value()}, x.dtype(),
      {{"keepdims", int64_t{keepdims == KeepDims::yes}}, {"noop_with_empty_axes", int64_t{1}}});
}

}  // namespace

int64_t inner_opset() { return newest_opset("").value(); }

std::vector<Value*> values(std::initializer_list<Expr> expressions) {
  std::vector<Value*> list;
  for (const Expr& expression : expressions) list.push_back(expression.value());
  return list;
}

std::vector<Expr> Builder::add_many(std::string_view op, std::string_view domain,
                                    std::vector<Value*> inputs, const std::vector<DType>& dtypes,
                                    const std::vector<NamedAttribute>& attributes) {
  Node* node = graph_.add_node(op, std::move(inputs), before_);
  node->domain = domain;
  node->opset = domain.empty() ? inner_opset() : 1;
  for (const NamedAttribute& attribute : attributes) {
    std::visit([&](const auto& value) { set_attribute(*node, attribute.name, value); },
               attribute.value);
  }
  std::vector<Expr> outputs;
  for (const DType dtype : dtypes) {
    const bool present = dtype != DType::undefined;
    const std::string name = present ? names_.fresh(prefix_ + std::string(op)) : "";
    outputs.push_back(expr(node->add_output(name, present ? Type::tensor(dtype) : Type())));
  }
  return outputs;
}

Expr Builder::add(std::string_view op, std::vector<Value*> inputs, DType dtype,
                  const std::vector<NamedAttribute>& attributes) {
  return add_many(op, "", std::move(inputs), {dtype}, attributes)[0];
}

Expr Builder::add_value(std::string_view op, std::vector<Value*> inputs, Type type,
                        const std::vector<NamedAttribute>& attributes) {
  const Expr added = add(op, std::move(inputs), DType::f32, attributes);
  added.value()->type = std::move(type);
  return added;
}

Expr Builder::add_internal(std::string_view op, std::vector<Value*> inputs, DType dtype,
                           const std::vector<NamedAttribute>& attributes) {
  return add_many(op, kInternalDomain, std::move(inputs), {dtype}, attributes)[0];
}

std::vector<Expr> Builder::splice(const Graph& body, std::span<Value* const> inputs) {
  ValueMap map;
  for (size_t i = 0; i < body.inputs().size(); ++i) map[body.inputs()[i]] = inputs[i];
  for (Value* value : body.initializers()) {
    if (!value->is_input()) map[value] = constant(*value->tensor()).value();
  }
  for (const auto& node : body.nodes()) {
    Node* copy = clone_node(*node, graph_, map, before_);
    for (const auto& output : copy->outputs()) {
      if (output) graph_.rename(output.get(), names_.fresh(prefix_ + output->name()));
    }
  }
  std::vector<Expr> outputs;
  for (Value* output : body.outputs()) outputs.push_back(expr(mapped(map, output)));
  return outputs;
}

Expr Builder::constant(Tensor tensor) {
  const DType dtype = tensor.dtype();
  return add("Constant", {}, dtype, {{"value", std::move(tensor)}});
}

Expr Builder::scalar(double number, DType dtype) { return constant(scalar_tensor(number, dtype)); }

Expr Builder::integers(const std::vector<int64_t>& numbers) {
  return constant(Tensor::of<int64_t>({static_cast<int64_t>(numbers.size())}, numbers));
}

Expr operator+(Expr a, Expr b) { return binary("Add", a, b); }
Expr operator-(Expr a, Expr b) { return binary("Sub", a, b); }
Expr operator*(Expr a, Expr b) { return binary("Mul", a, b); }
Expr operator/(Expr a, Expr b) { return binary("Div", a, b); }
Expr operator-(Expr a) { return unary("Neg", a); }
Expr operator+(Expr a, double b) { return a + number_like(b, a); }
Expr operator+(double a, Expr b) { return number_like(a, b) + b; }
Expr operator-(Expr a, double b) { return a - number_like(b, a); }
Expr operator-(double a, Expr b) { return number_like(a, b) - b; }
Expr operator*(Expr a, double b) { return a * number_like(b, a); }
Expr operator*(double a, Expr b) { return number_like(a, b) * b; }
Expr operator/(Expr a, double b) { return a / number_like(b, a); }
Expr operator/(double a, Expr b) { return number_like(a, b) / b; }

Expr larger(Expr a, Expr b) { return binary("Max", a, b); }
Expr abs(Expr x) { return unary("Abs", x); }
Expr exp(Expr x) { return unary("Exp", x); }
Expr log(Expr x) { return unary("Log", x); }
Expr sqrt(Expr x) { return unary("Sqrt", x); }
Expr pow(Expr x, Expr y) { return binary("Pow", x, y); }
Expr sign(Expr x) { return unary("Sign", x); }
Expr sigmoid(Expr x) { return unary("Sigmoid", x); }
Expr tanh(Expr x) { return unary("Tanh", x); }

Expr equal(Expr a, Expr b) { return compare("Equal", a, b); }
Expr less(Expr a, Expr b) { return compare("Less", a, b); }
Expr greater(Expr a, Expr b) { return compare("Greater", a, b); }
Expr greater_or_equal(Expr a, Expr b) { return compare("GreaterOrEqual", a, b); }
Expr logical_not(Expr x) { return unary("Not", x); }
Expr logical_and(Expr a, Expr b) { return binary("And", a, b); }

Expr sqrt_flat_at_zero(Expr x) {
  const auto number = [&](double value) { return x.builder().scalar(value, x.dtype()); };
  const Expr positive = greater(x, number(0));
  return where(positive, sqrt(where(positive, x, number(1))), x);
}

DType wide_type(DType dtype) { return bits(dtype) < 32 ? DType::f32 : dtype; }

Expr where(Expr condition, Expr yes, Expr no) {
  return yes.builder().add("Where", values({condition, yes, no}), yes.dtype());
}

Expr cast(Expr x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return x.builder().add("Cast", {x.value()}, dtype, {{"to", static_cast<int64_t>(dtype)}});
}

Expr shape_of(Expr x) { return x.builder().add("Shape", {x.value()}, DType::i64); }

Expr rank_of(Expr x) { return shape_of(shape_of(x)); }

Expr concat(std::initializer_list<Expr> parts, int64_t axis) {
  const Expr& first = *parts.begin();
  return first.builder().add("Concat", values(parts), first.dtype(), {{"axis", axis}});
}

Expr slice(Expr x, Expr starts, Expr ends, Expr axes) {
  return x.builder().add("Slice", values({x, starts, ends, axes}), x.dtype());
}

Expr reshape(Expr x, Expr shape) {
  // A zero in a computed shape is an empty dimension, not "as before".
  return x.builder().add("Reshape", values({x, shape}), x.dtype(), {{"allowzero", int64_t{1}}});
}

Expr expand(Expr x, Expr shape) { return x.builder().add("Expand", values({x, shape}), x.dtype()); }

Expr unsqueeze(Expr x, Expr axes) {
  return x.builder().add("Unsqueeze", values({x, axes}), x.dtype());
}

Expr squeeze(Expr x, Expr axes) { return x.builder().add("Squeeze", values({x, axes}), x.dtype()); }

Expr transpose(Expr x, const std::vector<int64_t>& permutation) {
  return x.builder().add("Transpose", {x.value()}, x.dtype(), {{"perm", permutation}});
}

Expr swap_last_two(Expr x) {
  return x.builder().add_internal("SwapLastTwo", {x.value()}, x.dtype());
}

Expr sum(Expr x, Expr axes, KeepDims keepdims) { return reduce("ReduceSum", x, axes, keepdims); }
Expr mean(Expr x, Expr axes, KeepDims keepdims) { return reduce("ReduceMean", x, axes, keepdims); }

Expr matmul(Expr a, Expr b) { return binary("MatMul", a, b); }

Expr gather(Expr x, Expr indices, int64_t axis) {
  return x.builder().add("Gather", values({x, indices}), x.dtype(), {{"axis", axis}});
}

Expr axes_from(Expr x, int64_t axis) {
  Builder& b = x.builder();
  const auto known = rank(x.value());
  if (axis >= 0 && !known) {
    const Expr end = squeeze(rank_of(x), b.integers({0}));
    const Expr begin = b.scalar(static_cast<double>(axis), DType::i64);
    return b.add("Range", values({begin, end, b.scalar(1, DType::i64)}), DType::i64);
  }
  std::vector<int64_t> axes(static_cast<size_t>(axis < 0 ? -axis : *known - axis));
  std::iota(axes.begin(), axes.end(), axis);
  return b.integers(axes);
}

Expr numbers_below(Expr count) {
  Builder& b = count.builder();
  const Expr limit = squeeze(count, b.integers({0}));
  return b.add("Range", values({b.scalar(0, DType::i64), limit, b.scalar(1, DType::i64)}),
               DType::i64);
}

Expr checked_up_to(Expr numbers, Expr largest) {
  const Expr zero = numbers.builder().scalar(0, DType::i64), beyond = largest + 1;
  return gather(numbers_below(beyond), where(less(numbers, zero), beyond, numbers), 0);
}

Expr flat_indices(Expr x) {
  Builder& b = x.builder();
  const Expr count = b.add("Size", {x.value()}, DType::i64);
  const Expr range =
      b.add("Range", values({b.scalar(0, DType::i64), count, b.scalar(1, DType::i64)}), DType::i64);
  return reshape(range, shape_of(x));
}

Expr scatter_add(Expr x, Expr indices, Expr shape) {
  return x.builder().add_internal("ScatterAdd", values({x, indices, shape}), x.dtype());
}

Expr dim_of(Expr x, int64_t axis) { return gather(shape_of(x), x.builder().integers({axis}), 0); }

Expr sum_to(Expr x, Expr shape) {
  return x.builder().add_internal("SumTo", values({x, shape}), x.dtype());
}

Expr zeros_like(Expr x) { return expand(number_like(0, x), shape_of(x)); }
Expr ones_like(Expr x) { return expand(number_like(1, x), shape_of(x)); }

}  // namespace onward
