#include "onward/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <mutex>

#include "api/data.h"
#include "data/input_types.h"
#include "format/save.h"
#include "ir/copy.h"
#include "ir/training_infos.h"
#include "runtime/parallel.h"
#include "train/evaluator.h"
#include "train/trainer.h"

namespace onward::api {

static ConvMethod method_of(Conv conv) {
  return conv == Conv::direct ? ConvMethod::direct : ConvMethod::fastest;
}

/// The Trainer itself, and a lock that lets one call in at a time.
struct Trainer::Data {
  Data(const onward::Model& model, const TrainerOptions& options)
      : inputs(model),
        trainer(
            copy(model),
            {.seed = options.seed, .threads = options.threads, .conv = method_of(options.conv)}) {}

  TensorMap fitted(const Batch& batch) const { return inputs.fitted(unwrap(batch)); }
  void require_info(std::optional<size_t> info) const {
    if (info) trainer.require_info(*info);
  }

  InputTypes inputs;
  onward::Trainer trainer;
  std::mutex mutex;
};

namespace {

bool lies_in(const onward::Tensor& tensor, const TensorMap& inputs) {
  const std::byte* at = tensor.bytes().data();
  return std::ranges::any_of(inputs, [&](const auto& input) {
    const auto bytes = input.second.bytes();
    return !bytes.empty() && std::less_equal<>()(bytes.data(), at) &&
           std::less<>()(at, bytes.data() + bytes.size());
  });
}

/// An output that is an input, or a view of it, gets memory of its own: the caller's may change.
Tensors results(TensorMap outputs, std::span<const TensorMap> inputs) {
  for (auto& [name, tensor] : outputs) {
    const auto holds = [&](const TensorMap& batch) { return lies_in(tensor, batch); };
    if (std::ranges::any_of(inputs, holds)) tensor = copied(tensor);
  }
  return wrap(outputs);
}

}  // namespace

Trainer::Trainer(const Model& model, const TrainerOptions& options)
    : data_(with_code(ErrorCode::invalid_model, [&] {
        with_code(ErrorCode::invalid_argument, [&] { thread_count(options.threads); });
        return std::make_unique<Data>(ModelData::of(model), options);
      })) {}
Trainer::~Trainer() = default;
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;

Tensors Trainer::step(const Batch& batch, std::optional<size_t> info) {
  return with_code(ErrorCode::data, [&] {
    data_->require_info(info);
    const TensorMap inputs = data_->fitted(batch);
    const std::scoped_lock lock(data_->mutex);
    return results(data_->trainer.step(inputs, info), {&inputs, 1});
  });
}

Tensors Trainer::step_accumulated(std::span<const Batch> batches, std::optional<size_t> info) {
  return with_code(ErrorCode::data, [&] {
    data_->require_info(info);
    std::vector<TensorMap> inputs;
    for (const Batch& batch : batches) inputs.push_back(data_->fitted(batch));
    const std::scoped_lock lock(data_->mutex);
    return results(data_->trainer.step_accumulated(inputs, info), inputs);
  });
}

Tensors Trainer::infer(const Batch& batch) {
  return with_code(ErrorCode::data, [&] {
    const TensorMap inputs = data_->fitted(batch);
    const std::scoped_lock lock(data_->mutex);
    return results(data_->trainer.infer(inputs), {&inputs, 1});
  });
}

void Trainer::initialize() {
  const std::scoped_lock lock(data_->mutex);
  with_code(ErrorCode::invalid_model, [&] { data_->trainer.initialize(); });
}

Metrics Trainer::evaluate(const Dataset& data, std::optional<int64_t> batch_size,
                          const std::vector<std::string>& metrics) {
  return with_code(ErrorCode::data, [&] {
    const std::scoped_lock lock(data_->mutex);
    const onward::Model& model = data_->trainer.model();
    const Threads threads(data_->trainer.threads());
    const ConvMethodScope convolutions(data_->trainer.conv());
    const Summary summary =
        onward::evaluate(model, chosen_infos(model, std::nullopt), DatasetData::of(data),
                         data_->trainer.state(), {.batch_size = batch_size, .metrics = metrics});
    return Metrics{
        summary.losses, summary.accuracy, summary.metrics, summary.missing,
        summary.confusion ? rows_of(*summary.confusion) : std::vector<std::vector<int64_t>>()};
  });
}

Tensors Trainer::state() const {
  const std::scoped_lock lock(data_->mutex);
  Tensors tensors;
  for (const std::string& name : data_->trainer.state().names()) {
    tensors.emplace(name, TensorData::wrap(data_->trainer.state().get(name)));
  }
  return tensors;
}

Tensor Trainer::state(std::string_view name) const {
  const std::scoped_lock lock(data_->mutex);
  return with_code(ErrorCode::invalid_argument,
                   [&] { return TensorData::wrap(data_->trainer.state().get(name)); });
}

void Trainer::set_state(const Tensors& tensors) {
  const std::scoped_lock lock(data_->mutex);
  with_code(ErrorCode::invalid_argument, [&] { data_->trainer.state().set_all(unwrap(tensors)); });
}

uint64_t Trainer::steps() const {
  const std::scoped_lock lock(data_->mutex);
  return data_->trainer.steps();
}

void Trainer::set_steps(uint64_t steps) {
  const std::scoped_lock lock(data_->mutex);
  data_->trainer.set_steps(steps);
}

int Trainer::threads() const { return data_->trainer.threads(); }

Model Trainer::model() const {
  const std::scoped_lock lock(data_->mutex);
  return ModelData::wrap(copy(data_->trainer.model()));
}

Model Trainer::inference_model() const {
  const std::scoped_lock lock(data_->mutex);
  return ModelData::wrap(data_->trainer.inference_model());
}

void Trainer::save(const std::filesystem::path& file, const SaveOptions& options) const {
  const std::scoped_lock lock(data_->mutex);
  with_code(ErrorCode::file, [&] {
    onward::save(data_->trainer.model(), file, {.external_data = options.external_data});
  });
}

std::string Trainer::explain() const {
  const std::scoped_lock lock(data_->mutex);
  return data_->trainer.explain();
}

}  // namespace onward::api
