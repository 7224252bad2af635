#include "recipe/optimizer.h"

#include <fmt/format.h>

#include <cmath>

#include "onward/error.h"

namespace onward {
namespace {

using Kind = OptimizerKind;

bool is_adam(Kind kind) { return kind == Kind::adam || kind == Kind::adamw; }
bool has_momentum(Kind kind) { return kind == Kind::momentum || kind == Kind::nesterov; }

void require(bool holds, std::string_view name, double value, std::string_view range) {
  if (!holds) throw Error(fmt::format("{} is {}, but must be {}", name, value, range));
}

/// A number that the framework's own optimizer does not have.
void refuse(bool given, const OptimizerSettings& settings, std::string_view name) {
  if (given) {
    throw Error(fmt::format("{} in the formula of {} has no {}", to_string(settings.kind),
                            to_string(settings.formula), name));
  }
}

}  // namespace

void check_settings(const OptimizerSettings& s) {
  const auto positive = [](double x) { return x >= 0 && std::isfinite(x); };
  const auto fraction = [](double x) { return x >= 0 && x < 1; };
  require(positive(s.learning_rate), "the learning rate", s.learning_rate, "a number from 0 on");
  require(positive(s.weight_decay), "weight_decay", s.weight_decay, "a number from 0 on");
  if (has_momentum(s.kind)) {
    require(fraction(s.momentum), "momentum", s.momentum, "at least 0 and less than 1");
    refuse(s.dampening != 0 && s.formula == Formula::keras, s, "dampening");
    if (s.kind == Kind::nesterov) refuse(s.dampening != 0, s, "dampening");
  }
  if (is_adam(s.kind)) {
    require(fraction(s.beta1), "beta1", s.beta1, "at least 0 and less than 1");
    require(fraction(s.beta2), "beta2", s.beta2, "at least 0 and less than 1");
  }
  if (is_adam(s.kind) || s.kind == Kind::adagrad) {
    require(positive(s.epsilon), "epsilon", s.epsilon, "a number from 0 on");
  }
  if (s.kind == Kind::adagrad) {
    require(positive(s.initial_accumulator), "initial_accumulator", s.initial_accumulator,
            "a number from 0 on");
    refuse(s.rate_decay != 0 && s.formula == Formula::keras, s, "rate_decay");
  }
}

std::vector<std::string> optimizer_notes(const OptimizerSettings& s) {
  std::vector<std::string> notes;
  if (s.formula != Formula::onnx || s.kind == Kind::sgd) return notes;
  const auto attribute = [&](std::string_view name, double value) {
    const auto stored = static_cast<double>(static_cast<float>(value));
    if (stored == value) return;
    notes.push_back(
        fmt::format("{} = {} is stored as the float32 {:.17g}, which is {:.1e} off "
                    "(attributes of the standard's nodes are float32)",
                    name, value, stored, std::abs(stored - value)));
  };
  if (is_adam(s.kind)) {
    attribute("beta1", s.beta1);
    attribute("beta2", s.beta2);
  }
  if (has_momentum(s.kind)) {
    attribute("momentum", s.momentum);
    attribute("dampening", s.dampening);
  } else {
    attribute("epsilon", s.epsilon);
  }
  attribute("weight_decay", s.weight_decay);
  if (s.kind == Kind::adagrad) attribute("rate_decay", s.rate_decay);
  return notes;
}

OptimizerState write_optimizer(Algorithm& algorithm, const OptimizerSettings& settings,
                               std::span<const ParameterGradient> parameters) {
  check_settings(settings);
  switch (settings.formula) {
    case Formula::torch:
      return write_torch_optimizer(algorithm, settings, parameters);
    case Formula::keras:
      return write_keras_optimizer(algorithm, settings, parameters);
    case Formula::onnx:
      return write_onnx_optimizer(algorithm, settings, parameters);
  }
  throw Bug("a formula has no writer");
}

}  // namespace onward
