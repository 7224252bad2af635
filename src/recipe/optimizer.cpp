#include "recipe/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "onward/error.h"
#include "recipe/gradient_clipping.h"
#include "recipe/optimizer_parts.h"
#include "recipe/parameter_groups.h"
#include "recipe/schedule_def.h"

namespace onward {
namespace {

struct RangeTest {
  std::string_view words;
  bool (*holds)(double);
};

bool is_whole(double x) { return x <= 0x1p53 && std::trunc(x) == x; }

RangeTest test_of(SettingRange range) {
  switch (range) {
    case SettingRange::from_zero:
      return {"a finite number of at least 0", [](double x) { return x >= 0 && std::isfinite(x); }};
    case SettingRange::positive:
      return {"a finite number above 0", [](double x) { return x > 0 && std::isfinite(x); }};
    case SettingRange::fraction:
      return {"at least 0 and less than 1", [](double x) { return x >= 0 && x < 1; }};
    case SettingRange::positive_fraction:
      return {"more than 0 and less than 1", [](double x) { return x > 0 && x < 1; }};
    case SettingRange::above_one:
      return {"a finite number above 1", [](double x) { return x > 1 && std::isfinite(x); }};
    case SettingRange::count:
      return {"a whole number of at least 0", [](double x) { return x >= 0 && is_whole(x); }};
    case SettingRange::steps:
      return {"a whole number of at least 1", [](double x) { return x >= 1 && is_whole(x); }};
    case SettingRange::finite:
      return {"a finite number", [](double x) { return std::isfinite(x); }};
    case SettingRange::on_off:
      return {"0 or 1", [](double x) { return x == 0 || x == 1; }};
  }
  throw Bug("a range has no test");
}

/// average_new = p_new in the first step, then decay average + (1 - decay) p_new: as Keras's
/// use_ema and torch's AveragedModel with an exponential average have it.
void write_averages(Algorithm& algorithm, double decay, StepRates& rates,
                    std::span<const ParameterGradient> parameters) {
  Builder builder = algorithm.builder("ema/");
  const Expr zero = builder.expr(algorithm.constant("zero", 0, DType::i64));
  const Expr is_first = equal(builder.expr(rates.step()), zero);
  for (const ParameterGradient& each : parameters) {
    const DType dtype = each.parameter->type.dtype;
    Value* state = algorithm.add_state(each.parameter->name() + ".ema", *each.parameter->tensor());
    const auto number = [&](const char* name, double value) {
      return builder.expr(algorithm.constant(name, value, dtype));
    };
    const Expr now = builder.expr(algorithm.updated(each.parameter));
    const Expr mixed =
        number("ema", decay) * builder.expr(state) + number("one_minus_ema", 1 - decay) * now;
    algorithm.update(state, where(is_first, now, mixed).value());
  }
}

}  // namespace

void check_setting(const SettingDef& setting, double value) {
  const auto [words, holds] = test_of(setting.range);
  if (holds(value)) return;
  throw Error(fmt::format("{} must be {}, not {}", public_name(setting.name), words, value));
}

void check_settings(const OptimizerSettings& settings) {
  for (const SettingDef& each : settings.def().settings) check_setting(each, settings[each.name]);
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

bool counts_steps(const Recipe& recipe) {
  if (has_schedule(recipe) || recipe.ema || counts_steps(recipe.optimizer)) return true;
  return std::ranges::any_of(recipe.groups, [&](const ParameterGroup& each) {
    return counts_steps(settings_of(recipe, each));
  });
}

OptimizerState write_optimizer(Algorithm& algorithm, const Recipe& recipe,
                               std::span<const ParameterGradient> parameters) {
  check_settings(recipe.optimizer);
  const OptimizerDef& def = recipe.optimizer.def();
  // Torch's numbers are Python floats.
  const DType dtype =
      def.formula == Formula::torch ? DType::f64 : parameters[0].parameter->type.dtype;
  StepRates rates(algorithm, recipe, dtype);
  const std::vector<ParameterGradient> clipped = clip_gradients(algorithm, recipe, parameters);
  OptimizerState state = rates.state();
  state.slots.resize(parameters.size());
  std::map<size_t, Value*> own_rates;  // by the place of the group in the recipe
  for (const SettingsOfSome& group : parameter_groups(recipe, parameters)) {
    Value* rate = rates.learning_rate();
    if (group.own_rate) {
      Value*& own = own_rates[*group.own_rate];
      if (!own) {
        own = rates.rate(fmt::format("learning_rate.{}", *group.own_rate + 1),
                         group.settings["learning_rate"]);
      }
      rate = own;
    }
    StepParts step(algorithm, group.settings, rates, rate, group.suffix);
    std::vector<ParameterGradient> members;
    for (const size_t i : group.members) members.push_back(clipped[i]);
    if (!def.update) {
      std::vector<std::vector<Slot>> slots = write_standard_node(step, members);
      for (size_t i = 0; i < members.size(); ++i) state.slots[group.members[i]] = slots[i];
      continue;
    }
    const UpdateParameter update = def.update(step);
    for (size_t i = 0; i < members.size(); ++i) {
      ParameterUpdate u(step, members[i]);
      update(u);
      state.slots[group.members[i]] = u.slots();
    }
  }
  if (recipe.ema) write_averages(algorithm, *recipe.ema, rates, parameters);
  return state;
}

}  // namespace onward
