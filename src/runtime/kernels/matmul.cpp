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

/// A stack of products: a and b are matrices, or stacks of them that are broadcast.
struct Stack {
  Product product;
  std::vector<int64_t> a_at, b_at;  // where each product's operands begin
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

void make_matmul(Site& site) {
  auto a_dims = site.input_dims(0), b_dims = site.input_dims(1), y_dims = site.output_dims(0);
  if (b_dims.size() == 1) b_dims.push_back(1), y_dims.push_back(1);
  if (a_dims.size() == 1) a_dims.insert(a_dims.begin(), 1), y_dims.insert(y_dims.end() - 1, 1);
  Stack stack{.product = {.m = a_dims[a_dims.size() - 2], .n = b_dims.back(), .k = a_dims.back()}};
  const auto outer = [](const std::vector<int64_t>& dims) {
    return std::span(dims).first(dims.size() - 2);
  };
  if (b_dims.size() == 2) {
    // One matrix for all: the stack of a is one tall matrix.
    stack.product.m = checked_element_count(y_dims) / std::max<int64_t>(stack.product.n, 1);
    stack.a_at = stack.b_at = {0};
  } else {
    stack.a_at = starts(outer(y_dims), outer(a_dims), stack.product.m * stack.product.k);
    stack.b_at = starts(outer(y_dims), outer(b_dims), stack.product.k * stack.product.n);
  }
  const SlotIndex a = site.input(0), b = site.input(1), y = site.output(0);
  as_float(site.dtype(), [&]<typename T>(T) {
    site.action([=](const Run& run) {
      const Product& product = stack.product;
      for (size_t i = 0; i < stack.a_at.size(); ++i) {
        product.run(run.at<T>(a) + stack.a_at[i], run.at<T>(b) + stack.b_at[i],
                    run.at<T>(y) + static_cast<int64_t>(i) * product.m * product.n);
      }
    });
  });
}

constexpr KernelChoice kChoices[] = {
    {"Gemm", "onednn", refuses_onednn, make_gemm},
    {"Gemm", "blis", refuses_type, make_gemm},
    {"MatMul", "blis", refuses_matmul, make_matmul},
};

}  // namespace

std::span<const KernelChoice> matmul_choices() { return kChoices; }

}  // namespace onward
