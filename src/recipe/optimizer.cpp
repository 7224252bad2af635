#include "recipe/optimizer.h"

#include <fmt/format.h>

#include <cmath>

#include "onward/error.h"
#include "recipe/optimizer_parts.h"

namespace onward {
namespace {

struct RangeTest {
  std::string_view words;
  bool (*holds)(double);
};

RangeTest test_of(SettingRange range) {
  switch (range) {
    case SettingRange::from_zero:
      return {"a finite number of at least 0", [](double x) { return x >= 0 && std::isfinite(x); }};
    case SettingRange::fraction:
      return {"at least 0 and less than 1", [](double x) { return x >= 0 && x < 1; }};
    case SettingRange::positive_fraction:
      return {"more than 0 and less than 1", [](double x) { return x > 0 && x < 1; }};
    case SettingRange::above_one:
      return {"a finite number above 1", [](double x) { return x > 1 && std::isfinite(x); }};
    case SettingRange::finite:
      return {"a finite number", [](double x) { return std::isfinite(x); }};
    case SettingRange::on_off:
      return {"0 or 1", [](double x) { return x == 0 || x == 1; }};
  }
  throw Bug("a range has no test");
}

}  // namespace

void check_settings(const OptimizerSettings& settings) {
  for (const SettingDef& each : settings.def().settings) {
    const auto [words, holds] = test_of(each.range);
    if (holds(settings[each.name])) continue;
    throw Error(
        fmt::format("{} must be {}, not {}", public_name(each.name), words, settings[each.name]));
  }
}

std::vector<std::string> optimizer_notes(const OptimizerSettings& settings) {
  std::vector<std::string> notes;
  if (settings.def().node.op.empty()) return notes;
  for (const SettingDef& each : settings.def().settings) {
    const double value = settings[each.name];
    const auto stored = static_cast<double>(static_cast<float>(value));
    if (each.option.empty() || stored == value) continue;
    notes.push_back(
        fmt::format("{} = {} is stored as float32 {:.17g}, an error of {:.1e}: ONNX's optimizer "
                    "nodes have float32 attributes",
                    public_name(each.name), value, stored, std::abs(stored - value)));
  }
  return notes;
}

OptimizerState write_optimizer(Algorithm& algorithm, const OptimizerSettings& settings,
                               std::span<const ParameterGradient> parameters) {
  check_settings(settings);
  const OptimizerDef& def = settings.def();
  // Torch's numbers are Python floats.
  const DType dtype =
      def.formula == Formula::torch ? DType::f64 : parameters[0].parameter->type.dtype;
  StepParts step(algorithm, settings, dtype);
  if (counts_steps(settings)) step.count(std::string(def.counter));
  if (!def.update) return write_standard_node(step, parameters);
  const UpdateParameter update = def.update(step);
  OptimizerState state = step.state();
  for (const ParameterGradient& each : parameters) {
    ParameterUpdate u(step, each);
    update(u);
    state.slots.push_back(u.slots());
  }
  return state;
}

}  // namespace onward
