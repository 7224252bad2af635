#include <fmt/format.h>

#include <algorithm>

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
{2}    read(tensors(model), folder / "weights.safetensors")
    return model


def save(model, folder=HERE):
    """Writes the weights, for `load` and for `onward import-weights`."""
    write(tensors(model), folder / "weights.safetensors")

)";

constexpr std::string_view kLoadAndSaveJob = R"(
def load(folder=HERE):
    """Model, loss function and optimizer, compiled, ready to go on where the training stands."""
{5}    keras.config.set_floatx("{4}")
    keras.config.set_dtype_policy("{4}")
    model = {0}()
{7}    read(tensors(model), folder / "weights.safetensors")
    optimizer = {1}
    optimizer.build(model.trainable_variables)
    read(optimizer_tensors(model, optimizer), folder / "optimizer.safetensors")
    loss_function = {2}
    model.compile(optimizer=optimizer, loss=loss_function)
    return model, loss_function, optimizer


def save(model, optimizer, folder=HERE):
    """Writes weights and optimizer state, for `load` and for `onward import-weights`."""
    mark = {{"save": uuid.uuid4().hex}}  # the two files belong together
    write(tensors(model), folder / "weights.safetensors", mark)
    write(optimizer_tensors(model, optimizer), folder / "optimizer.safetensors", mark)


def optimizer_tensors(model, optimizer):
    """The optimizer's variables by their names in optimizer.safetensors."""
    variables = {{"learning_rate": optimizer.learning_rate{3}}}
    names = {{id(variable): name for name, variable in tensors(model).items()}}
    for variable, slots in zip(model.trainable_variables, {6}, strict=False):
        for slot, value in zip(SLOTS, slots, strict=True):
            variables[f"{{names[id(variable)]}}.{{slot}}"] = value
    return variables

)";

constexpr std::string_view kOnTensorFlow =
    R"(    if keras.backend.backend() != "tensorflow":
        raise RuntimeError("{}")
)";

constexpr std::string_view kRounded =
    "this training goes on by the numbers of Keras on TensorFlow, which rounds them to float32";
constexpr std::string_view kThrough =
    "the loss reads what the model's last activation does, which Keras finds on TensorFlow alone";

// The other way round than above: it is JAX that lacks something.
constexpr std::string_view kNotOnJax =
    R"(    if keras.backend.backend() == "jax":
        raise RuntimeError("data says when a loop of this model ends, and JAX has no gradient of such")
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

/// "keras.Input((3, 32, 32), name=\"image\")".
std::string symbolic_input(const Value* input, DType main_float) {
  const Shape& shape = *input->type.shape;
  std::vector<std::string> sizes;
  for (const Dim& dim : shape) sizes.push_back(dim.value ? std::to_string(*dim.value) : "None");
  const bool is_batch = !shape.empty() && !shape[0].value;
  if (is_batch) sizes.erase(sizes.begin());
  const DType dtype = input->type.dtype;
  return fmt::format("keras.Input({}{}{}, name={})",
                     is_batch ? "" : "batch_shape=", python_tuple(sizes),
                     dtype == main_float ? "" : fmt::format(", dtype=\"{}\"", python_dtype(dtype)),
                     python_string(identifier(input->name())));
}

/// Lines that build all layers: by a call, or one by one where the model does not say what it
/// takes.
std::string built_layers(const SourceParts& parts) {
  const auto inputs = real_inputs(*parts.graph);
  const auto& layers = parts.module->layers();
  if (std::ranges::all_of(layers, [](const Layer& layer) { return layer.tensors.empty(); })) {
    return "";
  }
  SourceContext& context = parts.module->context();
  if (!inputs.empty() && std::ranges::all_of(layers, &Layer::is_built_by_call) &&
      std::ranges::all_of(inputs, [](const Value* each) { return each->type.shape.has_value(); })) {
    std::vector<std::string> texts;
    for (const Value* input : inputs) texts.push_back(symbolic_input(input, context.main_float));
    const std::string all = fmt::format("{}", fmt::join(texts, ", "));
    return fmt::format("    model({})  # builds its layers\n",
                       texts.size() == 1 ? all : fmt::format("[{}]", all));
  }
  const Body body(context, "");
  std::string lines;
  for (const Layer& layer : layers) {
    if (layer.build_shape.empty()) continue;
    lines +=
        fmt::format("    {}.build({})\n", body.attribute(layer.path, "model"), layer.build_shape);
  }
  return lines;
}

/// Raises an error where the training needs TensorFlow, or can't run on JAX.
std::string backend_check(const SourceParts& parts, const OptimizerText& optimizer) {
  if (optimizer.only_on_tensorflow) return fmt::format(kOnTensorFlow, kRounded);
  if (looks_through(*parts.job)) return fmt::format(kOnTensorFlow, kThrough);
  return parts.module->context().has_open_loops ? std::string(kNotOnJax) : "";
}

}  // namespace

std::string load_and_save(const SourceParts& parts, const std::string& name) {
  parts.module->context().helpers.emplace("tensors");
  return fmt::format(kLoadAndSave, name, floatx(parts), built_layers(parts)) +
         fmt::format(kReadAndWrite, "", "");
}

std::string load_and_save_job(const SourceParts& parts, const std::string& name,
                              const LossText& loss, const OptimizerText& optimizer) {
  parts.module->context().modules.emplace("uuid");
  parts.module->context().helpers.emplace("tensors");
  const Job& job = *parts.job;
  const double exact = job.learning_rate.value.number(0);
  const auto rounded = static_cast<float>(exact);
  // Keras has it in the model's type, so that 0.1 is enough for the float32 of it.
  const bool is_float32 =
      parts.module->context().main_float == DType::f32 && static_cast<double>(rounded) == exact;
  const std::string rate = is_float32 ? python_float(rounded, DType::f32) : python_float(exact);
  const std::string constructor = fmt::format(fmt::runtime(optimizer.constructor), rate);
  return fmt::format(kLoadAndSaveJob, name, constructor, loss.expression,
                     job.step ? ", \"step\": optimizer.iterations" : "", floatx(parts),
                     backend_check(parts, optimizer), optimizer.slot_variables,
                     built_layers(parts)) +
         fmt::format(kReadAndWrite, ", mark", ", metadata=mark");
}

}  // namespace onward::emit::keras
