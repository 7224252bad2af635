#include "emit/export_by_name.h"

#include <fmt/format.h>

#include "emit/export.h"
#include "ir/training_infos.h"
#include "onward/error.h"

namespace onward::emit {
namespace {

std::optional<size_t> info_of(const Model& model, const ExportRequest& request) {
  const size_t count = model.training.size();
  if (request.inference && request.info) {
    throw Error("an export is of a training info, or of inference alone",
                ErrorCode::invalid_argument);
  }
  if (request.info) require_info(model, *request.info);
  if (request.inference || count == 0) return std::nullopt;
  if (count > 1 && !request.info) {
    throw Error(fmt::format("the model has {} training infos: choose one (--info)", count),
                ErrorCode::invalid_argument);
  }
  return request.info.value_or(0);
}

}  // namespace

void export_by_name(const Model& model, const std::filesystem::path& folder,
                    const ExportRequest& request) {
  export_model(
      model, folder,
      {.to = request.framework, .info = info_of(model, request), .model_file = request.model_file});
}

}  // namespace onward::emit
