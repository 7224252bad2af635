// The steps of an LSTM in one node, so that a kernel can keep the states of some examples in its
// caches from step to step:
//
//   y, h, c, activated, cells = LstmSteps(gates, R, h0, c0)
//
//   i, o, f, g = sigmoid(gates + h R^T), the last of them by tanh;  c' = f c + i g;  h' = o
//   tanh(c')
//
// The backward reads what the forward has kept: the activated gates and the cells of all steps.
// Both are Scans in plain operators, by which they are lowered and differentiated again.

#include "ops/lstm_steps.h"

#include <algorithm>

#include "ops/families.h"
#include "ops/subgraph.h"

namespace onward {
namespace {

enum Input : uint8_t { kGates, kRecurrent, kH, kC };
enum Output : uint8_t { kAllH, kLastH, kLastC, kActivated, kCells, kOutputs };

bool is_reverse(const Node& node) { return node.int_or("reverse", 0) != 0; }

/// A Scan over the first dimension whose body is written step by step.
class ScanWriter {
 public:
  ScanWriter(Builder& around, DType dtype)
      : around_(around),
        dtype_(dtype),
        body_(std::make_unique<Graph>(&around.graph())),
        inside_(around.inside(*body_)) {
    body_->name = around.fresh("step");
  }

  Builder& inside() { return inside_; }
  /// A value of the graph around, in the body.
  Expr captured(Expr around) { return inside_.expr(around.value()); }

  /// First the states, then what goes by, matrices all of them.
  Expr input(const char* name, Expr from) {
    inputs_.push_back(from.value());
    return inside_.expr(body_->add_input(around_.fresh(name), Type::tensor(dtype_, Shape(2))));
  }
  void next(Expr state) {
    body_->add_output(computed_inside(inside_, state.value()));
    types_.push_back(Type::tensor(dtype_, Shape(2)));
  }
  void give(Expr value) {
    body_->add_output(inside_.add("Identity", {value.value()}, dtype_).value());
    types_.push_back(Type::tensor(dtype_, Shape(3)));
    ++given_;
  }

  /// The last states, then what was given at all times.
  std::vector<Expr> add(size_t states, bool reverse) {
    const auto direction = static_cast<int64_t>(reverse);
    SubgraphNode node{.op = "Scan", .inputs = std::move(inputs_), .graphs = {}, .outputs = types_};
    const size_t scanned = node.inputs.size() - states;
    node.attributes = {{"num_scan_inputs", static_cast<int64_t>(scanned)},
                       {"scan_input_directions", std::vector<int64_t>(scanned, direction)}};
    if (given_ > 0) {
      node.attributes.push_back(
          {"scan_output_directions", std::vector<int64_t>(given_, direction)});
    }
    node.graphs.emplace_back("body", std::move(body_));
    return add_subgraph_node(around_, std::move(node));
  }

