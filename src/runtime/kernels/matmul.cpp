// Products of matrices, by BLIS and oneDNN; gemm.cpp has the rule.

#include <algorithm>
#include <limits>

#include "runtime/kernel.h"
#include "runtime/kernels/gemm.h"
#include "runtime/parallel.h"
#include "runtime/reorder.h"

namespace onward {
namespace {

Reason refuses_type(const Node& node) {
  const DType dtype = node.output(0)->type.dtype;
  if (dtype != DType::f32 && dtype != DType::f64) return "neither f32 nor f64";
  for (const Value* input : node.inputs()) {
    if (!input) continue;
    const auto dims = *static_dims(*input);
    const auto too_large = [](int64_t dim) { return dim > std::numeric_limits<int>::max(); };
    if (std::ranges::any_of(dims, too_large)) return "a dimension beyond 2^31";
  }
  return {};
}

/// Calls body with a float or a double, as the node's type is.
template <typename Body>
auto as_float(DType dtype, Body body) {
  return dtype == DType::f32 ? body(float{}) : body(double{});
}

/// Fills y with c, broadcast to m rows of n.
template <typename T>
void spread(const T* c, std::span<const int64_t> dims, T* y, int64_t m, int64_t n, T scale) {
  const int64_t rows = dims.size() < 2 ? 1 : dims[dims.size() - 2];
  const int64_t columns = dims.empty() ? 1 : dims.back();
  for (int64_t i = 0; i < m; ++i) {
    const T* row = c + (rows == 1 ? 0 : i * columns);
    for (int64_t j = 0; j < n; ++j) y[i * n + j] = scale * row[columns == 1 ? 0 : j];
  }
}

Product gemm_product(const Node& node) {
  const auto a = *static_dims(*node.input(0)), y = *static_dims(*node.output(0));
  const bool trans_a = node.int_or("transA", 0) != 0;
  return {.trans_a = trans_a,
          .trans_b = node.int_or("transB", 0) != 0,
          .m = y[0],
          .n = y[1],
          .k = a[trans_a ? 0 : 1],
          .alpha = static_cast<double>(node.float_or("alpha", 1))};
}

Reason refuses_onednn(const Node& node, const Product& product) {
  if (node.output(0)->type.dtype != DType::f32) return "oneDNN multiplies only f32";
  return product.by_onednn() ? "" : "BLIS is faster for this shape";
}

/// Libraries leave out what is multiplied by 0, though 0 times NaN is NaN.
Reason refuses_gemm(const Node& node) {
  const bool has_zero =
      node.float_or("alpha", 1) == 0 || (node.input(2) && node.float_or("beta", 1) == 0);
  return has_zero ? "a factor of 0" : refuses_type(node);
}

Reason refuses_onednn_gemm(const Node& node) {
  const Reason reason = refuses_gemm(node);
  return reason.empty() ? refuses_onednn(node, gemm_product(node)) : reason;
}

void make_gemm(Site& site) {
  const Node& node = site.node();
  Product product = gemm_product(node);
  const SlotIndex a = site.input(0), b = site.input(1);
  const double beta = static_cast<double>(node.float_or("beta", 1));
  const bool has_c = site.has_input(2) && beta != 0;
  const SlotIndex c = has_c ? site.input(2) : -1;
  const auto c_dims = has_c ? site.input_dims(2) : std::vector<int64_t>{};
  if (has_c) product.beta = 1;
  const SlotIndex y = site.output(0);
  as_float(site.dtype(), [&]<typename T>(T) {
    site.action([=](const Run& run) {
      if (has_c) {
        spread(run.at<T>(c), c_dims, run.at<T>(y), product.m, product.n, static_cast<T>(beta));
      }
      product.run(run.at<T>(a), run.at<T>(b), run.at<T>(y));
    });
  });
}

/// A stack of products of matrices that lie somewhere in the operands: these may be broadcast, so
/// that a matrix is read, or added to, more than once.
struct Stack {
  Product product;
  std::vector<int64_t> a_at, b_at, y_at;  // where each product's matrices begin
  int64_t results = 0;                    // elements of y
  bool swapped = false;                   // b^T a is computed, and transposed

