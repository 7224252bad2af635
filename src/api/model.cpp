#include "onward/model.h"

#include <fmt/format.h>

#include "api/data.h"
#include "check/check.h"
#include "format/load.h"
#include "format/save.h"
#include "infer/infer.h"
#include "ir/copy.h"
#include "ir/roles.h"
#include "text/text.h"

namespace onward::api {
namespace {

ValueInfo described(const Value& value) { return {value.name(), to_string(value.type)}; }

std::vector<ValueInfo> required_inputs(const Graph& graph) {
  std::vector<ValueInfo> list;
  for (const Value* input : graph.inputs()) {
    if (!input->initializer()) list.push_back(described(*input));
  }
  return list;
}

std::vector<ValueInfo> all_outputs(const Graph& graph) {
  std::vector<ValueInfo> list;
  for (const Value* output : graph.outputs()) list.push_back(described(*output));
  return list;
}

const Graph& algorithm_of(const onward::Model& model, size_t info) {
  if (info >= model.training.size() || !model.training[info].algorithm) {
    throw Error(fmt::format("there is no training info {} with an algorithm: the model has {}",
                            info, model.training.size()),
                ErrorCode::invalid_argument);
  }
  return *model.training[info].algorithm;
}

std::vector<Problem> as_list(const Problems& problems) {
  std::vector<Problem> list;
  for (const onward::Problem& each : problems.list()) {
    list.push_back({each.severity == Severity::error, each.rule, to_string(each)});
  }
  return list;
}

}  // namespace

Model ModelData::wrap(onward::Model model) {
  Problems problems;
  infer_types(model, problems);
  return Model(std::make_shared<const ModelData>(ModelData{std::move(model)}));
}

Model::Model(std::shared_ptr<const ModelData> data) : data_(std::move(data)) {}

std::string Model::name() const { return data_->model.graph->name; }
std::vector<ValueInfo> Model::inputs() const { return required_inputs(*data_->model.graph); }
std::vector<ValueInfo> Model::outputs() const { return all_outputs(*data_->model.graph); }
size_t Model::training_infos() const { return data_->model.training.size(); }

std::vector<ValueInfo> Model::training_inputs(size_t info) const {
  return required_inputs(algorithm_of(data_->model, info));
}

std::vector<ValueInfo> Model::training_outputs(size_t info) const {
  return all_outputs(algorithm_of(data_->model, info));
}

Tensors Model::parameters() const {
  Tensors tensors;
  for (const InitializerRole& each : initializer_roles(data_->model)) {
    const onward::Tensor* tensor = each.value->tensor();
    if (each.role != Role::parameter || !tensor) continue;
    tensors.emplace(each.value->name(), TensorData::wrap(*tensor));
  }
  return tensors;
}

Tensors Model::initializers() const {
  Tensors tensors;
  for_each_top_level_graph(data_->model, [&](const Graph& graph, GraphRole) {
    for (const Value* value : graph.initializers()) {
      if (value->tensor()) tensors.emplace(value->name(), TensorData::wrap(*value->tensor()));
    }
  });
  return tensors;
}

Model Model::with_tensors(const Tensors& tensors) const {
  return with_code(ErrorCode::invalid_argument, [&] {
    onward::Model changed = copy(data_->model);
    set_initializers(changed, unwrap_copies(tensors));
    return ModelData::wrap(std::move(changed));
  });
}

std::map<std::string, int64_t> Model::opsets() const {
  std::map<std::string, int64_t> versions;
  for (const OpsetImport& import : data_->model.opsets) versions[import.domain] = import.version;
  return versions;
}

std::string Model::to_bytes() const { return onward::to_bytes(data_->model); }
std::string Model::to_text() const { return onward::to_text(data_->model); }

Model load(const std::filesystem::path& file) {
  return with_code(ErrorCode::invalid_model, [&] { return ModelData::wrap(onward::load(file)); });
}

Model load_bytes(std::string bytes, const std::filesystem::path& folder) {
  return with_code(ErrorCode::invalid_model, [&] {
    return ModelData::wrap(onward::load_bytes(std::move(bytes), {}, folder));
  });
}

Model parse(std::string_view text) {
  return with_code(ErrorCode::invalid_model, [&] { return ModelData::wrap(parse_text(text)); });
}

void save(const Model& model, const std::filesystem::path& file, const SaveOptions& options) {
  with_code(ErrorCode::file, [&] {
    onward::save(ModelData::of(model), file, {.external_data = options.external_data});
  });
}

std::vector<Problem> check(const std::filesystem::path& file) {
  return with_code(ErrorCode::invalid_model, [&] { return as_list(check_file(file)); });
}

std::vector<Problem> check(const Model& model) {
  onward::Model copied = copy(ModelData::of(model));
  Problems problems;
  onward::check(copied, problems);
  return as_list(problems);
}

}  // namespace onward::api