 private:
  Builder& around_;
  DType dtype_;
  std::unique_ptr<Graph> body_;
  Builder inside_;
  std::vector<Value*> inputs_;
  std::vector<Type> types_;
  size_t given_ = 0;
};

/// The four gates, side by side in the last dimension.
std::vector<Expr> split_gates(Expr gates, Expr hidden) {
  Builder& b = gates.builder();
  const Expr sizes = expand(hidden, b.integers({4}));
  return b.add_many("Split", "", values({gates, sizes}), std::vector(4, gates.dtype()),
                    {{"axis", int64_t{-1}}});
}

std::vector<Expr> lstm_steps_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const Expr gates = c.input(kGates), hidden = dim_of(c.input(kRecurrent), 1);
  const Expr recurrent = transpose(c.input(kRecurrent), {1, 0});
  ScanWriter scan(b, gates.dtype());
  const Expr h = scan.input("h", c.input(kH)), cell = scan.input("c", c.input(kC));
  const Expr now = scan.input("gates", gates);
  const auto parts = split_gates(now + matmul(h, scan.captured(recurrent)), scan.captured(hidden));
  const Expr i = sigmoid(parts[0]), o = sigmoid(parts[1]), f = sigmoid(parts[2]),
             g = tanh(parts[3]);
  const Expr next_cell = f * cell + i * g, next_h = o * tanh(next_cell);
  scan.next(next_h);
  scan.next(next_cell);
  const Node& node = c.node();
  if (node.output(kAllH)) scan.give(next_h);
  if (node.output(kActivated)) scan.give(concat({i, o, f, g}, -1));
  if (node.output(kCells)) scan.give(next_cell);
  auto results = scan.add(2, is_reverse(node));
  std::vector<Expr> outputs(kOutputs, b.expr(nullptr));
  outputs[kLastH] = results[0];
  outputs[kLastC] = results[1];
  auto given = results.begin() + 2;
  for (const size_t output : {kAllH, kActivated, kCells}) {
    if (node.output(output)) outputs[output] = *given++;
  }
  return outputs;
}

/// What was the state before each step: `first`, then all but the last of `states`.
Expr before_each_step(Expr first, Expr states, bool reverse) {
  Builder& b = states.builder();
  const Expr none = b.integers({0}), one = b.integers({1}), steps = dim_of(states, 0);
  const Expr begin = unsqueeze(first, none);
  return reverse ? slice(concat({states, begin}, 0), one, steps + one, none)
                 : slice(concat({begin, states}, 0), none, steps, none);
}

/// The gradients through the Scan, where those of what the backward reads are asked for: it is
/// differentiated itself.
Grads through_expansion(const VjpContext& c) {
  const std::vector<Expr> plain = lstm_steps_expansion(ExpandContext(c.node(), c.builder()));
  std::vector<Value*> ys, dys, xs;
  for (size_t i = 0; i < plain.size(); ++i) {
    if (!c.has_grad(i)) continue;
    ys.push_back(plain[i].value());
    dys.push_back(c.grad(i).value());
  }
  for (Value* input : c.node().inputs()) {
    if (std::ranges::find(xs, input) == xs.end()) xs.push_back(input);
  }
  const auto gradients = c.differentiator().differentiate(ys, dys, xs, c.builder());
  Grads grads;
  for (size_t i = 0; i < c.node().inputs().size(); ++i) {
    const auto listed = static_cast<size_t>(std::ranges::find(xs, c.node().input(i)) - xs.begin());
    // One that two inputs share is added up already.
    const bool first =
        std::ranges::find(c.node().inputs(), c.node().input(i)) - c.node().inputs().begin() ==
        static_cast<ptrdiff_t>(i);
    if (first && gradients[listed]) {
      grads.emplace_back(c.builder().expr(gradients[listed]));
    } else {
      grads.emplace_back(zeros_like(c.input(i)));
    }
  }
  return grads;
}

Grads lstm_steps_vjp(const VjpContext& c) {
  if (c.has_grad(kActivated) || c.has_grad(kCells)) return through_expansion(c);
  Builder& b = c.builder();
  const DType dtype = c.input(kGates).dtype();
  const auto incoming = [&](size_t output) {
    return c.has_grad(output) ? c.grad(output).value() : nullptr;
  };
  const Expr activated = c.demanded_output(kActivated, dtype),
             cells = c.demanded_output(kCells, dtype);
  const bool reverse = is_reverse(c.node());
  const auto grads =
      b.add_many("LstmStepsGrad", kInternalDomain,
                 {incoming(kAllH), incoming(kLastH), incoming(kLastC), activated.value(),
                  cells.value(), c.node().input(kC), c.node().input(kRecurrent)},
                 {dtype, dtype, dtype}, {{"reverse", static_cast<int64_t>(reverse)}});
  const Expr all = c.demanded_output(kAllH, dtype);
  const Expr before = before_each_step(c.input(kH), all, reverse);
  // The sum over all steps of dgates^T h, in the shape of the weights.
  const Expr recurrent =
      b.add_internal("MatMulGradB", values({grads[0], c.input(kRecurrent), before}), dtype);
  return {grads[0], recurrent, grads[1], grads[2]};
}

std::vector<InferredOutput> lstm_steps_types(const Node& node, const KnownData&) {
  const Type &gates = node.input(kGates)->type, &state = node.input(kH)->type;
  Type all = Type::tensor(gates.dtype);
  if (gates.shape && gates.shape->size() == 3) {
    all.shape = *gates.shape;
    all.shape->back() = state.shape && state.shape->size() == 2 ? state.shape->back() : Dim{};
  }
  return {{.type = all}, {.type = state}, {.type = state}, {.type = gates}, {.type = all}};
}

// dgates, dh0, dc0 = LstmStepsGrad(dy, dh, dc, activated, cells, c0, R); dy, dh and dc may be left
// out. In the opposite direction, with t = tanh(c'):
//   dh += dy;  dc += dh o (1 - t^2);  dh = dgates R;  dc = dc f
//   dgates = dc g i (1 - i), dh t o (1 - o), dc c f (1 - f), dc i (1 - g^2)
enum GradInput : uint8_t { kDy, kDh, kDc, kOfActivated, kOfCells, kFirstC, kWeights };

std::vector<Expr> lstm_steps_grad_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const Expr activated = c.input(kOfActivated), cells = c.input(kOfCells), first = c.input(kFirstC),
             weights = c.input(kWeights);
  const Expr hidden = dim_of(weights, 1);
  const bool reverse = is_reverse(c.node());
  const auto last = [&](size_t input) {
    return c.has_input(input) ? c.input(input) : zeros_like(first);
  };
  ScanWriter scan(b, activated.dtype());
  const Expr dh_after = scan.input("dh", last(kDh)), dc_after = scan.input("dc", last(kDc));
  const auto parts = split_gates(scan.input("activated", activated), scan.captured(hidden));
  const Expr i = parts[0], o = parts[1], f = parts[2], g = parts[3];
  const Expr t = tanh(scan.input("cell", cells));
  const Expr before = scan.input("cell_before", before_each_step(first, cells, reverse));
  const Expr dh = c.has_input(kDy) ? dh_after + scan.input("dy", c.input(kDy)) : dh_after;
  const Expr dc = dc_after + dh * o * (1 - t * t);
  const Expr dgates = concat({dc * g * (i * (1 - i)), dh * t * (o * (1 - o)),
                              dc * before * (f * (1 - f)), dc * i * (1 - g * g)},
                             -1);
  scan.next(matmul(dgates, scan.captured(weights)));
  scan.next(dc * f);
  scan.give(dgates);
  const auto results = scan.add(2, !reverse);
  return {results[2], results[0], results[1]};
}

