// RNN, GRU and LSTM as a Scan over time for each direction: that is what they compute, how they are
// differentiated and how they are lowered. The products with the input do not depend on the state,
// and are one product for all times.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "onward/error.h"
#include "ops/families.h"
#include "ops/lstm_steps.h"
#include "ops/subgraph.h"

namespace onward {
namespace {

using Function = std::function<Expr(Expr)>;

/// An activation with its numbers; those that are not given are the standard's, where it has some.
struct ActivationRow {
  std::string_view name;
  int numbers;  // it takes none, alpha, or alpha and beta
  std::optional<float> alpha, beta;
  Expr (*apply)(Expr x, double alpha, double beta);
};

Expr elu(Expr x, double alpha, double) {
  const Expr zero = x.builder().scalar(0, x.dtype());
  // What is not taken must not overflow: its gradient would be no number.
  const Expr below = x.builder().add("Min", values({x, zero}), x.dtype());
  return where(less(x, zero), alpha * (exp(below) - 1), x);
}

Expr hard_sigmoid(Expr x, double alpha, double beta) {
  Builder& b = x.builder();
  return b.add("Clip", values({alpha * x + beta, b.scalar(0, x.dtype()), b.scalar(1, x.dtype())}),
               x.dtype());
}

Expr unary_node(std::string_view op, Expr x) { return x.builder().add(op, {x.value()}, x.dtype()); }

const ActivationRow kActivations[] = {
    {"Affine", 2, {}, {}, [](Expr x, double a, double b) { return a * x + b; }},
    {"Elu", 1, 1.F, {}, elu},
    {"HardSigmoid", 2, 0.2F, 0.5F, hard_sigmoid},
    {"LeakyRelu",
     1,
     0.01F,
     {},
     [](Expr x, double a, double) {
       return where(less(x, x.builder().scalar(0, x.dtype())), a * x, x);
     }},
    {"Relu", 0, {}, {}, [](Expr x, double, double) { return unary_node("Relu", x); }},
    {"ScaledTanh", 2, {}, {}, [](Expr x, double a, double b) { return a * tanh(b * x); }},
    {"Sigmoid", 0, {}, {}, [](Expr x, double, double) { return sigmoid(x); }},
    {"Softplus", 0, {}, {}, [](Expr x, double, double) { return unary_node("Softplus", x); }},
    {"Softsign", 0, {}, {}, [](Expr x, double, double) { return x / (1 + unary_node("Abs", x)); }},
    {"Tanh", 0, {}, {}, [](Expr x, double, double) { return tanh(x); }},
    {"ThresholdedRelu",
     1,
     1.F,
     {},
     [](Expr x, double a, double) {
       return where(less(x, x.builder().scalar(a, x.dtype())), x.builder().scalar(0, x.dtype()), x);
     }},
};

/// Takes alpha and beta from the node's lists, in the order of the activations that have some.
class ActivationNumbers {
 public:
  explicit ActivationNumbers(const Node& node)
      : alpha_(list(node, "activation_alpha")), beta_(list(node, "activation_beta")) {}

  Function next(const std::string& name) {
    const auto row = std::ranges::find(kActivations, std::string_view(name), &ActivationRow::name);
    if (row == std::end(kActivations)) {
      throw Error(fmt::format("'{}' is no activation of the standard", name));
    }
    const double alpha = row->numbers > 0 ? take(alpha_, next_alpha_, row->alpha, *row) : 0;
    const double beta = row->numbers > 1 ? take(beta_, next_beta_, row->beta, *row) : 0;
    return [apply = row->apply, alpha, beta](Expr x) { return apply(x, alpha, beta); };
  }

 private:
  static std::vector<float> list(const Node& node, std::string_view name) {
    const auto* given = node.get<std::vector<float>>(name);
    return given ? *given : std::vector<float>();
  }
  static double take(const std::vector<float>& list, size_t& next, std::optional<float> fallback,
                     const ActivationRow& row) {
    if (next < list.size()) return static_cast<double>(list[next++]);
    if (!fallback) throw Error(fmt::format("{} has no default numbers", row.name));
    return static_cast<double>(*fallback);
  }

