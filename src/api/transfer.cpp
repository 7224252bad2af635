#include "onward/transfer.h"

#include <fmt/format.h>

#include "api/data.h"
#include "emit/export_by_name.h"
#include "emit/take.h"
#include "ir/copy.h"
#include "lower/lower.h"

namespace onward::api {

Model lower(const Model& model, const LowerOptions& options) {
  return with_code(ErrorCode::unsupported, [&] {
    LoweredStep lowered = lower_step(ModelData::of(model), options.info, {.opset = options.opset});
    for (const std::string& note : lowered.notes) log(LogLevel::warning, note);
    return ModelData::wrap(std::move(lowered.model));
  });
}

void export_to(const Model& model, const std::string& framework,
               const std::filesystem::path& folder, const ExportOptions& options) {
  with_code(ErrorCode::unsupported, [&] {
    emit::export_by_name(ModelData::of(model), folder,
                         {.framework = framework,
                          .info = options.info,
                          .inference = options.inference,
                          .model_file = options.model_file});
  });
}

Model import_weights(const Model& model, const std::filesystem::path& folder) {
  return with_code(ErrorCode::invalid_argument, [&] {
    onward::Model changed = copy(ModelData::of(model));
    const emit::Taken taken = emit::take(folder, changed);
    log(LogLevel::info, fmt::format("imported {} weights and {} tensors of the optimizer",
                                    taken.weights, taken.state));
    return ModelData::wrap(std::move(changed));
  });
}

}  // namespace onward::api
