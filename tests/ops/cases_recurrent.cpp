#include "tests/ops/case.h"

namespace onward {
namespace {

// Small numbers, so that activations do not saturate.
CaseInput x_of(std::vector<int64_t> dims) { return f64("x", std::move(dims), -1, 1); }
CaseInput weight(const char* name, std::vector<int64_t> dims) {
  return f64(name, std::move(dims), -0.7, 0.7);
}
CaseInput lengths(std::vector<double> values) {
  CaseInput input = i64("n", std::move(values));
  input.dtype = DType::i32;
  return input;
}

const Case kRecurrentCases[] = {
    {"RNN",
     "y, h = RNN<hidden_size = 3>(x, w, r)",
     {x_of({4, 2, 2}), weight("w", {1, 3, 2}), weight("r", {1, 3, 3})},
     {},
     {"y", "h"}},
    {"RNN in reverse, of bias, lengths and a state",
     "y, h = RNN<hidden_size = 3, direction = \"reverse\", activations = [\"Tanh\"]>"
     "(x, w, r, b, n, h0)",
     {x_of({4, 2, 2}), weight("w", {1, 3, 2}), weight("r", {1, 3, 3}), weight("b", {1, 6}),
      lengths({2, 4}), weight("h0", {1, 2, 3})},
     {},
     {"y", "h"}},
    {"RNN both ways, batch first, clipped",
     "y = RNN<hidden_size = 2, direction = \"bidirectional\", layout = 1, clip = 0.3,"
     " activations = [\"Affine\", \"ScaledTanh\"], activation_alpha = [0.5, 1.5],"
     " activation_beta = [0.25, 0.75]>(x, w, r, b, n, h0)",
     {x_of({2, 3, 2}), weight("w", {2, 2, 2}), weight("r", {2, 2, 2}), weight("b", {2, 4}),
      lengths({3, 2}), weight("h0", {2, 2, 2})},
     {},
     {"y"}},
    Case{"RNN of activations with kinks",
         "y = RNN<hidden_size = 2, direction = \"bidirectional\","
         " activations = [\"HardSigmoid\", \"Elu\"], activation_alpha = [0.3],"
         " activation_beta = [0.4]>(x, w, r)",
         {x_of({3, 2, 2}), weight("w", {2, 2, 2}), weight("r", {2, 2, 2})}}
        .not_smooth(),
    Case{"RNN of leaky activations",
         "y = RNN<hidden_size = 2, direction = \"bidirectional\","
         " activations = [\"LeakyRelu\", \"ThresholdedRelu\"], activation_alpha = [0.2, 0.1]>"
         "(x, w, r)",
         {x_of({3, 2, 2}), weight("w", {2, 2, 2}), weight("r", {2, 2, 2})}}
        .not_smooth(),
    Case{"RNN of Relu and Softplus",
         "y = RNN<hidden_size = 2, direction = \"bidirectional\","
         " activations = [\"Relu\", \"Softplus\"]>(x, w, r)",
         {x_of({3, 2, 2}), weight("w", {2, 2, 2}), weight("r", {2, 2, 2})}}
        .not_smooth(),
    {"RNN of Softsign",
     "y = RNN<hidden_size = 2, activations = [\"Softsign\"]>(x, w, r)",
     {x_of({3, 2, 2}), weight("w", {1, 2, 2}), weight("r", {1, 2, 2})}},
    {"GRU",
     "y, h = GRU<hidden_size = 3>(x, w, r, b)",
     {x_of({4, 2, 2}), weight("w", {1, 9, 2}), weight("r", {1, 9, 3}), weight("b", {1, 18})},
     {},
     {"y", "h"}},
    {"GRU linear before the reset, lengths and a state",
     "y, h = GRU<hidden_size = 3, linear_before_reset = 1>(x, w, r, b, n, h0)",
     {x_of({4, 2, 2}), weight("w", {1, 9, 2}), weight("r", {1, 9, 3}), weight("b", {1, 18}),
      lengths({3, 4}), weight("h0", {1, 2, 3})},
     {},
     {"y", "h"}},
    {"GRU linear before the reset, no bias, the last state alone",
     ", h = GRU<hidden_size = 2, linear_before_reset = 1, direction = \"reverse\">(x, w, r)",
     {x_of({3, 2, 2}), weight("w", {1, 6, 2}), weight("r", {1, 6, 2})},
     {},
     {"h"}},
    {"GRU both ways, batch first",
     "y, h = GRU<hidden_size = 2, direction = \"bidirectional\", layout = 1, clip = 2.5,"
     " activations = [\"Sigmoid\", \"Tanh\", \"Sigmoid\", \"ScaledTanh\"],"
     " activation_alpha = [1.25], activation_beta = [0.5]>(x, w, r, b, n, h0)",
     {x_of({2, 3, 2}), weight("w", {2, 6, 2}), weight("r", {2, 6, 2}), weight("b", {2, 12}),
      lengths({3, 1}), weight("h0", {2, 2, 2})},
     {},
     {"y", "h"}},
    {"GRU linear before the reset, both ways, batch first",
     "y, h = GRU<hidden_size = 2, linear_before_reset = 1, direction = \"bidirectional\","
     " layout = 1>(x, w, r, b, n, h0)",
     {x_of({2, 3, 2}), weight("w", {2, 6, 2}), weight("r", {2, 6, 2}), weight("b", {2, 12}),
      lengths({3, 1}), weight("h0", {2, 2, 2})},
     {},
     {"y", "h"}},
    {"LSTM",
     "y, h, c = LSTM<hidden_size = 3>(x, w, r)",
     {x_of({4, 2, 2}), weight("w", {1, 12, 2}), weight("r", {1, 12, 3})},
     {},
     {"y", "h", "c"}},
    {"LSTM of bias, lengths, states and peepholes",
     "y, h, c = LSTM<hidden_size = 3, direction = \"reverse\">(x, w, r, b, n, h0, c0, p)",
     {x_of({4, 2, 2}), weight("w", {1, 12, 2}), weight("r", {1, 12, 3}), weight("b", {1, 24}),
      lengths({4, 2}), weight("h0", {1, 2, 3}), weight("c0", {1, 2, 3}), weight("p", {1, 9})},
     {},
     {"y", "h", "c"}},
    {"LSTM both ways, batch first, coupled gates, clipped",
     "y, h, c = LSTM<hidden_size = 2, direction = \"bidirectional\", layout = 1, clip = 1.5,"
     " input_forget = 1, activations = [\"Sigmoid\", \"Tanh\", \"Tanh\", \"Sigmoid\", \"Tanh\","
     " \"ScaledTanh\"], activation_alpha = [1.25], activation_beta = [0.5]>"
     "(x, w, r, b, n, h0, c0, p)",
     {x_of({2, 3, 2}), weight("w", {2, 8, 2}), weight("r", {2, 8, 2}), weight("b", {2, 16}),
      lengths({2, 3}), weight("h0", {2, 2, 2}), weight("c0", {2, 2, 2}), weight("p", {2, 6})},
     {},
     {"y", "h", "c"}},
    {"LSTM both ways of lengths and states",
     "y, h, c = LSTM<hidden_size = 2, direction = \"bidirectional\">(x, w, r, b, n, h0, c0)",
     {x_of({3, 2, 2}), weight("w", {2, 8, 2}), weight("r", {2, 8, 2}), weight("b", {2, 16}),
      lengths({2, 3}), weight("h0", {2, 2, 2}), weight("c0", {2, 2, 2})},
     {},
     {"y", "h", "c"}},
    {"LSTM both ways of states",
     "y, h, c = LSTM<hidden_size = 2, direction = \"bidirectional\">(x, w, r, b, , h0, c0)",
     {x_of({3, 2, 2}), weight("w", {2, 8, 2}), weight("r", {2, 8, 2}), weight("b", {2, 16}),
      weight("h0", {2, 2, 2}), weight("c0", {2, 2, 2})},
     {},
     {"y", "h", "c"}},
    {"LSTM of the last cell alone",
     ", , c = LSTM<hidden_size = 2>(x, w, r)",
     {x_of({3, 2, 2}), weight("w", {1, 8, 2}), weight("r", {1, 8, 2})},
     {},
     {"c"}},
    Case{"LSTM of another hidden size than its weights have",
         "y = LSTM<hidden_size = 3>(x, w, r)",
         {x_of({3, 2, 2}), weight("w", {1, 8, 2}), weight("r", {1, 8, 2})}}
        .refused("input 1: dimension 1 is 8, not 12"),
    Case{"GRU of a sequence that is longer than its input",
         "y = GRU<hidden_size = 2>(x, w, r, , n)",
         {x_of({3, 2, 2}), weight("w", {1, 6, 2}), weight("r", {1, 6, 2}), lengths({3, 4})}}
        .refused("input 4: a sequence of 4 elements, of 3"),
    Case{"RNN of an unknown activation",
         "y = RNN<hidden_size = 2, activations = [\"Cube\"]>(x, w, r)",
         {x_of({3, 2, 2}), weight("w", {1, 2, 2}), weight("r", {1, 2, 2})}}
        .refused("'Cube' is no activation of the standard"),
    Case{"LSTM of too few activations",
         "y = LSTM<hidden_size = 2, activations = [\"Tanh\"]>(x, w, r)",
         {x_of({3, 2, 2}), weight("w", {1, 8, 2}), weight("r", {1, 8, 2})}}
        .refused("it has 1 activations, not 3"),
};

}  // namespace

std::span<const Case> recurrent_cases() { return kRecurrentCases; }

}  // namespace onward
