// The standard's operators that can't be differentiated yet, nor as a rule computed: all that no
// family defines.

#include <onnx/defs/schema.h>

#include <list>
#include <set>

#include "ops/families.h"

namespace onward {

void add_missing_ops(std::vector<OpDef>& all) {
  std::set<std::pair<std::string_view, std::string_view>> defined;
  for (const OpDef& each : all) defined.emplace(each.domain, each.name);
  static std::list<std::string> names;  // that definitions point to
  const auto kept = [](const std::string& name) -> std::string_view {
    return names.emplace_back(name);
  };
  for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas()) {
    const bool is_new = !defined.contains({schema.domain(), schema.Name()});
    if (!is_new || schema.domain() == kTrainingDomain) continue;
    OpDef row;
    row.name = kept(schema.Name());
    row.domain = kept(schema.domain());
    row.missing = schema.deprecated() ? "the standard has withdrawn it" : "it is not written yet";
    all.push_back(row);
  }
}

}  // namespace onward
