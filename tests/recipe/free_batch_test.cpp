// A batch size that an exporter fixed: which graphs it can be opened in, and which node holds it.

#include "recipe/free_batch.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "eval/interpreter.h"
#include "eval/random_numbers.h"
#include "infer/infer.h"
#include "ir/copy.h"
#include "opset/lift.h"
#include "tests/recipe/models.h"

namespace onward {
namespace {

Model from_x(std::string_view input, std::string_view tensors, std::string_view nodes) {
  Model model =
      model_of("<ir_version: 8, opset_import: [\"\" : 18]>\ng (" + std::string(input) +
               " x) => (double[] y) <" + std::string(tensors) + "> { " + std::string(nodes) + " }");
  Problems problems;
  infer_types(model, problems);
  problems.throw_if_errors();
  return model;
}

struct Freed {
  std::string_view name;
  std::string_view input;
  std::string_view tensors, nodes;
  std::string_view result;  // the type of y
  int64_t edits = 0;
};

const Freed kFreed[] = {
    {"linear", "double[1,4]", "double[4,3] w = normal(1, 1), double[3] b = normal(2, 1)",
     "m = MatMul(x, w) a = Add(m, b) y = Softmax(a)", "f64[batch,3]"},
    {"gemm_of_five", "double[5,4]", "double[3,4] w = normal(1, 1), double[1,3] b = normal(2, 1)",
     "y = Gemm<transB = 1>(x, w, b)", "f64[batch,3]"},
    {"images", "double[1,2,6,6]", "double[3,2,3,3] w = normal(1, 1), int64[2] s = {1, -1}",
     "c = Conv(x, w) r = Relu(c) p = MaxPool<kernel_shape = [2, 2]>(r) f = Reshape(p, s) "
     "y = Identity(f)",
     "f64[batch,27]", 1},
    {"reshape_with_its_number", "double[2,2,6,6]", "int64[2] s = {2, 72}", "y = Reshape(x, s)",
     "f64[batch,72]", 1},
    {"reshape_to_more_rows", "double[2,6,4]",
     "int64[2] s = {12, 4}, double[4,3] w = normal(1, 1), int64[3] t = {2, 6, 3}",
     "r = Reshape(x, s) m = MatMul(r, w) y = Reshape(m, t)", "f64[batch,6,3]", 2},
    {"reshape_with_an_open_size", "double[2,6,4]", "int64[3] s = {2, -1, 2}", "y = Reshape(x, s)",
     "f64[batch,12,2]", 1},
    {"reshape_by_its_shape", "double[1,2,6,6]", "int64[1] z = {0}, int64[1] m = {-1}",
     "s = Shape(x) n = Gather(s, z) t = Concat<axis = 0>(n, m) y = Reshape(x, t)", "f64[batch,72]"},
    {"reshape_by_joined_constants", "double[1,2,6,6]", "int64[1] rest = {72}, int64[1] a = {-1}",
     "one = Constant<value_int = 1>() o = Reshape(one, a) s = Concat<axis = 0>(o, rest) y = "
     "Reshape(x, s)",
     "f64[batch,72]", 1},
    {"flatten", "double[1,2,6,6]", "", "y = Flatten(x)", "f64[batch,72]"},
    {"squeeze", "double[1,4,1]", "int64[1] a = {2}", "y = Squeeze(x, a)", "f64[batch,4]"},
    {"heads_of_attention", "double[1,6,4]",
     "int64[4] s = {1, 6, 2, 2}, double scale = full(0.5), int64[3] t = {1, 6, 4}",
     "r = Reshape(x, s) h = Transpose<perm = [0, 2, 1, 3]>(r) k = Transpose<perm = [0, 2, 3, "
     "1]>(r) "
     "q = MatMul(h, k) d = Mul(q, scale) a = Softmax(d) v = MatMul(a, h) "
     "b = Transpose<perm = [0, 2, 1, 3]>(v) y = Reshape(b, t)",
     "f64[batch,6,4]", 2},
    {"normalized", "double[1,6,4]",
     "double[4] g = full(2), double[4] b = full(1), int64[1] last = {-1}",
     "n = LayerNormalization(x, g, b) y = ReduceMean<keepdims = 0>(n, last)", "f64[batch,6]"},
    {"steps_first", "double[1,6,4]",
     "double[1,12,4] w = normal(1, 1), double[1,12,3] r = normal(2, 1)",
     "t = Transpose<perm = [1, 0, 2]>(x) y, h = LSTM<hidden_size = 3>(t, w, r)",
     "f64[6,1,batch,3]"},
    {"gathered_place", "double[1,6,4]", "int64 first = {0}", "y = Gather<axis = 1>(x, first)",
     "f64[batch,4]"},
    {"repeated", "double[1,1,4]", "int64[3] s = {1, 5, 1}", "y = Expand(x, s)", "f64[batch,5,4]"},
    {"limit_like_it", "double[1,4]", "float limit = full(0.5)",
     "l = CastLike(limit, x) y = Min(x, l)", "f64[batch,4]"},
    {"padded", "double[1,4]", "int64[4] p = {0, 1, 0, 2}", "y = Pad(x, p)", "f64[batch,7]"},
};

/// Row i of a batch, or all of them.
Tensor rows(const Tensor& all, int64_t first, int64_t count) {
  std::vector<int64_t> dims = all.dims();
  const int64_t width = all.size() / dims[0];
  dims[0] = count;
  return all.part(first * width, dims);
}

Tensor random_batch(const Type& type, int64_t count) {
  std::vector<int64_t> dims;
  for (const Dim& dim : *type.shape) dims.push_back(dim.value.value_or(count));
  dims[0] = count;
  const eval::RandomNumbers random({.seed = 1}, "x");
  std::vector<double> numbers(static_cast<size_t>(checked_element_count(dims)));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = random.normal(i);
  return Tensor::of<double>(dims, numbers);
}

Tensor result_of(const Model& model, const Tensor& x) {
  Model newest = copy(model);
  lift(newest);
  return eval::outputs_of(*newest.graph, {{newest.graph->inputs()[0], x}}).at(0);
}

class FreeBatchTest : public testing::TestWithParam<Freed> {};

TEST_P(FreeBatchTest, GivesEachExampleWhatItHasAlone) {
  const Freed& each = GetParam();
  const Model fixed = from_x(each.input, each.tensors, each.nodes);
  Model open = from_x(each.input, each.tensors, each.nodes);
  const int64_t batch = fixed.graph->inputs()[0]->type.shape->front().value.value();
  const std::string note = free_batch(open);
  EXPECT_EQ(note, fmt::format(
                      "the batch size was fixed at {} and is open now, since every node treats "
                      "examples apart{}",
                      batch,
                      each.edits ? fmt::format(" ({} of its shapes had it as a number)", each.edits)
                                 : ""));
  EXPECT_EQ(to_string(open.graph->outputs()[0]->type), each.result);
  Problems problems;
  infer_types(open, problems);
  EXPECT_TRUE(problems.empty()) << to_string(problems.list().front());

  const Tensor x = random_batch(fixed.graph->inputs()[0]->type, 3 * batch);
  const Tensor together = result_of(open, x);
  const auto& shape = *open.graph->outputs()[0]->type.shape;
  const auto axis = static_cast<size_t>(
      std::ranges::find(shape, std::string("batch"), &Dim::symbol) - shape.begin());
  for (int64_t i = 0; i < 3; ++i) {
    const Tensor alone = result_of(fixed, rows(x, i * batch, batch));
    // Examples may be in a dimension after others: compared place by place.
    std::vector<int64_t> dims = alone.dims();
    int64_t before = 1, after = 1;
    for (size_t d = 0; d < dims.size(); ++d) (d < axis ? before : after) *= d == axis ? 1 : dims[d];
    for (int64_t b = 0; b < before; ++b) {
      for (int64_t k = 0; k < batch * after; ++k) {
        const int64_t there = (b * 3 + i) * batch * after + k;
        ASSERT_EQ(together.number(there), alone.number(b * batch * after + k)) << each.name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Recipe, FreeBatchTest, testing::ValuesIn(kFreed),
                         [](const auto& info) { return std::string(info.param.name); });

struct Held {
  std::string_view name;
  std::string_view input;
  std::string_view tensors, nodes;
  std::string_view reason;
};

const Held kHeld[] = {
    {"class_token", "double[1,6,4]", "double[1,1,4] cls = full(1)", "y = Concat<axis = 1>(cls, x)",
     "Concat 'y': it joins 'cls' f64[1,1,4] to the examples, which stays as large"},
    {"a_constant_for_each_example", "double[3,4]", "double[3,4] c = full(1)", "y = Add(x, c)",
     "Add 'y': its input 'c' f64[3,4] is made for that many examples"},
    {"mean_of_all", "double[3,4]", "", "m = ReduceMean(x) y = Sub(x, m)",
     "ReduceMean 'm': it joins all examples"},
    {"softmax_of_examples", "double[3,4]", "", "y = Softmax<axis = 0>(x)",
     "Softmax 'y': it works along the dimension of examples"},
    {"each_with_each", "double[3,4]", "", "t = Transpose(x) y = MatMul(x, t)",
     "MatMul 'y': it combines each example with each other one"},
    {"no_batch_at_all", "double[3,4]", "double[2,3] w = full(1)", "y = MatMul(w, x)",
     "MatMul 'y': it adds up examples"},
    {"picture_without_batch", "double[3,6,6]", "double[2,3,1,1] w = full(1), int64[1] z = {0}",
     "u = Unsqueeze(x, z) y = Conv(u, w)", "Conv 'y': its channels would be mixed up"},
    {"squeezes_all", "double[1,4,1]", "", "y = Squeeze(x)",
     "Squeeze 'y': it drops all dimensions of 1"},
    {"mixed_up", "double[2,6]", "int64[2] s = {3, 4}", "y = Reshape(x, s)",
     "Reshape 'y': it turns f64[2,6] into f64[3,4], where examples are not kept apart"},
    {"state_of_an_lstm", "double[6,6,4]",
     "double[1,12,4] w = full(1), double[1,12,3] r = full(1), double[1,6,3] h = full(0)",
     "t = Transpose<perm = [1, 0, 2]>(x) y = LSTM<hidden_size = 3>(t, w, r, , , h)",
     "LSTM 'y': its input 'h' f64[1,6,3] is made for that many examples"},
    {"unknown", "double[3,3]", "", "y = Det(x) z = NonZero(x)", "Det 'y': it is not known to"},
    {"first_example", "double[3,4]", "int64 first = {0}", "y = Gather<axis = 0>(x, first)",
     "Gather 'y': it works along the dimension of examples"},
    {"cut", "double[3,4]", "int64[1] a = {0}, int64[1] b = {3}", "y = Slice(x, a, b, a)",
     "Slice 'y': it cuts the dimension of examples"},
};

TEST(FreeBatchTest, NamesTheNodeThatHoldsIt) {
  for (const Held& each : kHeld) {
    Model model = from_x(each.input, each.tensors, each.nodes);
    const std::string before = to_string(model.graph->inputs()[0]->type);
    const std::string note = free_batch(model);
    EXPECT_TRUE(note.starts_with("the batch size stays fixed at ")) << each.name << ": " << note;
    EXPECT_NE(note.find(each.reason), std::string::npos) << each.name << ": " << note;
    EXPECT_EQ(to_string(model.graph->inputs()[0]->type), before);
  }
}

TEST(FreeBatchTest, LeavesWhatIsOpenOrKept) {
  Model open = from_x("double[N,4]", "", "y = Relu(x)");
  EXPECT_EQ(free_batch(open), "");
  Recipe recipe{.loss = "mse"};
  constexpr std::string_view kFixed =
      "<ir_version: 8, opset_import: [\"\" : 17]> g (double[2,4] x) => (double[2,3] y) "
      "<double[4,3] w = full(1)> { y = MatMul(x, w) }";
  EXPECT_EQ(to_string(prepare(model_of(kFixed), recipe).graph->inputs()[0]->type), "f64[batch,4]");
  recipe.keep_batch = true;
  EXPECT_EQ(to_string(prepare(model_of(kFixed), recipe).graph->inputs()[0]->type), "f64[2,4]");
}

}  // namespace
}  // namespace onward
