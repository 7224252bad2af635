// The standard's operators that can't be differentiated yet, nor as a rule computed: all that no
// family defines. What is known of one all the same, which of its inputs a layer learns, stands
// here until somebody writes it.

#include <fmt/format.h>
#include <onnx/defs/schema.h>

#include <list>
#include <set>

#include "onward/error.h"
#include "ops/families.h"

namespace onward {
namespace {

const OpDef kKnownInputs[] = {
    {.name = "DeformConv", .inputs = {In::data, In::weight, In::data, In::bias, In::data}},
};

}  // namespace

void add_missing_ops(std::vector<OpDef>& all) {
  std::set<std::pair<std::string_view, std::string_view>> defined;
  for (const OpDef& each : all) defined.emplace(each.domain, each.name);
  for (const OpDef& known : kKnownInputs) {
    if (defined.contains({known.domain, known.name})) {
      throw Bug(fmt::format("{} is missing, and is defined", known.name));
    }
  }
  static std::list<std::string> names;  // that definitions point to
  const auto kept = [](const std::string& name) -> std::string_view {
    return names.emplace_back(name);
  };
  for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas()) {
    const bool is_new = !defined.contains({schema.domain(), schema.Name()});
    if (!is_new || schema.domain() == kTrainingDomain) continue;
    OpDef row;
    for (const OpDef& known : kKnownInputs) {
      if (schema.domain().empty() && known.name == schema.Name()) row = known;
    }
    row.name = kept(schema.Name());
    row.domain = kept(schema.domain());
    row.missing = schema.deprecated() ? "the standard has withdrawn it" : "it is not written yet";
    all.push_back(row);
  }
}

}  // namespace onward
