// The schedules of learning rates. A warm-up comes before any of them; each begins where it ends.

#include <fmt/format.h>

#include <algorithm>
#include <numbers>

#include "ir/suggestion.h"
#include "onward/error.h"
#include "recipe/algorithm.h"
#include "recipe/optimizer.h"
#include "recipe/schedule_def.h"

namespace onward {
namespace {

/// to + (from - to) (1 + cos(pi part)) / 2: from `from` at 0 to `to` at 1
Expr along_cosine(ScheduleParts& parts, Expr from, Expr to, Expr part) {
  const Expr angle = parts.number("pi", std::numbers::pi) * part;
  const Expr cosine = angle.builder().add("Cos", {angle.value()}, angle.dtype());
  return to + (from - to) * parts.number("half", 0.5) * (parts.number("one", 1) + cosine);
}

/// Which part of its steps is done; all of it behind the last one.
Expr part_done(ScheduleParts& parts, Expr t) { return smaller(t, parts.steps()) / parts.steps(); }

// gamma^floor(t / every)
Expr by_steps(ScheduleParts& parts, Expr t) {
  const Expr drops = t / parts.setting("schedule_every");
  const Expr whole = drops.builder().add("Floor", {drops.value()}, drops.dtype());
  return pow(parts.setting("schedule_gamma"), whole);
}

// gamma^t
Expr exponential(ScheduleParts& parts, Expr t) { return pow(parts.setting("schedule_gamma"), t); }

// 1 + (end - 1) t / steps
Expr linear(ScheduleParts& parts, Expr t) {
  const Expr one = parts.number("one", 1);
  return one + (parts.setting("schedule_end") - one) * part_done(parts, t);
}

Expr cosine(ScheduleParts& parts, Expr t) {
  return along_cosine(parts, parts.number("one", 1), parts.setting("schedule_end"),
                      part_done(parts, t));
}

// From start up to 1 at the step peak steps - 1, from there down to end at the last one; torch
// counts so.
Expr one_cycle(ScheduleParts& parts, Expr t) {
  const Expr one = parts.number("one", 1);
  const Expr top = parts.setting("schedule_peak") * parts.steps() - one;
  const Expr last = parts.steps() - one;
  // Where the top is before the first step, the way up is not used.
  const Expr up = smaller(t / larger(top, parts.number("least_steps", 1e-9)), one);
  const Expr down = (smaller(t, last) - top) / (last - top);
  return where(greater(t, top), along_cosine(parts, one, parts.setting("schedule_end"), down),
               along_cosine(parts, parts.setting("schedule_start"), one, up));
}

constexpr SettingDef kSteps = {.name = kScheduleSteps, .range = SettingRange::steps};
constexpr SettingDef kWarmupSteps = {.name = "warmup_steps", .range = SettingRange::count};
constexpr SettingDef kWarmupStart = {.name = "warmup_start"};
constexpr SettingDef gamma(double preset) { return {.name = "schedule_gamma", .preset = preset}; }
constexpr SettingDef end(double preset) { return {.name = "schedule_end", .preset = preset}; }

template <typename Rows>
const SettingDef* find_in(const Rows& settings, std::string_view name) {
  const auto found = std::ranges::find(settings, name, &SettingDef::name);
  return found == settings.end() ? nullptr : &*found;
}

}  // namespace

const std::vector<ScheduleDef>& schedules() {
  static const std::vector<ScheduleDef> table = {
      {.name = "constant", .settings = {kWarmupSteps, kWarmupStart}},
      {.name = "step",
       .settings = {{.name = "schedule_every", .range = SettingRange::steps},
                    gamma(0.1),
                    kWarmupSteps,
                    kWarmupStart},
       .factor = by_steps},
      {.name = "exponential",
       .settings = {gamma(0.95), kWarmupSteps, kWarmupStart},
       .factor = exponential},
      {.name = "linear",
       .settings = {kSteps, end(0), kWarmupSteps, kWarmupStart},
       .factor = linear},
      {.name = "cosine",
       .settings = {kSteps, end(0), kWarmupSteps, kWarmupStart},
       .factor = cosine},
      {.name = "one_cycle",
       .settings = {kSteps,
                    {.name = "schedule_start", .preset = 0.04},
                    {.name = "schedule_peak",
                     .preset = 0.3,
                     .range = SettingRange::positive_fraction},
                    end(4e-6),
                    kWarmupSteps,
                    kWarmupStart},
       .factor = one_cycle},
  };
  return table;
}

const SettingDef* ScheduleDef::find(std::string_view setting) const {
  return find_in(settings, setting);
}

double ScheduleParts::operator[](std::string_view setting) const {
  const SettingDef* def = find_schedule(recipe_.schedule).find(setting);
  if (!def) throw Bug(fmt::format("{} is asked for its {}", recipe_.schedule, setting));
  const auto given = recipe_.schedule_settings.find(setting);
  return given == recipe_.schedule_settings.end() ? def->preset : given->second;
}

Expr ScheduleParts::number(const std::string& name, double value) {
  return builder_.expr(algorithm_.constant(name, value, DType::f64));
}

Expr ScheduleParts::steps() {
  if (!steps_) {
    const auto first = static_cast<int64_t>((*this)[kScheduleSteps]);
    Value* state =
        algorithm_.add_state(std::string(kScheduleSteps), Tensor::scalar<int64_t>(first));
    // State that a step leaves as it is, like the learning rate.
    algorithm_.update(state, builder_.add("Identity", {state}, DType::i64).value());
    steps_ = cast(builder_.expr(state), DType::f64);
  }
  return *steps_;
}

const ScheduleDef& find_schedule(std::string_view name) {
  const auto found = std::ranges::find(schedules(), name, &ScheduleDef::name);
  if (found != schedules().end()) return *found;
  throw Error(unknown_name("schedule", name, schedule_names()));
}

std::vector<std::string_view> schedule_names() {
  std::vector<std::string_view> names;
  for (const ScheduleDef& each : schedules()) names.push_back(each.name);
  return names;
}

std::vector<SettingUse> schedule_settings() { return setting_uses(schedules()); }

bool has_schedule(const Recipe& recipe) {
  const auto warmup = recipe.schedule_settings.find("warmup_steps");
  return find_schedule(recipe.schedule).factor ||
         (warmup != recipe.schedule_settings.end() && warmup->second > 0);
}

Expr schedule_factor(const Recipe& recipe, Algorithm& algorithm, Builder& builder, Expr steps) {
  ScheduleParts parts(recipe, algorithm, builder);
  const ScheduleDef& def = find_schedule(recipe.schedule);
  const Expr one = parts.number("one", 1);
  Expr t = cast(steps, DType::f64);
  std::optional<Expr> warm;
  if (parts["warmup_steps"] > 0) {
    const Expr length = parts.setting("warmup_steps"), start = parts.setting("warmup_start");
    warm = start + (one - start) * smaller(t, length) / length;
    t = larger(t - length, parts.number("zero", 0));
  }
  if (!def.factor) return *warm;
  const Expr factor = def.factor(parts, t);
  // Before the end of the warm-up t is 0, but not every schedule begins with 1.
  return warm ? *warm * factor : factor;
}

void check_schedule(const Recipe& recipe) {
  const ScheduleDef& def = find_schedule(recipe.schedule);
  for (const auto& [name, value] : recipe.schedule_settings) {
    if (def.find(name)) continue;
    std::vector<std::string_view> owners, all;
    for (const SettingUse& each : schedule_settings()) all.push_back(each.name);
    for (const ScheduleDef& each : schedules()) {
      if (each.find(name)) owners.push_back(each.name);
    }
    if (owners.empty()) throw Error(unknown_name("schedule setting", name, all));
    throw Error(fmt::format("{} applies to the schedules {} only, not to {}", name,
                            fmt::join(owners, ", "), def.name));
  }
  for (const SettingDef& each : def.settings) {
    const auto given = recipe.schedule_settings.find(each.name);
    check_setting(each, given == recipe.schedule_settings.end() ? each.preset : given->second);
  }
  const auto start = recipe.schedule_settings.find("warmup_start");
  if (start != recipe.schedule_settings.end() && !has_schedule(recipe)) {
    throw Error("warmup_start has no effect without warmup_steps");
  }
}

}  // namespace onward