  std::vector<float> alpha_, beta_;
  size_t next_alpha_ = 0, next_beta_ = 0;
};

/// What a step of one direction computes with; of the graph around the Scan.
struct Cell {
  std::vector<Function> activations;
  Expr hidden;                         // the size of the state, a vector of one
  std::vector<Expr> recurrent;         // weights as [hidden, gates * hidden]
  std::optional<Expr> recurrent_bias;  // where the reset gate is applied to it
  std::vector<Expr> peepholes;
  bool couples_gates = false;
};

/// A step: from the input's part of the gates at one time, and the states, to the new states.
using Step = std::vector<Expr> (*)(const Cell&, Expr gates, const std::vector<Expr>& states);

struct RecurrentKind {
  std::string_view op;
  int64_t gates;
  size_t states;
  std::vector<std::string> activations;
  Step step;
};

/// A value of the graph around, in the body.
Expr in(const Expr& inside, const Expr& around) { return inside.builder().expr(around.value()); }

std::vector<Expr> split(Expr x, int64_t parts, const Expr& size, int64_t axis) {
  Builder& b = x.builder();
  const Expr sizes = expand(in(x, size), b.integers({parts}));
  return b.add_many("Split", "", values({x, sizes}),
                    std::vector(static_cast<size_t>(parts), x.dtype()), {{"axis", axis}});
}

// H = f(x + H R)
std::vector<Expr> rnn_step(const Cell& c, Expr x, const std::vector<Expr>& states) {
  return {c.activations[0](x + matmul(states[0], in(x, c.recurrent[0])))};
}

// z, r = f(x + H R), h = g(x + (r H) R) or g(x + r (H R + b)), H = (1 - z) h + z H
std::vector<Expr> gru_step(const Cell& c, Expr x, const std::vector<Expr>& states) {
  const Expr h = states[0];
  const auto of_input = split(x, 3, c.hidden, -1);
  const auto of_state = split(matmul(h, in(x, c.recurrent[0])), 2, c.hidden, -1);
  const Expr z = c.activations[0](of_input[0] + of_state[0]);
  const Expr r = c.activations[0](of_input[1] + of_state[1]);
  const Expr weights = in(x, c.recurrent[1]);
  const Expr reset = c.recurrent_bias ? r * (matmul(h, weights) + in(x, *c.recurrent_bias))
                                      : matmul(r * h, weights);
  const Expr candidate = c.activations[1](of_input[2] + reset);
  return {(1 - z) * candidate + z * h};
}

// i, o, f, c = x + H R, with peepholes at the cell; C = f C + i c, H = o h(C)
std::vector<Expr> lstm_step(const Cell& c, Expr x, const std::vector<Expr>& states) {
  const Expr h = states[0], cell = states[1];
  const auto gates = split(x + matmul(h, in(x, c.recurrent[0])), 4, c.hidden, -1);
  const auto peeping = [&](size_t gate, size_t peephole, Expr at) {
    if (c.peepholes.empty()) return gates[gate];
    return gates[gate] + in(x, c.peepholes[peephole]) * at;
  };
  const Expr i = c.activations[0](peeping(0, 0, cell));
  const Expr f = c.couples_gates ? 1 - i : c.activations[0](peeping(2, 2, cell));
  const Expr next = f * cell + i * c.activations[1](gates[3]);
  const Expr o = c.activations[0](peeping(1, 1, next));
  return {o * c.activations[2](next), next};
}

const RecurrentKind kRnn{"RNN", 1, 1, {"Tanh"}, rnn_step};
const RecurrentKind kGru{"GRU", 3, 1, {"Sigmoid", "Tanh"}, gru_step};
const RecurrentKind kLstm{"LSTM", 4, 2, {"Sigmoid", "Tanh", "Tanh"}, lstm_step};

// The standard's inputs, in order.
enum Input : uint8_t { kX, kW, kR, kB, kLengths, kInitialH, kInitialC, kPeepholes };

/// Writes one node as Scans.
class Unrolled {
 public:
  Unrolled(const ExpandContext& c, const RecurrentKind& kind)
      : c_(c),
        kind_(kind),
        b_(c.builder()),
        batch_first_(c.node().int_or("layout", 0) != 0),
        x_(batch_first_ ? transpose(c.input(kX), {1, 0, 2}) : c.input(kX)),
        hidden_(dim_of(c.input(kR), 2)) {
    read_directions();
    read_activations();
  }

