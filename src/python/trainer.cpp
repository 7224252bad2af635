#include "train/trainer.h"

#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <mutex>

#include "data/input_types.h"
#include "format/save.h"
#include "ir/copy.h"
#include "ir/training_infos.h"
#include "python/arrays.h"
#include "python/bindings.h"
#include "python/evaluation.h"
#include "python/gradients.h"
#include "runtime/parallel.h"
#include "train/evaluator.h"

namespace onward::python {
namespace {

namespace fs = std::filesystem;
using namespace nb::literals;

/// A Trainer that several Python threads may call: one call at a time, Python going on meanwhile.
class PyTrainer {
 public:
  PyTrainer(const PyModel& model, uint64_t seed, int64_t threads, const std::string& conv)
      : model_(model.model),
        inputs_(*model.model),
        trainer_(copy(*model.model),
                 {.seed = seed, .threads = threads, .conv = required_conv_method(conv)}) {}

  nb::dict step(const nb::dict& inputs, std::optional<size_t> info) {
    return call(inputs, [&](const TensorMap& tensors) { return trainer_.step(tensors, info); });
  }

  nb::dict step_accumulated(const std::vector<nb::dict>& batches, std::optional<size_t> info) {
    Borrowed borrowed;
    std::vector<TensorMap> tensors;
    for (const nb::dict& batch : batches) {
      tensors.push_back(inputs_.fitted(borrowed.tensors(batch)));
    }
    TensorMap outputs;
    {
      const nb::gil_scoped_release unlocked;
      const std::scoped_lock lock(mutex_);
      outputs = trainer_.step_accumulated(tensors, info);
      for (auto& [name, tensor] : outputs) tensor = borrowed.owned(tensor);
    }
    return to_arrays(outputs);
  }

  nb::dict infer(const nb::dict& inputs) {
    Borrowed borrowed;
    nb::dict arrays = nb::borrow<nb::dict>(inputs.attr("copy")());
    const Trainer::Values containers = taken_containers(arrays, borrowed);
    const TensorMap tensors = inputs_.fitted(borrowed.tensors(arrays));
    Trainer::Values outputs;
    {
      const nb::gil_scoped_release unlocked;
      const std::scoped_lock lock(mutex_);
      outputs = trainer_.infer_values(tensors, containers);
      for (auto& [name, value] : outputs) value = borrowed.owned(value);
    }
    nb::dict results;
    for (const auto& [name, value] : outputs) results[nb::cast(name)] = to_object(value);
    return results;
  }

  nb::dict gradients(const nb::dict& inputs, size_t info) {
    return call(inputs, [&](const TensorMap& tensors) {
      const Threads threads(trainer_.threads());
      const ConvMethodScope convolutions(trainer_.conv());
      trainer_.require_info(info);
      gradients_.resize(model_->training.size());
      if (!gradients_[info]) gradients_[info].emplace(*model_, info);
      return gradients_[info]->run(tensors, trainer_.state());
    });
  }

  void initialize() {
    const nb::gil_scoped_release unlocked;
    const std::scoped_lock lock(mutex_);
    trainer_.initialize();
  }

  nb::dict state() {
    TensorMap tensors;
    {
      const nb::gil_scoped_release unlocked;
      const std::scoped_lock lock(mutex_);
      for (const std::string& name : trainer_.state().names()) {
        tensors.emplace(name, trainer_.state().get(name));
      }
    }
    return to_arrays(tensors);
  }

  /// All of them or none: a wrong one leaves the state as it was.
  void set_state(const nb::dict& arrays) {
    Borrowed borrowed;
    const TensorMap tensors = borrowed.tensors(arrays);
    const nb::gil_scoped_release unlocked;
    const std::scoped_lock lock(mutex_);
    trainer_.state().set_all(tensors);
  }

  Evaluation evaluate(nb::handle given, const EvaluateOptions& how, std::optional<size_t> info) {
    const GivenData arrays(given);
    const nb::gil_scoped_release unlocked;
    Dataset data = arrays.open(data_options_of(*model_));
    const int64_t examples = data.size();
    const std::scoped_lock lock(mutex_);
    const Threads threads(trainer_.threads());
    const ConvMethodScope convolutions(trainer_.conv());
    EvaluateOptions options = how;
    options.on_batch = [](int64_t, int64_t) { stop_if_interrupted(); };
    return {examples, onward::evaluate(trainer_.model(), chosen_infos(*model_, info),
                                       std::move(data), trainer_.state(), options)};
  }

  PyModel model() {
    const nb::gil_scoped_release unlocked;
    const std::scoped_lock lock(mutex_);
    return wrap(copy(trainer_.model()));
  }

  void save(const fs::path& path, bool external_data) {
    const nb::gil_scoped_release unlocked;
    const std::scoped_lock lock(mutex_);
    onward::save(trainer_.model(), path, {.external_data = external_data});
  }

  std::string explain() {
    const nb::gil_scoped_release unlocked;
    const std::scoped_lock lock(mutex_);
    return trainer_.explain();
  }

  uint64_t steps() const { return trainer_.steps(); }
  void set_steps(uint64_t steps) { trainer_.set_steps(steps); }

 private:
  /// What is given for inputs that are no tensors, which is left out of `arrays` then.
  Trainer::Values taken_containers(nb::dict& arrays, Borrowed& borrowed) const {
    Trainer::Values containers;
    for (const Value* input : model_->graph->inputs()) {
      const nb::str name = nb::str(input->name().c_str());
      if (input->type.is_tensor() || !input->type.known() || !arrays.contains(name)) continue;
      try {
        containers.emplace(input->name(), borrowed.value(arrays[name], input->type));
      } catch (Error& error) {
        throw error.add_context(
            fmt::format("in the value for '{}' {}", input->name(), to_string(input->type)));
      }
      nb::del(arrays[name]);
    }
    return containers;
  }

