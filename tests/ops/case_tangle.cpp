#include "tests/ops/case_tangle.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <sstream>
#include <unordered_set>

#include "format/load.h"
#include "ir/clone.h"
#include "ir/dependence.h"
#include "tests/ops/case.h"

namespace onward {
namespace {

/// Ways to use a value %x of the shape of %y; %a ... are values of their own, %T the float type.
constexpr std::array kMatrixUses = {
    "%y = Relu(%x)",
    "%a = Greater(%x, zero); %y = Where(%a, %x, half)",
    "%a = Greater(%x, zero); %b = Cast<to = %T>(%a); %y = Mul(%b, %x)",
    "%a = Greater(%x, zero); %b = Cast<to = %T>(%a); %y = MatMul(%b, square)",
    "%a = Less(%x, zero); %y = Where(%a, half, %x)",
    "%y = LeakyRelu<alpha = 0.25>(%x)",
    "%y = Sigmoid(%x)",
    "%y = Tanh(%x)",
    "%y = Gelu(%x)",
    "%y = Abs(%x)",
    "%y = Softmax<axis = 1>(%x)",
    "%y = LogSoftmax<axis = 1>(%x)",
    "%y = LayerNormalization<axis = 1>(%x, scale, bias)",
    "%y = LayerNormalization<axis = 1>(%x, bias, scale)",
    "%y, %a, %b = BatchNormalization<training_mode = 1>(%x, scale, bias, mean, var)",
    "%a, %b, %c = BatchNormalization<training_mode = 1>(%x, scale, bias, mean, var); %y = Relu(%a)",
    "%a, %b, %c = BatchNormalization<training_mode = 1>(%x, scale, half6, mean, var); %d = "
    "Relu(%a); %y = Add(%a, %d)",
    "%a = BatchNormalization(%x, scale, bias, mean, var); %y = Relu(%a)",
    "%y = BatchNormalization(%x, scale, bias, mean, var)",
    "%y = Mul(%x, one)",
    "%y = Identity(%x)",
    "%y = Sum(%x)",
    "%a = Reshape(%x, flat); %b = Relu(%a); %y = Reshape(%b, same)",
    "%a = ReduceSum<keepdims = 1>(%x, last); %b = Expand(%a, same); %y = Add(%b, %x)",
    "%a = ReduceMax<keepdims = 1>(%x, last); %y = Sub(%x, %a)",
    "%a = Transpose(%x); %b = Transpose(%a); %y = MatMul(%b, square)",
    "%a = Transpose(%x); %b = MatMul(%a, %x); %c = MatMul(%x, %b); %y = Tanh(%c)",
    "%a = MatMul(%x, square); %b = Transpose(%a); %y = Transpose(%b)",
    "%y = Gemm(%x, square, bias)",
    "%y = Clip(%x, zero, half)",
    "%y = Max(%x, half)",
    "%a, %b = Split<axis = 1, num_outputs = 2>(%x); %y = Concat<axis = 1>(%b, %a)",
};
constexpr std::array kImageUses = {
    "%y = Relu(%x)",
    "%a = Greater(%x, zero); %y = Where(%a, %x, half)",
    "%y = Conv<pads = [1, 1, 1, 1]>(%x, kernel)",
    "%a = Conv<pads = [1, 1, 1, 1]>(%x, kernel); %y = Relu(%a)",
    "%y = MaxPool<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(%x)",
    "%a = MaxPool<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(%x); %y = Relu(%a)",
    "%y = AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(%x)",
    "%a, %b, %c = BatchNormalization<training_mode = 1>(%x, scale, bias, mean, var); %y = Relu(%a)",
    "%y, %a, %b = BatchNormalization<training_mode = 1>(%x, scale, bias, mean, var)",
    "%a = BatchNormalization(%x, scale, bias, mean, var); %y = Relu(%a)",
    "%a = GlobalAveragePool(%x); %y = Mul(%x, %a)",
};

struct Line {
  std::string text;
  std::vector<std::string> outputs, inputs;
};

std::vector<std::string> names_in(std::string list) {
  std::ranges::replace(list, ',', ' ');
  std::istringstream words(list);
  return {std::istream_iterator<std::string>(words), {}};
}

Line line_of(const std::string& text) {
  const size_t open = text.rfind('(');
  return {text, names_in(text.substr(0, text.find('='))),
          names_in(text.substr(open + 1, text.rfind(')') - open - 1))};
}

/// Lines in a random order in which each comes after those that it reads.
std::string shuffled(std::vector<Line> lines, std::mt19937_64& random) {
  std::set<std::string> open;
  for (const Line& line : lines) open.insert(line.outputs.begin(), line.outputs.end());
  std::string text;
  while (!lines.empty()) {
    std::vector<size_t> ready;
    for (size_t i = 0; i < lines.size(); ++i) {
      const auto is_open = [&](const std::string& name) { return open.contains(name); };
      if (std::ranges::none_of(lines[i].inputs, is_open)) ready.push_back(i);
    }
    const size_t chosen = ready.at(random() % ready.size());
    text += "  " + lines[chosen].text + "\n";
    for (const std::string& name : lines[chosen].outputs) open.erase(name);
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(chosen));
  }
  return text;
}

/// Adds random uses of `first` and of what came of it; gives all results of its shape.
std::vector<std::string> add_uses(std::vector<Line>& lines, const std::string& first,
                                  std::span<const char* const> uses, DType dtype,
                                  std::mt19937_64& random) {
  std::vector<std::string> results = {first};
  const size_t count = 2 + random() % 5;
  for (size_t i = 0; i < count; ++i) {
    const std::string x = results[random() % results.size()];
    const std::string prefix = fmt::format("{}{}_", first, i);
    std::string text;
    const std::string_view use = uses[random() % uses.size()];
    for (size_t at = 0; at < use.size(); ++at) {
      if (use[at] != '%') {
        text += use[at];
        continue;
      }
      const char what = use[++at];
      text += what == 'x'   ? x
              : what == 'T' ? std::to_string(static_cast<int>(dtype))
                            : prefix + what;
    }
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find("; ", begin), text.size());
      lines.push_back(line_of(text.substr(begin, end - begin)));
      begin = end + 2;
    }
    results.push_back(prefix + "y");
  }
  return results;
}

}  // namespace

