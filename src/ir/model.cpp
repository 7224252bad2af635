#include "ir/model.h"

#include <fmt/format.h>

namespace onward {

std::optional<int64_t> Model::opset(std::string_view wanted) const {
  for (const OpsetImport& import : opsets) {
    if (import.domain == wanted) return import.version;
  }
  return std::nullopt;
}

std::string to_string(GraphRole role) {
  switch (role.kind) {
    case GraphRole::inference:
      return "";
    case GraphRole::initialization:
      return fmt::format("training info {}, initialization", role.info);
    case GraphRole::algorithm:
      return fmt::format("training info {}, algorithm", role.info);
  }
  return "";
}

}  // namespace onward
