#include "recipe/class_names.h"

#include <fmt/format.h>

#include <set>

#include "data/data_options.h"
#include "ir/utf8.h"
#include "onward/error.h"

namespace onward {

void keep_class_names(Model& model, const std::vector<std::string>& names,
                      std::optional<int64_t> classes) {
  std::set<std::string_view> known;
  for (const std::string& name : names) {
    if (name.empty() || !is_readable_utf8(name)) {
      throw Error(fmt::format("the name of class {} is empty or not UTF-8: '{}'", known.size(),
                              printable(name)));
    }
    if (!known.insert(name).second) throw Error(fmt::format("two classes are named '{}'", name));
  }
  const auto count = static_cast<int64_t>(names.size());
  if (classes && *classes != count) {
    throw Error(
        fmt::format("there are names for {} classes, but the model has scores for {}: add "
                    "--classes {} to give it a new classifier",
                    count, *classes, count));
  }
  drop_class_names(model);
  model.metadata.emplace_back(kClassesKey, to_json(names));
}

bool drop_class_names(Model& model) {
  return std::erase_if(model.metadata,
                       [](const auto& entry) { return entry.first == kClassesKey; }) > 0;
}

}  // namespace onward