  /// Whether an element of y is the sum of several products, or of none: of an empty stack.
  bool adds() const { return static_cast<int64_t>(y_at.size()) * product.m * product.n != results; }

  /// Whether threads take products each, rather than share one.
  bool is_shared() const {
    const double flops = 2.0 * static_cast<double>(product.m * product.n * product.k);
    return !adds() && static_cast<int64_t>(y_at.size()) >= 2 * threads() && flops < kLargeProduct;
  }

  template <typename T>
  void run(const T* a, const T* b, T* y) const {
    Product one = product;
    if (adds()) {
      std::fill_n(y, results, T(0));
      one.beta = 1;
    }
    const auto run_some = [&](int64_t first, int64_t last) {
      for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i) {
        one.run(a + a_at[i], b + b_at[i], y + y_at[i]);
      }
    };
    const auto count = static_cast<int64_t>(y_at.size());
    if (!product.in_team) return run_some(0, count);
    const double cost = static_cast<double>(product.m * product.n * product.k) / 15;
    parallel_for(count, cost, run_some);
  }

 private:
  static constexpr double kLargeProduct = 1e7;
};

Reason refuses_matmul(const Node& node) {
  if (static_dims(*node.input(0))->empty() || static_dims(*node.input(1))->empty())
    return "a scalar";
  return refuses_type(node);
}

/// Where each matrix of a broadcast stack begins.
std::vector<int64_t> starts(std::span<const int64_t> stack, std::span<const int64_t> of,
                            int64_t matrix) {
  std::vector<int64_t> at;
  const size_t missing = stack.size() - of.size();
  const int64_t count = checked_element_count(stack);
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, index = 0, step = 1;
    for (size_t d = stack.size(); d-- > missing;) {
      const int64_t position = rest % stack[d], size = of[d - missing];
      rest /= stack[d];
      index += (size == 1 ? 0 : position) * step;
      step *= size;
    }
    at.push_back(index * matrix);
  }
  return at;
}

/// The operands of y = a b as stacks of matrices, with the dimension of one that stands for a
/// vector's missing one.
struct Matrices {
  std::vector<int64_t> a, b, y;

  Matrices(std::vector<int64_t> a_dims, std::vector<int64_t> b_dims, std::vector<int64_t> y_dims)
      : a(std::move(a_dims)), b(std::move(b_dims)), y(std::move(y_dims)) {
    if (b.size() == 1) b.push_back(1), y.push_back(1);
    if (a.size() == 1) a.insert(a.begin(), 1), y.insert(y.end() - 1, 1);
  }

  int64_t m() const { return a[a.size() - 2]; }
  int64_t k() const { return a.back(); }
  int64_t n() const { return b.back(); }
  /// One matrix for all, and a not broadcast: the stacks of a and y are one tall matrix each.
  bool is_tall() const { return b.size() == 2 && std::ranges::equal(outer(a), outer(y)); }
  int64_t rows() const { return checked_element_count(std::span(y).first(y.size() - 1)); }

  std::vector<int64_t> a_at() const { return starts(outer(y), outer(a), m() * k()); }
  std::vector<int64_t> b_at() const { return starts(outer(y), outer(b), k() * n()); }
  std::vector<int64_t> y_at() const { return starts(outer(y), outer(y), m() * n()); }

 private:
  static std::span<const int64_t> outer(const std::vector<int64_t>& dims) {
    return std::span(dims).first(dims.size() - 2);
  }
};

Product one_product(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k) {
  return {.trans_a = trans_a, .trans_b = trans_b, .m = m, .n = n, .k = k};
}