  template <typename Work>
  nb::dict call(const nb::dict& inputs, Work work) {
    Borrowed borrowed;
    const TensorMap tensors = inputs_.fitted(borrowed.tensors(inputs));
    TensorMap outputs;
    {
      const nb::gil_scoped_release unlocked;
      const std::scoped_lock lock(mutex_);
      outputs = work(tensors);
      for (auto& [name, tensor] : outputs) tensor = borrowed.owned(tensor);
    }
    return to_arrays(outputs);
  }

  std::shared_ptr<const Model> model_;
  InputTypes inputs_;
  Trainer trainer_;
  std::vector<std::optional<GradientProgram>> gradients_;
  std::mutex mutex_;
};

}  // namespace

void bind_trainer(nb::module_& module) {
  constexpr const char* kArrays = "collections.abc.Mapping[str, numpy.typing.ArrayLike]";
  const auto signature = [&](const char* name, const char* rest) {
    return fmt::format("def {}(self, inputs: {}{}) -> dict[str, numpy.ndarray]", name, kArrays,
                       rest);
  };
  static const std::string step_signature = signature("step", ", info: int | None = None");
  static const std::string accumulated_signature = fmt::format(
      "def step_accumulated(self, batches: collections.abc.Sequence[{}], info: int | None = None) "
      "-> dict[str, "
      "numpy.ndarray]",
      kArrays);
  static const std::string infer_signature =
      fmt::format("def infer(self, inputs: {}) -> dict[str, typing.Any]", kArrays);
  static const std::string gradients_signature = signature("gradients", ", info: int = 0");
  static const std::string evaluate_signature = fmt::format(
      "def evaluate(self, data: str | os.PathLike[str] | {}, *, batch_size: int | None = None, "
      "feed: "
      "collections.abc.Mapping[str, str] = {{}}, info: int | None = None, metrics: "
      "collections.abc.Sequence[str] = ()) -> Evaluation",
      kArrays);

  nb::class_<PyTrainer>(
      module, "Trainer",
      "Trains a model: inference, initialization and training steps on one state. The given model "
      "is not changed. `seed` seeds random operators; `threads=0` uses one thread per core; "
      "`conv=\"direct\"` computes convolutions as sums of products alone.")
      .def(nb::init<const PyModel&, uint64_t, int64_t, const std::string&>(), "model"_a,
           nb::kw_only(), "seed"_a = 0, "threads"_a = 0, "conv"_a = "fastest")
      .def("step", &PyTrainer::step, "inputs"_a, "info"_a = nb::none(),
           nb::sig(step_signature.c_str()),
           "Runs one training step on a batch: all training infos in file order, or only `info`. "
           "Returns the outputs of the step and of the inference graph by name.")
      .def("step_accumulated", &PyTrainer::step_accumulated, "batches"_a, "info"_a = nb::none(),
           nb::sig(accumulated_signature.c_str()),
           "Runs one training step on several micro-batches, whose gradients are averaged. Returns "
           "the outputs of the last one.")
      .def("infer", &PyTrainer::infer, "inputs"_a, nb::sig(infer_signature.c_str()),
           "Runs inference and returns its outputs by name: arrays, lists of what is a sequence, "
           "dicts of what is a map. Does not change the state.")
      .def("gradients", &PyTrainer::gradients, "inputs"_a, "info"_a = 0,
           nb::sig(gradients_signature.c_str()),
           "The gradients that a step would use, by parameter name. Does not change the state.")
      .def(
          "evaluate",
          [](PyTrainer& self, nb::handle data, std::optional<int64_t> batch_size,
             const ArrayNames& feed, std::optional<size_t> info,
             const std::vector<std::string>& metrics) {
            return self.evaluate(
                data, {.batch_size = batch_size, .names = feed, .metrics = metrics}, info);
          },
          "data"_a, nb::kw_only(), "batch_size"_a = nb::none(), "feed"_a = ArrayNames(),
          "info"_a = nb::none(), "metrics"_a = std::vector<std::string>(),
          nb::sig(evaluate_signature.c_str()),
          "Computes loss and accuracy on a dataset: arrays by name, or what `onward eval --data` "
          "takes. Dropout and BatchNormalization run in inference mode. `feed` names the array for "
          "an input that is named otherwise; `info` selects one training info; `metrics` names "
          "others than accuracy, as `onward eval --metrics` does. Does not change the state.")
      .def("initialize", &PyTrainer::initialize,
           "Runs the initialization of each training info. It never runs implicitly, since it "
           "resets a trained state.")
      .def("state", &PyTrainer::state, nb::sig("def state(self) -> dict[str, numpy.ndarray]"),
           "Everything that training updates: parameters, optimizer state, step counters, running "
           "statistics.")
      .def("set_state", &PyTrainer::set_state, "tensors"_a,
           nb::sig("def set_state(self, tensors: collections.abc.Mapping[str, "
                   "numpy.typing.ArrayLike]) -> None"),
           "Sets some state tensors to new values of the same type and shape.")
      .def("explain", &PyTrainer::explain,
           "Lists the kernels of a step with their shares of the time, once a step was run.")
      .def_prop_ro("model", &PyTrainer::model, "The model with the state that it has now.")
      .def("save", &PyTrainer::save, "path"_a, nb::kw_only(), "external_data"_a = false,
           "Writes the model with its current state to a file, atomically.")
      .def_prop_rw("steps", &PyTrainer::steps, &PyTrainer::set_steps,
                   "The number of steps so far, which random numbers depend on.");
}

}  // namespace onward::python
