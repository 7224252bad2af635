#include "emit/optimizer.h"

#include <fmt/format.h>

#include "recipe/optimizer_def.h"

namespace onward::emit {
namespace {

std::string literal(const SettingDef& setting, double value) {
  return setting.range == SettingRange::on_off ? python_bool(value != 0) : python_float(value);
}

}  // namespace

std::string class_arguments(const OptimizerSettings& settings) {
  const OptimizerDef& def = settings.def();
  std::string text;
  for (size_t i = 0; i < def.settings.size(); ++i) {
    const SettingDef& each = def.settings[i];
    const double value = settings[each.name];
    const size_t bracket = each.option.find('[');
    if (bracket != std::string_view::npos) {
      // Elements of a tuple follow each other; the first one writes all.
      const std::string_view tuple = each.option.substr(0, bracket);
      if (!each.option.ends_with("[0]")) continue;
      std::vector<std::string> elements;
      for (size_t j = i; j < def.settings.size(); ++j) {
        if (!def.settings[j].option.starts_with(each.option.substr(0, bracket + 1))) break;
        elements.push_back(literal(def.settings[j], settings[def.settings[j].name]));
      }
      text += fmt::format(", {}=({})", tuple, fmt::join(elements, ", "));
      continue;
    }
    // What is off by default need not be said.
    const bool is_off = value == 0 && each.preset == 0;
    if (each.name == "learning_rate" || each.option.empty() || is_off) continue;
    text += fmt::format(", {}={}", each.option, literal(each, value));
  }
  const std::string_view switched_on = def.classes.front().needs;
  if (!switched_on.empty()) text += fmt::format(", {}=True", switched_on);
  return text;
}

std::string optimizer_class_name(const OptimizerSettings& settings) {
  return class_name(fmt::format("{}_{}", to_string(settings.formula()), settings.name()), "Update");
}

}  // namespace onward::emit