  std::vector<Expr> run() {
    std::vector<Expr> all, last_h, last_c;
    for (size_t d = 0; d < backwards_.size(); ++d) {
      const std::vector<Expr> results = scan(static_cast<int64_t>(d));
      const Expr axis = b_.integers({0});
      last_h.push_back(unsqueeze(results[0], axis));
      if (kind_.states > 1) last_c.push_back(unsqueeze(results[1], axis));
      if (c_.node().output(0)) all.push_back(unsqueeze(results.back(), b_.integers({1})));
    }
    std::vector<Expr> outputs;
    outputs.push_back(all.empty() ? b_.expr(nullptr) : joined(all, 1, {2, 0, 1, 3}));
    outputs.push_back(joined(last_h, 0, {1, 0, 2}));
    if (kind_.states > 1) outputs.push_back(joined(last_c, 0, {1, 0, 2}));
    return outputs;
  }

 private:
  void read_directions() {
    const std::string direction = c_.node().string_or("direction", "forward");
    if (direction == "forward") {
      backwards_ = {false};
    } else if (direction == "reverse") {
      backwards_ = {true};
    } else if (direction == "bidirectional") {
      backwards_ = {false, true};
    } else {
      throw Error(fmt::format("its direction '{}' is none of the standard's", direction));
    }
  }

  void read_activations() {
    const auto* given = c_.node().get<std::vector<std::string>>("activations");
    const size_t wanted = kind_.activations.size() * backwards_.size();
    if (given && given->size() != wanted) {
      throw Error(fmt::format("it has {} activations, not {}", given->size(), wanted));
    }
    const auto* clip = c_.node().get<float>("clip");
    ActivationNumbers numbers(c_.node());
    for (size_t i = 0; i < wanted; ++i) {
      const Function plain =
          numbers.next(given ? (*given)[i] : kind_.activations[i % kind_.activations.size()]);
      activations_.push_back(clip ? clipped(plain, static_cast<double>(*clip)) : plain);
    }
  }

  static Function clipped(const Function& activation, double limit) {
    return [=](Expr x) {
      Builder& b = x.builder();
      const Expr low = b.scalar(-limit, x.dtype()), high = b.scalar(limit, x.dtype());
      return activation(b.add("Clip", values({x, low, high}), x.dtype()));
    };
  }

  /// The part of an input that is one direction's. Not by index: the gradient of a slice needs no
  /// operator that older opsets lack.
  Expr of_direction(size_t input, int64_t d, int64_t axis = 0) {
    Expr part = c_.input(input);
    if (backwards_.size() > 1)
      part = split(part, 2, b_.integers({1}), axis)[static_cast<size_t>(d)];
    return squeeze(part, b_.integers({axis}));
  }

  Expr initial(size_t input, int64_t d) {
    if (c_.has_input(input)) return of_direction(input, d, batch_first_ ? 1 : 0);
    return expand(b_.scalar(0, x_.dtype()), concat({dim_of(x_, 1), hidden_}, 0));
  }

  bool is_linear_before_reset() const {
    return kind_.op == "GRU" && c_.node().int_or("linear_before_reset", 0) != 0;
  }

