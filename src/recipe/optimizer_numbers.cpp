#include "recipe/optimizer_numbers.h"

#include <fmt/format.h>

#include <algorithm>

#include "onward/error.h"

namespace onward {
namespace {

using Kind = OptimizerKind;

bool always(Kind, Formula) { return true; }
bool is_adam_number(Kind kind, Formula) { return kind == Kind::adam || kind == Kind::adamw; }

constexpr OptimizerNumber kOptimizerNumbers[] = {
    {"learning_rate", &OptimizerSettings::learning_rate, always},
    {"weight_decay", &OptimizerSettings::weight_decay, always},
    {"momentum", &OptimizerSettings::momentum,
     [](Kind kind, Formula) { return kind == Kind::momentum || kind == Kind::nesterov; }},
    {"dampening", &OptimizerSettings::dampening,
     [](Kind kind, Formula formula) {
       return kind == Kind::momentum && formula != Formula::keras;
     }},
    {"beta1", &OptimizerSettings::beta1, is_adam_number},
    {"beta2", &OptimizerSettings::beta2, is_adam_number},
    {"epsilon", &OptimizerSettings::epsilon,
     [](Kind kind, Formula formula) {
       return is_adam_number(kind, formula) || kind == Kind::adagrad;
     }},
    {"rate_decay", &OptimizerSettings::rate_decay,
     [](Kind kind, Formula formula) { return kind == Kind::adagrad && formula != Formula::keras; }},
    {"initial_accumulator", &OptimizerSettings::initial_accumulator,
     [](Kind kind, Formula) { return kind == Kind::adagrad; }},
};

}  // namespace

std::span<const OptimizerNumber> optimizer_numbers() { return kOptimizerNumbers; }

void set_number(OptimizerSettings& settings, std::string_view name, double value) {
  const auto* found = std::ranges::find(kOptimizerNumbers, name, &OptimizerNumber::name);
  std::vector<std::string_view> all, own;
  for (const OptimizerNumber& each : kOptimizerNumbers) {
    all.push_back(each.name);
    if (each.applies(settings.kind, settings.formula)) own.push_back(each.name);
  }
  if (found == std::end(kOptimizerNumbers)) {
    throw Error(
        fmt::format("'{}' is no number of an optimizer: there are {}", name, fmt::join(all, ", ")));
  }
  if (!found->applies(settings.kind, settings.formula)) {
    throw Error(fmt::format("{} in the formula of {} has no {}: it has {}",
                            to_string(settings.kind), to_string(settings.formula), name,
                            fmt::join(own, ", ")));
  }
  settings.*found->member = value;
}

}  // namespace onward
