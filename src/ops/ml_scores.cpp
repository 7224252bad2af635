#include "ops/ml_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "onward/error.h"

namespace onward {

Expr as_features(Expr x) { return cast(x, x.dtype() == DType::f64 ? DType::f64 : DType::f32); }

const Floats& list_of(const Node& node, const char* name) {
  const auto* found = node.get<Floats>(name);
  if (!found || found->empty()) throw Error(fmt::format("its attribute '{}' is missing", name));
  return *found;
}

Expr constant_floats(Expr like, std::vector<int64_t> dims, const Floats& numbers) {
  return cast(like.builder().constant(Tensor::of<float>(std::move(dims), numbers)), like.dtype());
}

Expr constant_vector(Expr like, const Floats& numbers) {
  return constant_floats(like, {static_cast<int64_t>(numbers.size())}, numbers);
}

std::optional<int64_t> feature_count(const ExpandContext& c) {
  const auto& shape = c.node().input(0)->type.shape;
  if (!shape) return std::nullopt;
  if (shape->empty()) throw Error("its input is a scalar, and has no features");
  return shape->back().value;
}

void require_features(const ExpandContext& c, const char* name, size_t given) {
  const auto features = feature_count(c);
  if (given == 1 || !features || static_cast<int64_t>(given) == *features) return;
  throw Error(
      fmt::format("its attribute '{}' has {} numbers for {} features", name, given, *features));
}

void require_matrix(const ExpandContext& c) {
  const auto known = rank(c.node().input(0));
  if (known && *known != 2) {
    throw Error(fmt::format("its input has rank {}, not 2", *known));
  }
}

Expr largest_of_row(Expr x) {
  return x.builder().add("ReduceMax", values({x, x.builder().integers({-1})}), x.dtype());
}

// ---- scores

namespace {

/// Softmax in which what is zero stays it, and a row of zeros is one of halves.
Expr softmax_of_others(Expr z) {
  Builder& b = z.builder();
  const Expr highest = largest_of_row(z);
  const Expr is_zero = logical_not(greater(abs(z), b.scalar(1e-7, z.dtype())));
  const Expr e = where(is_zero, z * exp(-highest), exp(z - highest));
  const Expr total = sum(e, b.integers({-1}), KeepDims::yes), zero = b.scalar(0, z.dtype());
  const Expr one = b.scalar(1, z.dtype()), half = b.scalar(0.5, z.dtype());
  const Expr is_empty = equal(total, zero);
  return where(is_empty, half, e / where(is_empty, one, total));
}

}  // namespace

Expr transformed(const ExpandContext& c, Expr z) {
  const std::string how = c.node().string_or("post_transform", "NONE");
  if (how == "NONE") return z;
  if (how == "LOGISTIC") return sigmoid(z);
  if (how == "SOFTMAX") {
    return z.builder().add("Softmax", {z.value()}, z.dtype(), {{"axis", int64_t{-1}}});
  }
  if (how == "SOFTMAX_ZERO") return softmax_of_others(z);
  if (how == "PROBIT") {
    throw Error("post_transform PROBIT needs the inverse of erf, which has no kernel yet");
  }
  throw Error(fmt::format("its post_transform '{}' is none of the standard's", how));
}

Expr linear_scores(const ExpandContext& c, Expr x, int64_t rows, const Floats& coefficients) {
  require_matrix(c);
  const auto count = static_cast<int64_t>(coefficients.size());
  const auto features = feature_count(c);
  if (rows < 1 || count % rows != 0 || (features && count != rows * *features)) {
    throw Error(fmt::format("{} coefficients for {} rows of {} features", count, rows,
                            features ? fmt::to_string(*features) : "?"));
  }
  const Expr matrix = constant_floats(x, {rows, count / rows}, coefficients);
  return matmul(x, transpose(matrix, {1, 0}));
}

// ---- classes

Tensor class_labels(const Node& node, const char* ints) {
  const auto* numbers = node.get<std::vector<int64_t>>(ints);
  const auto* texts = node.get<std::vector<std::string>>("classlabels_strings");
  const bool has_numbers = numbers && !numbers->empty(), has_texts = texts && !texts->empty();
  if (has_numbers == has_texts) {
    throw Error("it must have labels that are integers, or labels that are strings");
  }
  if (has_numbers) return Tensor::of<int64_t>({static_cast<int64_t>(numbers->size())}, *numbers);
  return Tensor::of_strings({static_cast<int64_t>(texts->size())}, *texts);
}

// Where an element is the largest, it counts the more the further in front it is.
Expr first_largest(Expr z, int64_t count) {
  Builder& b = z.builder();
  std::vector<int64_t> back;
  for (int64_t i = 0; i < count; ++i) back.push_back(count - i);
  const Expr is_largest = logical_not(less(z, largest_of_row(z)));
  const Expr places = where(is_largest, b.integers(back), b.scalar(0, DType::i64));
  const Expr furthest = b.add("ReduceMax", values({places, b.integers({-1})}), DType::i64,
                              {{"keepdims", int64_t{0}}});
  return static_cast<double>(count) - furthest;
}

Expr label_at(Expr index, const Tensor& labels) {
  return gather(index.builder().constant(labels), index, 0);
}

Expr with_opposite(Expr z) { return concat({-z, z}, 1); }

}  // namespace onward