Model tangled_model(uint64_t seed, DType dtype) {
  std::mt19937_64 random(seed);
  const std::string type(onnx_name(dtype));
  std::vector<Line> forward = {line_of("p = Mul(x, w)"), line_of("q = Conv(image, kernel1)")};
  const auto matrices = add_uses(forward, "p", kMatrixUses, dtype, random);
  const auto images = add_uses(forward, "q", kImageUses, dtype, random);
  forward.push_back(line_of("psquare = MatMul(p, square)"));
  forward.push_back(line_of(fmt::format("y = Sum(psquare, {})", fmt::join(matrices, ", "))));
  forward.push_back(line_of(fmt::format("z = Sum({})", fmt::join(images, ", "))));
  const std::vector<Line> step = {
      line_of("yy = Mul(y, y)"),
      line_of("zz = Mul(z, z)"),
      line_of("ly = ReduceMean<keepdims = 0>(yy)"),
      line_of("lz = ReduceMean<keepdims = 0>(zz)"),
      line_of("loss = Add(ly, lz)"),
      {"dw, ds, dk = ai.onnx.preview.training.Gradient<xs = [\"w\", \"square\", \"kernel1\"], y = "
       "\"loss\">(w, square, kernel1)",
       {"dw", "ds", "dk"},
       {"loss"}},
      line_of("rw = Mul(dw, rate)"),
      line_of("new_w = Sub(w, rw)"),
      line_of("rs = Mul(ds, rate)"),
      line_of("new_square = Sub(square, rs)"),
      line_of("rk = Mul(dk, rate)"),
      line_of("new_kernel1 = Sub(kernel1, rk)"),
      line_of("new_count = Add(count, one)"),
  };
  const std::string text = fmt::format(
      R"(<ir_version: 10, opset_import: ["" : 21, "ai.onnx.preview.training" : 1]>
tangle ({0}[4,6] x, {0}[2,2,5,5] image) => ({0}[4,6] y, {0}[2,6,5,5] z)
<{0}[4,6] w = normal(1, 1), {0}[6,6] square = normal(2, 0.5), {0}[6,2,1,1] kernel1 = normal(3, 1),
 {0}[6,6,3,3] kernel = normal(4, 0.3), {0}[6] scale = uniform(5, 0.5, 1.5), {0}[6] bias = normal(6, 1),
 {0}[6] mean = normal(7, 0.2), {0}[6] var = uniform(8, 0.5, 2), {0}[6] half6 = full(0.5),
 {0} zero = {{0}}, {0} half = {{0.5}}, {0} one = {{1}}, int64[2] same = {{4, 6}}, int64[1] flat = {{-1}},
 int64[1] last = {{1}}> {{
{1}}}
training_info {{
  algorithm step () => ({0} loss, {0}[4,6] new_w, {0}[6,6] new_square, {0}[6,2,1,1] new_kernel1,
                        {0} new_count)
  <{0} rate = {{0.015625}}, {0} count = {{0}}> {{
{2}  }}
  update_binding {{ w <- new_w  square <- new_square  kernel1 <- new_kernel1  count <- new_count }}
}})",
      type, shuffled(forward, random), shuffled(step, random));
  return parse_text(text);
}

TensorMap tangled_inputs(DType dtype) {
  CaseInput x = f64("x", {4, 6}), image = f64("image", {2, 2, 5, 5});
  x.dtype = image.dtype = dtype;
  return {{"x", case_tensor(x, 1)}, {"image", case_tensor(image, 2)}};
}

Model reordered(const Model& step, std::mt19937_64& random) {
  Model copy;
  copy.ir_version = step.ir_version;
  copy.opsets = step.opsets;
  ValueMap map;
  for (const Value* input : step.graph->inputs()) {
    map[input] = copy.graph->add_input(input->name(), input->type);
  }
  for (const Value* value : step.graph->initializers()) {
    if (value->is_input()) {
      copy.graph->set_initializer(map.at(value), *value->initializer());
    } else {
      map[value] = copy.graph->add_initializer(value->name(), *value->initializer());
      map[value]->type = value->type;
    }
  }
  std::vector<const Node*> left;
  for (const auto& node : step.graph->nodes()) left.push_back(node.get());
  while (!left.empty()) {
    std::vector<size_t> ready;
    for (size_t i = 0; i < left.size(); ++i) {
      const auto is_there = [&](const Value* value) { return map.contains(value); };
      if (std::ranges::all_of(all_reads(*left[i]), is_there)) ready.push_back(i);
    }
    const size_t chosen = ready.at(random() % ready.size());
    clone_node(*left[chosen], *copy.graph, map);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(chosen));
  }
  for (Value* output : step.graph->outputs()) copy.graph->add_output(map.at(output));
  for (const TrainingInfo& info : step.training) {
    copy.training.emplace_back();
    for (const Binding& binding : info.update_bindings) {
      copy.training.back().update_bindings.push_back(
          {map.at(binding.target), map.at(binding.source)});
    }
  }
  return copy;
}

}  // namespace onward