  Cell cell_of(int64_t d) {
    const size_t count = kind_.activations.size();
    const auto first = activations_.begin() + d * static_cast<ptrdiff_t>(count);
    Cell cell{.activations = {first, first + static_cast<ptrdiff_t>(count)},
              .hidden = hidden_,
              .recurrent = {transpose(of_direction(kR, d), {1, 0})},
              .recurrent_bias = {},
              .peepholes = {},
              .couples_gates = c_.node().int_or("input_forget", 0) != 0};
    if (kind_.op == "GRU") {
      const auto parts = split(cell.recurrent[0], 3, hidden_, 1);
      cell.recurrent = {
          b_.add("Concat", values({parts[0], parts[1]}), x_.dtype(), {{"axis", int64_t{1}}}),
          parts[2]};
    }
    if (c_.has_input(kPeepholes))
      cell.peepholes = split(of_direction(kPeepholes, d), 3, hidden_, 0);
    return cell;
  }

  /// The input's part of the gates at all times, with the biases.
  Expr gates_of_input(int64_t d, Cell& cell) {
    const Expr gates = matmul(x_, transpose(of_direction(kW, d), {1, 0}));
    if (is_linear_before_reset()) cell.recurrent_bias = b_.scalar(0, x_.dtype());
    if (!c_.has_input(kB)) return gates;
    auto biases = split(of_direction(kB, d), 2 * kind_.gates, hidden_, 0);
    const auto recurrent = biases.begin() + kind_.gates;
    std::vector<Value*> sums;
    for (int64_t gate = 0; gate < kind_.gates; ++gate) {
      const bool apart = is_linear_before_reset() && gate + 1 == kind_.gates;
      if (apart) cell.recurrent_bias = recurrent[gate];
      sums.push_back((apart ? biases[static_cast<size_t>(gate)]
                            : biases[static_cast<size_t>(gate)] + recurrent[gate])
                         .value());
    }
    return gates + b_.add("Concat", sums, x_.dtype(), {{"axis", int64_t{0}}});
  }

  /// Whether nothing is asked for beyond the standard's LSTM, for which there are kernels.
  bool is_plain_lstm() const {
    const auto* given = c_.node().get<std::vector<std::string>>("activations");
    const auto is_own = [&] {
      for (size_t i = 0; i < given->size(); ++i) {
        if ((*given)[i] != kind_.activations[i % kind_.activations.size()]) return false;
      }
      return true;
    };
    return kind_.op == "LSTM" && (!given || is_own()) && !c_.node().get<float>("clip") &&
           c_.node().int_or("input_forget", 0) == 0 && !c_.has_input(kLengths) &&
           !c_.has_input(kPeepholes) && bits(x_.dtype()) >= 32;
  }

