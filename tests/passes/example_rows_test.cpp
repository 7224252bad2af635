// Which values could be computed from one example at a time: as a table, and for all operator cases
// against what the reference kernels give for one row and for all of them.

#include "passes/example_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "eval/interpreter.h"
#include "ir/clone.h"
#include "ir/rewrite.h"
#include "onward/error.h"
#include "ops/builder.h"
#include "passes/step_part.h"
#include "tests/ops/case.h"
#include "tests/passes/pass_case.h"

namespace onward {
namespace {

Type with_first(Type type, int64_t size) {
  type.shape->front() = Dim::known(size);
  return type;
}

/// Inputs whose first dimension is open count examples by it.
std::vector<BatchTypes> batches_of(const Model& model, std::vector<int64_t> sizes) {
  std::vector<BatchTypes> batches;
  for (const int64_t size : sizes) {
    BatchTypes& batch = batches.emplace_back(BatchTypes{.size = size});
    for (const Value* input : model.graph->inputs()) {
      const bool counts = !input->type.shape->empty() && !input->type.shape->front().value;
      batch.inputs[input->name()] = counts ? with_first(input->type, size) : input->type;
    }
  }
  return batches;
}

struct Row {
  std::string text;
  Rows y;
};

TEST(ExampleRows, AreToldApart) {
  const std::string k =
      "(float[N, 4] x) => (y) <float[4, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, "
      "int64[2] two = {0, 12}, int64[2] open = {-1, 2}, int64[1] one = {1}, int64[1] zero = {0}, "
      "float[4] v = {1, 2, 3, 4}, float[3, 4] wt = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}> ";
  const Row rows[] = {
      {"{ y = Relu(x) }", Rows::own},
      {"{ y = Add(x, v) }", Rows::own},
      {"{ y = Identity(v) }", Rows::alike},
      {"{ s = Shape(x) y = Identity(s) }", Rows::sizes},
      {"{ y = MatMul(x, w) }", Rows::own},
      {"{ t = Transpose<perm = [1, 0]>(x) y = MatMul(x, t) }", Rows::mixed},
      {"{ y = Gemm(x, w) }", Rows::own},
      {"{ y = Gemm<transA = 1>(x, x) }", Rows::mixed},
      {"{ y = Softmax(x) }", Rows::own},
      {"{ y = Softmax<axis = 0>(x) }", Rows::mixed},
      {"{ y = ReduceMean(x, one) }", Rows::own},
      {"{ y = ReduceMean(x, zero) }", Rows::mixed},
      {"{ y = ReduceMean(x) }", Rows::mixed},
      {"{ y = Sub(x, x) }", Rows::own},
      {"{ m = ReduceMean<keepdims = 0>(x, one) y = Unsqueeze(m, zero) }", Rows::own},
      {"{ y = Reshape(x, open) }", Rows::own},
      {"{ t = Transpose(x) y = MatMul(wt, t) }", Rows::own},
      {"{ t = Transpose(x) y = MatMul(t, x) }", Rows::mixed},
      {"{ t = Transpose(x) y = Softmax(t) }", Rows::mixed},
      {"{ t = Transpose(x) y = Softmax<axis = 0>(t) }", Rows::own},
      {"{ a = Unsqueeze(x, zero) y = Add(a, a) }", Rows::own},
      {"{ a = Unsqueeze(x, one) y = Flatten(a) }", Rows::own},
      {"{ a = Unsqueeze(x, zero) y = Add(a, x) }", Rows::own},
      {"{ y = Flatten<axis = 0>(x) }", Rows::own},
      {"{ s = Shape<end = 1>(x) ss = Concat<axis = 0>(s, s) y = Expand(one, ss) }", Rows::sizes},
      {"{ s = Shape(x) y = Reshape(x, s) }", Rows::own},
      {"{ s = Shape(x) a = Expand(v, s) y = Mul(a, x) }", Rows::own},
      {"{ y = Concat<axis = 1>(x, x) }", Rows::own},
      {"{ y = Concat<axis = 0>(x, x) }", Rows::mixed},
      {"{ y = Dropout(x) }", Rows::own},
      {"{ y = RandomNormalLike(x) }", Rows::mixed},
      {"{ i = ArgMax<axis = 1, keepdims = 0>(x) y = Gather(w, i) }", Rows::own},
  };
  for (const Row& row : rows) {
    const Model model = graph_of(k + row.text);
    const ExampleRows found(model, batches_of(model, {1, 6, 5}));
    EXPECT_EQ(found.of(model.graph->outputs()[0]), row.y) << row.text;
  }
}

/// Whether the elements of example `row` of `examples` are those of `one`.
bool same(const Tensor& all, const Tensor& one, const RowPlace& at, int64_t row, int64_t examples) {
  int64_t behind = at.inner;
  for (size_t d = static_cast<size_t>(at.axis) + 1; d < one.dims().size(); ++d) {
    behind *= one.dims()[d];
  }
  if (all.size() != one.size() * examples) return false;
  for (int64_t i = 0; i < one.size(); ++i) {
    const double a = all.number((i / behind * examples + row) * behind + i % behind);
    const double b = one.number(i);
    if (std::isnan(a) && std::isnan(b)) continue;
    if (!(a == b || std::fabs(a - b) <= 1e-9 * (1 + std::fabs(a) + std::fabs(b)))) return false;
  }
  return true;
}

Tensor row_of(const Tensor& tensor, int64_t row) {
  std::vector<int64_t> dims = tensor.dims();
  const int64_t width = tensor.size() / dims[0];
  dims[0] = 1;
  return tensor.part(row * width, std::move(dims));
}

/// With dimension `axis` as the first.
Tensor moved_first(const Tensor& tensor, size_t axis) {
  std::vector<int64_t> dims = tensor.dims();
  int64_t before = 1, behind = 1;
  for (size_t d = 0; d < dims.size(); ++d) (d < axis ? before : behind) *= dims[d];
  const int64_t count = dims[axis], width = behind / count;
  const auto bytes =
      static_cast<size_t>(tensor.bytes().size()) / static_cast<size_t>(tensor.size());
  auto moved = std::make_shared<std::string>();
  for (int64_t n = 0; n < count; ++n) {
    for (int64_t b = 0; b < before; ++b) {
      const auto first = static_cast<size_t>((b * count + n) * width) * bytes;
      moved->append(reinterpret_cast<const char*>(tensor.bytes().data()) + first,
                    static_cast<size_t>(width) * bytes);
    }
  }
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  dims.insert(dims.begin(), count);
  return Tensor::from_bytes(tensor.dtype(), std::move(dims), std::move(moved));
}

/// The graph of a case in which the inputs that are not named are constants, and the others count
/// the examples first, where the case has dimension `axis`.
Model with_constants(const Case& tested, const TensorMap& given,
                     const std::vector<std::string>& own, size_t axis) {
  const Model whole = case_model(tested, Shapes::symbolic);
  Model model = empty_like(whole);
  ValueMap map;
  for (const Value* input : whole.graph->inputs()) {
    const Tensor& tensor = given.at(input->name());
    const bool is_own = std::ranges::find(own, input->name()) != own.end();
    Value* value = is_own ? model.graph->add_input(input->name(), tensor.type())
                          : model.graph->add_initializer(input->name(), tensor);
    value->type = tensor.type();
    if (is_own && axis > 0) {
      std::vector<int64_t> order;
      for (size_t d = 0; d < tensor.dims().size(); ++d) {
        order.push_back(static_cast<int64_t>(d < axis ? d + 1 : d == axis ? 0 : d));
      }
      Node* back = model.graph->add_node("Transpose", {value});
      back->opset = inner_opset();
      set_attribute(*back, "perm", order);
      value = back->add_output(input->name() + "_back", Type::tensor(tensor.dtype()));
    }
    map[input] = value;
  }
  for (Value* initializer : whole.graph->initializers()) {
    map[initializer] =
        model.graph->add_initializer(initializer->name(), *initializer->initializer());
  }
  for (const auto& node : whole.graph->nodes()) clone_node(*node, *model.graph, map);
  for (Value* output : whole.graph->outputs()) model.graph->add_output(mapped(map, output));
  return model;
}

std::vector<Tensor> run(const Model& model, const TensorMap& inputs) {
  eval::Environment environment;
  for (const Value* input : model.graph->inputs()) environment[input] = inputs.at(input->name());
  return eval::outputs_of(*model.graph, std::move(environment));
}

/// How many outputs were found to have rows of their own, once that was looked at.
int compare(const Case& tested, const std::vector<std::string>& own, size_t axis) {
  TensorMap given;
  for (const auto& [name, tensor] : case_tensors(tested)) given.emplace(name, tensor);
  for (const std::string& name : own) {
    given.insert_or_assign(name, moved_first(given.at(name), axis));
  }
  const int64_t size = given.at(own[0]).dims()[0];
  const Model model = with_constants(tested, given, own, axis);
  std::vector<BatchTypes> batches = {{.size = 1}, {.size = size}};
  for (const std::string& name : own) {
    for (BatchTypes& batch : batches) {
      batch.inputs[name] = with_first(given.at(name).type(), batch.size);
    }
  }
  int found = 0;
  try {
    const ExampleRows rows(model, batches);
    const auto outputs = model.graph->outputs();
    const auto is_own = [&](const Value* each) { return rows.of(each) == Rows::own; };
    if (std::ranges::none_of(outputs, is_own)) return 0;
    const std::vector<Tensor> all = run(model, given);
    for (int64_t row = 0; row < size; ++row) {
      TensorMap one = given;
      for (const std::string& name : own) one.insert_or_assign(name, row_of(given.at(name), row));
      const std::vector<Tensor> results = run(model, one);
      for (size_t i = 0; i < outputs.size(); ++i) {
        if (!is_own(outputs[i])) continue;
        found += row == 0;
        EXPECT_TRUE(same(all[i], results[i], rows.place(outputs[i]), row, size))
            << tested.name << ": example " << row << " of " << outputs[i]->name()
            << ", counted in dimension " << axis;
      }
    }
  } catch (const Error&) {
    return found;  // it does not take one example
  }
  return found;
}

bool is_empty(const CaseInput& input) { return std::ranges::count(input.dims, 0) > 0; }

TEST(ExampleRows, HoldForAllCases) {
  int found = 0;
  for (const Case& tested : all_cases()) {
    if (!tested.error.empty()) continue;
    for (size_t axis = 0; axis < 4; ++axis) {
      std::vector<std::string> alike_in_size;
      for (const CaseInput& input : tested.inputs) {
        if (axis >= input.dims.size() || input.dims[axis] < 2 || is_empty(input)) continue;
        found += compare(tested, {input.name}, axis);
        const auto& first = tested.inputs[0].dims;
        if (axis < first.size() && input.dims[axis] == first[axis]) {
          alike_in_size.push_back(input.name);
        }
      }
      if (alike_in_size.size() > 1) found += compare(tested, alike_in_size, axis);
    }
  }
  EXPECT_GT(found, 400);
}

}  // namespace
}  // namespace onward