/// MatMul(a, b), MatMulGradA(a, b, dy) = dy b^T or MatMulGradB(a, b, dy) = a^T dy.
enum class Kind : uint8_t { product, grad_a, grad_b };

Kind kind_of(const Node& node) {
  if (node.op == "MatMulGradA") return Kind::grad_a;
  return node.op == "MatMulGradB" ? Kind::grad_b : Kind::product;
}

Stack stack_of(const Node& node) {
  const Kind kind = kind_of(node);
  const Value& y = kind == Kind::product ? *node.output(0) : *node.input(2);
  const Matrices all(*static_dims(*node.input(0)), *static_dims(*node.input(1)), *static_dims(y));
  const bool tall = all.is_tall();
  const int64_t m = tall ? all.rows() : all.m(), n = all.n(), k = all.k();
  const auto at = [&](std::vector<int64_t> starts) {
    return tall ? std::vector<int64_t>{0} : std::move(starts);
  };
  Stack stack;
  if (kind == Kind::product) {
    stack = {one_product(false, false, m, n, k), at(all.a_at()), at(all.b_at()), at(all.y_at())};
  } else if (kind == Kind::grad_a) {
    stack = {one_product(false, true, m, k, n), at(all.y_at()), at(all.b_at()), at(all.a_at())};
  } else {
    stack = {one_product(true, false, k, n, m), at(all.a_at()), at(all.y_at()), at(all.b_at())};
  }
  // Wide results of long sums: the libraries are half as fast as with tall ones, where rows of the
  // wide operand are a multiple of a page apart.
  if (kind == Kind::grad_b && tall && 2 * k <= n && m >= 256) {
    stack.product = one_product(true, false, n, k, m);
    stack.swapped = true;
  }
  stack.results = checked_element_count(*static_dims(*node.output(0)));
  stack.product.in_team = node.output(0)->type.dtype == DType::f32 && stack.is_shared();
  return stack;
}

Reason refuses_onednn_matmul(const Node& node) {
  if (const Reason reason = refuses_matmul(node); !reason.empty()) return reason;
  return refuses_onednn(node, stack_of(node).product);
}

void make_matmul(Site& site) {
  const Stack stack = stack_of(site.node());
  const Kind kind = kind_of(site.node());
  SlotIndex a = site.input(kind == Kind::grad_a ? 2 : 0),
            b = site.input(kind == Kind::grad_b ? 2 : 1);
  const SlotIndex y = site.output(0);
  as_float(site.dtype(), [&]<typename T>(T) {
    if (!stack.swapped) {
      site.action([=](const Run& run) { stack.run(run.at<T>(a), run.at<T>(b), run.at<T>(y)); });
      return;
    }
    std::swap(a, b);
    const SlotIndex turned = site.scratch(static_cast<size_t>(stack.results) * sizeof(T));
    const Reorder order{.rows = stack.product.m, .columns = stack.product.n, .element = sizeof(T)};
    site.action([=](const Run& run) {
      stack.run(run.at<T>(a), run.at<T>(b), run.at<T>(turned));
      order.run(run.at<std::byte>(turned), run.at<std::byte>(y));
    });
  });
}

constexpr KernelChoice kMatmulChoices[] = {
    {"Gemm", "onednn", refuses_onednn_gemm, make_gemm},
    {"Gemm", "blis", refuses_gemm, make_gemm},
    {"MatMul", "onednn", refuses_onednn_matmul, make_matmul},
    {"MatMul", "blis", refuses_matmul, make_matmul},
    {"MatMulGradA", "onednn", refuses_onednn_matmul, make_matmul, "onward"},
    {"MatMulGradA", "blis", refuses_matmul, make_matmul, "onward"},
    {"MatMulGradB", "onednn", refuses_onednn_matmul, make_matmul, "onward"},
    {"MatMulGradB", "blis", refuses_matmul, make_matmul, "onward"},
};

}  // namespace

std::span<const KernelChoice> matmul_choices() { return kMatmulChoices; }

}  // namespace onward
