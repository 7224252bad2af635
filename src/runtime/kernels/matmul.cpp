// Products of matrices, by BLIS and oneDNN. Measured on this kind of machine, oneDNN reads
// transposed matrices faster (by a tenth to a half), and BLIS those that lie as they are
// multiplied.

#include <algorithm>
#include <limits>

#include "runtime/kernel.h"
#include "runtime/kernels/gemm.h"
#include "runtime/parallel.h"

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

Reason refuses_onednn(const Node& node) {
  if (node.output(0)->type.dtype != DType::f32) return "oneDNN multiplies only f32";
  if (node.int_or("transA", 0) == 0 && node.int_or("transB", 0) == 0) return "nothing transposed";
  return refuses_type(node);
}

void make_gemm(Site& site) {
  const Node& node = site.node();
  const auto a_dims = site.input_dims(0), y_dims = site.output_dims(0);
  Product product{.trans_a = node.int_or("transA", 0) != 0,
                  .trans_b = node.int_or("transB", 0) != 0,
                  .m = y_dims[0],
                  .n = y_dims[1],
                  .alpha = static_cast<double>(node.float_or("alpha", 1))};
  product.k = a_dims[product.trans_a ? 0 : 1];
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

/// A stack of products of matrices that lie somewhere in the operands: these may be stretched, so
/// that a matrix is read, or added to, more than once.
struct Stack {
  Product product;
  std::vector<int64_t> a_at, b_at, y_at;  // where each product's matrices begin
  int64_t results = 0;                    // elements of y

  bool adds() const { return static_cast<int64_t>(y_at.size()) * product.m * product.n > results; }

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
    const double flops = 2.0 * static_cast<double>(product.m * product.n * product.k);
    if (std::is_same_v<T, double> || adds() || count < 2 * threads() || flops > kLargeProduct) {
      return run_some(0, count);  // threads share each product
    }
    one.in_team = true;
    parallel_for(count, flops / 30, run_some);
  }

 private:
  static constexpr double kLargeProduct = 1e7;
};

Reason refuses_matmul(const Node& node) {
  if (static_dims(*node.input(0))->empty() || static_dims(*node.input(1))->empty())
    return "a scalar";
  return refuses_type(node);
}

Reason refuses_onednn_matmul(const Node& node) {
  if (node.output(0)->type.dtype != DType::f32) return "oneDNN multiplies only f32";
  return refuses_matmul(node);
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
  /// One matrix for all, and a not stretched: the stacks of a and y are one tall matrix each.
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

void plan_stack(Site& site, Stack stack, size_t a_input, size_t b_input) {
  stack.results = checked_element_count(site.output_dims(0));
  const SlotIndex a = site.input(a_input), b = site.input(b_input), y = site.output(0);
  as_float(site.dtype(), [&]<typename T>(T) {
    site.action([=](const Run& run) { stack.run(run.at<T>(a), run.at<T>(b), run.at<T>(y)); });
  });
}

Product one_product(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k) {
  return {.trans_a = trans_a, .trans_b = trans_b, .m = m, .n = n, .k = k};
}

void make_matmul(Site& site) {
  const Matrices all(site.input_dims(0), site.input_dims(1), site.output_dims(0));
  if (all.is_tall()) {
    const Product product = one_product(false, false, all.rows(), all.n(), all.k());
    return plan_stack(site, {product, {0}, {0}, {0}}, 0, 1);
  }
  const Product product = one_product(false, false, all.m(), all.n(), all.k());
  plan_stack(site, {product, all.a_at(), all.b_at(), all.y_at()}, 0, 1);
}

// MatMulGradA(a, b, dy) = dy b^T
void make_matmul_grad_a(Site& site) {
  const Matrices all(site.input_dims(0), site.input_dims(1), site.input_dims(2));
  if (all.is_tall()) {
    const Product product = one_product(false, true, all.rows(), all.k(), all.n());
    return plan_stack(site, {product, {0}, {0}, {0}}, 2, 1);
  }
  const Product product = one_product(false, true, all.m(), all.k(), all.n());
  plan_stack(site, {product, all.y_at(), all.b_at(), all.a_at()}, 2, 1);
}

// MatMulGradB(a, b, dy) = a^T dy
void make_matmul_grad_b(Site& site) {
  const Matrices all(site.input_dims(0), site.input_dims(1), site.input_dims(2));
  if (all.is_tall()) {
    const Product product = one_product(true, false, all.k(), all.n(), all.rows());
    return plan_stack(site, {product, {0}, {0}, {0}}, 0, 2);
  }
  const Product product = one_product(true, false, all.k(), all.n(), all.m());
  plan_stack(site, {product, all.a_at(), all.y_at(), all.b_at()}, 0, 2);
}

constexpr KernelChoice kChoices[] = {
    {"Gemm", "onednn", refuses_onednn, make_gemm},
    {"Gemm", "blis", refuses_type, make_gemm},
    {"MatMul", "blis", refuses_matmul, make_matmul},
    {"MatMulGradA", "onednn", refuses_onednn_matmul, make_matmul_grad_a, "onward"},
    {"MatMulGradA", "blis", refuses_matmul, make_matmul_grad_a, "onward"},
    {"MatMulGradB", "onednn", refuses_onednn_matmul, make_matmul_grad_b, "onward"},
    {"MatMulGradB", "blis", refuses_matmul, make_matmul_grad_b, "onward"},
};

}  // namespace

std::span<const KernelChoice> matmul_choices() { return kChoices; }

}  // namespace onward