std::vector<InferredOutput> lstm_steps_grad_types(const Node& node, const KnownData&) {
  const Type& state = node.input(kFirstC)->type;
  return {{.type = node.input(kOfActivated)->type}, {.type = state}, {.type = state}};
}

const OpDef kLstmSteps[] = {
    {.name = "LstmSteps",
     .domain = kInternalDomain,
     .vjp = lstm_steps_vjp,
     .expansion = lstm_steps_expansion,
     .types = lstm_steps_types,
     .inputs = {In::data, In::recurrent_weight, In::data}},
    {.name = "LstmStepsGrad",
     .domain = kInternalDomain,
     .expansion = lstm_steps_grad_expansion,
     .types = lstm_steps_grad_types},
};

}  // namespace

std::vector<Expr> add_lstm_steps(const LstmSteps& steps) {
  // What the backward reads has its place, so that the node that the gradient asks for can become
  // one with the forward's.
  const DType dtype = steps.gates.dtype(), none = DType::undefined;
  auto outputs = steps.gates.builder().add_many(
      "LstmSteps", kInternalDomain, values({steps.gates, steps.recurrent, steps.h, steps.c}),
      {dtype, dtype, dtype, none, none}, {{"reverse", static_cast<int64_t>(steps.reverse)}});
  outputs.resize(kActivated, steps.gates);
  return outputs;
}

std::span<const OpDef> lstm_steps_ops() { return kLstmSteps; }

}  // namespace onward
