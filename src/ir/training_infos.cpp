#include "ir/training_infos.h"

#include <fmt/format.h>

#include <numeric>

#include "onward/error.h"

namespace onward {

void require_info(const Model& model, size_t info) {
  const size_t count = model.training.size();
  if (info < count) return;
  throw Error(fmt::format("there is no training info {}: the model has {}", info, count),
              ErrorCode::invalid_argument);
}

std::vector<size_t> chosen_infos(const Model& model, std::optional<size_t> info) {
  if (info) {
    require_info(model, *info);
    return {*info};
  }
  std::vector<size_t> all(model.training.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace onward
