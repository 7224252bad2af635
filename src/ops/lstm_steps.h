#pragma once

#include "ops/builder.h"

namespace onward {

/// An LSTM of the standard's own activations over time, in one direction.
struct LstmSteps {
  Expr gates;      // [time, batch, 4 hidden]: the input's part with the biases; i, o, f, c
  Expr recurrent;  // [4 hidden, hidden]
  Expr h, c;       // the first states, [batch, hidden]
  bool reverse;
};

/// Adds it as one node: all h, the last h, the last c.
std::vector<Expr> add_lstm_steps(const LstmSteps& steps);

}  // namespace onward
