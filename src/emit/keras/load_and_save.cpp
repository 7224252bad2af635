#include <fmt/format.h>

#include "emit/job.h"
#include "emit/keras/dialect.h"
#include "emit/loss.h"
#include "emit/optimizer.h"
#include "emit/source.h"

namespace onward::emit::keras {
namespace {

constexpr std::string_view kLoadAndSave = R"(
def load(folder=HERE):
    """The model with its weights, ready for inference."""
    keras.config.set_floatx("{1}")
    keras.config.set_dtype_policy("{1}")
    model = {0}()
    model.build()
    read(model.tensors(), folder / "weights.safetensors")
    return model


def save(model, folder=HERE):
    """Writes the weights, for `load` and for `onward import-weights`."""
    write(model.tensors(), folder / "weights.safetensors")

)";

constexpr std::string_view kLoadAndSaveJob = R"(
def load(folder=HERE):
    """Model, loss function and optimizer, compiled, ready to go on where the training stands."""
{5}    keras.config.set_floatx("{4}")
    keras.config.set_dtype_policy("{4}")
    model = {0}()
    model.build()
    read(model.tensors(), folder / "weights.safetensors")
    optimizer = {1}
    optimizer.build(model.trainable_variables)
    read(optimizer_tensors(model, optimizer), folder / "optimizer.safetensors")
    loss_function = {2}
    model.compile(optimizer=optimizer, loss=loss_function)
    return model, loss_function, optimizer


def save(model, optimizer, folder=HERE):
    """Writes weights and optimizer state, for `load` and for `onward import-weights`."""
    mark = {{"save": uuid.uuid4().hex}}  # the two files belong together
    write(model.tensors(), folder / "weights.safetensors", mark)
    write(optimizer_tensors(model, optimizer), folder / "optimizer.safetensors", mark)


def optimizer_tensors(model, optimizer):
    """The optimizer's variables by their names in optimizer.safetensors."""
    tensors = {{"learning_rate": optimizer.learning_rate{3}}}
    names = {{id(variable): name for name, variable in model.tensors().items()}}
    for variable, slots in zip(model.trainable_variables, {6}):
        for slot, value in zip(SLOTS, slots):
            tensors[f"{{names[id(variable)]}}.{{slot}}"] = value
    return tensors

)";

constexpr std::string_view kOnTensorFlow =
    R"(    if keras.backend.backend() != "tensorflow":
        raise RuntimeError("this training goes on by the numbers of Keras on TensorFlow, which rounds them to float32")
)";

constexpr std::string_view kReadAndWrite = R"(
def read(variables, file):
    saved = load_file(file)
    for name, variable in variables.items():
        variable.assign(saved[name])


def write(variables, file{0}):
    """The file appears whole or not at all."""
    unfinished = file.with_suffix(".unfinished")
    save_file({{name: np.array(ops.convert_to_numpy(variable), order="C")
               for name, variable in variables.items()}}, unfinished{1})
    os.replace(unfinished, file)
)";

/// Keras converts data, rates and losses to one type, which is the program's.
std::string floatx(const SourceParts& parts) {
  return python_dtype(parts.module->context().main_float);
}

}  // namespace

std::string load_and_save(const SourceParts& parts, const std::string& name) {
  return fmt::format(kLoadAndSave, name, floatx(parts)) + fmt::format(kReadAndWrite, "", "");
}

std::string load_and_save_job(const SourceParts& parts, const std::string& name,
                              const LossText& loss, const OptimizerText& optimizer) {
  parts.module->context().modules.emplace("uuid");
  const Job& job = *parts.job;
  const std::string rate = python_float(job.learning_rate.value.number(0));
  const std::string constructor = fmt::format(fmt::runtime(optimizer.constructor), rate);
  return fmt::format(kLoadAndSaveJob, name, constructor, loss.expression,
                     job.step ? ", \"step\": optimizer.iterations" : "", floatx(parts),
                     optimizer.only_on_tensorflow ? kOnTensorFlow : "", optimizer.slot_variables) +
         fmt::format(kReadAndWrite, ", mark", ", metadata=mark");
}

}  // namespace onward::emit::keras
