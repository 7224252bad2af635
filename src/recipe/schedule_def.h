#pragma once

// The table of schedules: a row for each way in which the learning rate changes from step to step.

#include <span>
#include <string_view>
#include <vector>

#include "ops/builder.h"
#include "recipe/optimizer_def.h"

namespace onward {

class Algorithm;
struct Recipe;

/// The state that holds over how many steps a schedule goes, where it goes over a number of them.
/// Who knows the length of a training better than who prepared it may set it before the first step.
inline constexpr std::string_view kScheduleSteps = "schedule_steps";

/// What a factor is written with, in f64.
class ScheduleParts {
 public:
  ScheduleParts(const Recipe& recipe, Algorithm& algorithm, Builder& builder)
      : recipe_(recipe), algorithm_(algorithm), builder_(builder) {}

  /// A setting of the row.
  double operator[](std::string_view setting) const;
  Expr number(const std::string& name, double value);
  Expr setting(const std::string& name) { return number(name, (*this)[name]); }
  /// The state kScheduleSteps, made when it is first asked for.
  Expr steps();

 private:
  const Recipe& recipe_;
  Algorithm& algorithm_;
  Builder& builder_;
  std::optional<Expr> steps_;
};

struct ScheduleDef {
  std::string_view name;
  std::vector<SettingDef> settings = {};
  /// What the learning rate is multiplied with in a step before which there were t, after those of
  /// the warm-up. Null where it stays.
  Expr (*factor)(ScheduleParts&, Expr t) = nullptr;

  const SettingDef* find(std::string_view setting) const;
};

const std::vector<ScheduleDef>& schedules();
/// Throws an Error that lists what there is.
const ScheduleDef& find_schedule(std::string_view name);
std::vector<std::string_view> schedule_names();
/// A setting of any schedule, once, with the schedules that have it.
std::vector<SettingUse> schedule_settings();

/// Whether a recipe's learning rate changes by itself.
bool has_schedule(const Recipe& recipe);
/// The factor in the step that `steps`, i64, were done before: warm-up and schedule.
Expr schedule_factor(const Recipe& recipe, Algorithm& algorithm, Builder& builder, Expr steps);
/// Throws an Error where a recipe has a setting of another schedule, or a number that can't be
/// meant.
void check_schedule(const Recipe& recipe);

}  // namespace onward