  /// One direction: the last states, and all of the first where they are wanted.
  std::vector<Expr> scan(int64_t d) {
    if (is_plain_lstm()) {
      Cell none{.activations = {},
                .hidden = hidden_,
                .recurrent = {},
                .recurrent_bias = {},
                .peepholes = {}};
      const auto results = add_lstm_steps({.gates = gates_of_input(d, none),
                                           .recurrent = of_direction(kR, d),
                                           .h = initial(kInitialH, d),
                                           .c = initial(kInitialC, d),
                                           .reverse = backwards_[static_cast<size_t>(d)]});
      return {results[1], results[2], results[0]};
    }
    Cell cell = cell_of(d);
    const Expr gates = gates_of_input(d, cell);
    const bool has_lengths = c_.has_input(kLengths), gives_all = c_.node().output(0) != nullptr;
    const int64_t direction = backwards_[static_cast<size_t>(d)] ? 1 : 0;

    auto body = std::make_unique<Graph>(&b_.graph());
    body->name = b_.fresh("step");
    Builder inside = b_.inside(*body);
    const Type matrix = Type::tensor(x_.dtype(), Shape(2));
    const auto input = [&](const char* name, const Type& type) {
      return inside.expr(body->add_input(b_.fresh(name), type));
    };
    std::vector<Value*> inputs;
    std::vector<Expr> states;
    for (size_t i = 0; i < kind_.states; ++i) {
      inputs.push_back(initial(i == 0 ? kInitialH : kInitialC, d).value());
      states.push_back(input(i == 0 ? "h" : "c", matrix));
    }
    const Expr now = input("gates", matrix);
    inputs.push_back(gates.value());
    std::vector<Expr> next = kind_.step(cell, now, states);
    std::optional<Expr> is_inside;  // which sequences of the batch are still going on
    if (has_lengths) {
      const Expr length = dim_of(x_, 0), given = cast(c_.input(kLengths), DType::i64);
      inputs.push_back(numbers_below(length).value());
      const Expr time = input("time", Type::tensor(DType::i64, Shape{}));
      const Expr lengths = inside.expr(checked_up_to(given, length).value());
      is_inside = unsqueeze(less(time, lengths), inside.integers({1}));
      for (size_t i = 0; i < next.size(); ++i) next[i] = where(*is_inside, next[i], states[i]);
    }
    std::vector<Type> types(kind_.states, matrix);
    for (const Expr& state : next) body->add_output(computed_inside(inside, state.value()));
    if (gives_all) {
      const Expr shown = has_lengths ? where(*is_inside, next[0], inside.scalar(0, x_.dtype()))
                                     : inside.add("Identity", {next[0].value()}, x_.dtype());
      body->add_output(shown.value());
      types.push_back(Type::tensor(x_.dtype(), Shape(3)));
    }
    const size_t scanned = has_lengths ? 2 : 1;
    SubgraphNode node{
        .op = "Scan",
        .inputs = std::move(inputs),
        .attributes = {{"num_scan_inputs", static_cast<int64_t>(scanned)},
                       {"scan_input_directions", std::vector<int64_t>(scanned, direction)}},
        .graphs = {},
        .outputs = std::move(types)};
    if (gives_all) {
      node.attributes.push_back({"scan_output_directions", std::vector<int64_t>{direction}});
    }
    node.graphs.emplace_back("body", std::move(body));
    return add_subgraph_node(b_, std::move(node));
  }

  /// The directions as one tensor, in the order of dimensions that the layout wants.
  Expr joined(const std::vector<Expr>& directions, int64_t axis,
              const std::vector<int64_t>& batch_first) {
    std::vector<Value*> parts;
    for (const Expr& each : directions) parts.push_back(each.value());
    const Expr all = b_.add("Concat", parts, x_.dtype(), {{"axis", axis}});
    return batch_first_ ? transpose(all, batch_first) : all;
  }

  const ExpandContext& c_;
  const RecurrentKind& kind_;
  Builder& b_;
  bool batch_first_;
  Expr x_;  // [time, batch, input]
  Expr hidden_;
  std::vector<bool> backwards_;  // of each direction
  std::vector<Function> activations_;
};

template <const RecurrentKind& kind>
std::vector<Expr> recurrent_expansion(const ExpandContext& c) {
  return Unrolled(c, kind).run();
}

// After the bias come the lengths of the sequences and the first states.
constexpr InputRoles kInputs = {In::data, In::weight,  In::recurrent_weight,
                                In::bias, In::setting, In::data};

const OpDef kRecurrentOps[] = {
    {.name = "GRU", .expansion = recurrent_expansion<kGru>, .inputs = kInputs},
    {.name = "LSTM",
     .expansion = recurrent_expansion<kLstm>,
     .inputs = {In::data, In::weight, In::recurrent_weight, In::bias, In::setting, In::data,
                In::data, In::peephole_weight}},
    {.name = "RNN", .expansion = recurrent_expansion<kRnn>, .inputs = kInputs},
};

}  // namespace

std::span<const OpDef> recurrent_ops() { return kRecurrentOps; }

}  // namespace onward
