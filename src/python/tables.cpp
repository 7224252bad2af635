// The tables of optimizers and losses as Python's importers read it.

#include <nanobind/stl/string.h>

#include "python/bindings.h"
#include "recipe/loss_def.h"
#include "recipe/optimizer_def.h"
#include "recipe/recipe.h"

namespace onward::python {
namespace {

using namespace nb::literals;

nb::object text(std::string_view view) { return nb::str(view.data(), view.size()); }

nb::dict row_of(const OptimizerDef& def) {
  nb::dict row;
  row["name"] = text(def.name);
  row["formula"] = text(to_string(def.formula));
  nb::dict options, slots;  // the framework's arguments and attributes by our names
  for (const SettingDef& each : def.settings) options[text(each.name)] = text(each.option);
  for (const SlotDef& each : def.slots) slots[text(each.name)] = text(each.attribute);
  row["options"] = options;
  row["slots"] = slots;
  nb::list classes, idle;
  for (const ClassDef& each : def.classes) {
    classes.append(nb::make_tuple(text(each.name), text(each.needs)));
  }
  for (const std::string_view each : def.idle) idle.append(text(each));
  row["classes"] = classes;
  row["idle"] = idle;
  row["squares_gradients"] = def.squares_gradients;
  return row;
}

nb::dict row_of(const LossDef& def) {
  nb::dict row;
  row["name"] = text(def.name);
  row["reads_logits"] = def.reads_logits();
  nb::dict options;
  for (const SettingDef& each : def.settings) {
    if (!each.option.empty()) options[text(each.name)] = text(each.option);
  }
  row["options"] = options;
  row["torch"] = nb::make_tuple(text(def.torch.name), text(def.torch.function));
  row["keras"] = nb::make_tuple(text(def.keras.name), text(def.keras.function));
  return row;
}

template <typename Def>
nb::list rows_of(const std::vector<Def>& table) {
  nb::list rows;
  for (const Def& def : table) rows.append(row_of(def));
  return rows;
}

}  // namespace

void bind_tables(nb::module_& module) {
  module.def(
      "_optimizer_table", [] { return rows_of(optimizers()); },
      nb::sig("def _optimizer_table() -> list[dict]"),
      "The optimizers of `prepare`, with their names in the frameworks.");
  module.def(
      "_loss_table", [] { return rows_of(losses()); }, nb::sig("def _loss_table() -> list[dict]"),
      "The losses of `prepare`, with their names in the frameworks.");
}

}  // namespace onward::python
