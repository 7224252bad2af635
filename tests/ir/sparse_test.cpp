// Sparse initializers: their places are checked, and what runs sees them dense.

#include "ir/sparse.h"

#include <gtest/gtest.h>

#include "onward/error.h"
#include "opset/lift.h"

namespace onward {
namespace {

SparseTensor sparse_of(std::vector<int64_t> index_dims, const std::vector<int64_t>& indices) {
  return {.dims = {2, 3},
          .values = Tensor::of<float>({2}, {5, 7}),
          .indices = Tensor::of<int64_t>(std::move(index_dims), indices)};
}

std::vector<double> numbers(const Tensor& tensor) {
  std::vector<double> all;
  for (int64_t i = 0; i < tensor.size(); ++i) all.push_back(tensor.number(i));
  return all;
}

TEST(Sparse, BecomesDense) {
  const std::vector<double> expected = {0, 5, 0, 0, 0, 7};
  EXPECT_EQ(numbers(to_dense(sparse_of({2}, {1, 5}))), expected);
  EXPECT_EQ(numbers(to_dense(sparse_of({2, 2}, {0, 1, 1, 2}))), expected);
}

TEST(Sparse, RefusesPlacesOutside) {
  const SparseTensor kOutside[] = {
      sparse_of({2}, {1, 6}),
      sparse_of({2}, {-1, 5}),
      sparse_of({2, 2}, {0, 3, 1, 2}),  // would be the first of the next row
      sparse_of({2, 2}, {0, 1, 2, 0}),
  };
  for (const SparseTensor& sparse : kOutside) {
    EXPECT_THROW(check_indices(sparse), Error);
    EXPECT_THROW(to_dense(sparse), Error);
  }
}

TEST(Sparse, IsDenseInALiftedModel) {
  Model model;
  model.ir_version = 10;
  Value* w = model.graph->add_initializer("w", Initializer{.data = sparse_of({2}, {1, 5})});
  lift(model);
  ASSERT_NE(w->tensor(), nullptr);
  EXPECT_EQ(to_string(w->type), "f32[2,3]");
}

}  // namespace
}  // namespace onward
