#include "emit/jax/dialect.h"

#include <fmt/format.h>

#include <algorithm>

#include "emit/numpy/calls.h"
#include "emit/source.h"

namespace onward::emit::jax {
namespace {

using When = Import::When;
using From = Import::From;

constexpr Import kImports[] = {
    {"math", "math", "", From::python},
    {"os", "os", "", From::python, When::always},
    {"pathlib", "pathlib", "", From::python, When::always},
    {"jax", "jax"},
    {"jnp", "jax.numpy", "", From::packages, When::always},
    {"np", "numpy", "", From::packages, When::always},
    {"load_file", "safetensors.numpy", "load_file", From::packages, When::always},
    {"save_file", "safetensors.numpy", "save_file", From::packages, When::always},
};

/// Parameters are a dict by the names of the model's tensors.
std::string held_tensor(std::string_view key) {
  return fmt::format("params[{}]", python_string(key));
}

/// JAX has elements of 64 bits where a program asks for them.
bool has_64_bits(const Graph& graph) {
  const auto is_wide = [](const Value* value) {
    return value && (value->type.dtype == DType::f64 || value->type.dtype == DType::i64 ||
                     value->type.dtype == DType::u64);
  };
  return std::ranges::any_of(graph.inputs(), is_wide) ||
         std::ranges::any_of(graph.initializers(), is_wide) ||
         std::ranges::any_of(graph.nodes(), [&](const auto& node) {
           return std::ranges::any_of(node->outputs(),
                                      [&](const auto& output) { return is_wide(output.get()); });
         });
}

/// A pure function of the parameters and the inputs.
std::string forward(const SourceParts& parts, const std::string&) {
  Body body(parts.module->context());
  std::vector<std::string> arguments = {"params"}, given;
  for (const Value* input : real_inputs(*parts.graph)) {
    arguments.push_back(body.add_argument(input));
  }
  const std::vector<const Value*> results(parts.graph->outputs().begin(),
                                          parts.graph->outputs().end());
  parts.module->write(body, results);
  for (const Value* result : results) given.push_back(body.tensor(result));
  return fmt::format("def forward({}):\n{}    return {}\n", fmt::join(arguments, ", "),
                     indented(body.lines(), 1), fmt::join(given, ", "));
}

constexpr std::string_view kLoadAndSave = R"(
def load(folder=HERE):
    """The parameters by their names, for `forward`."""
{0}    saved = load_file(folder / "weights.safetensors")
    return {{name: jnp.asarray(tensor) for name, tensor in saved.items()}}


def save(params, folder=HERE):
    """Writes the parameters, for `load` and for `onward import-weights`."""
    file = folder / "weights.safetensors"
    unfinished = file.with_suffix(".unfinished")  # the file appears whole or not at all
    save_file({{name: np.array(tensor, order="C") for name, tensor in params.items()}}, unfinished)
    os.replace(unfinished, file)
)";

std::string load_and_save(const SourceParts& parts, const std::string&) {
  if (!has_64_bits(*parts.graph)) return fmt::format(kLoadAndSave, "");
  parts.module->context().modules.emplace("jax");
  return fmt::format(kLoadAndSave, "    jax.config.update(\"jax_enable_x64\", True)\n");
}

}  // namespace

const Dialect& dialect() {
  static const Dialect dialect = {
      .name = "jax",
      .framework = "JAX",
      .calls = calls(),
      .shared_calls = numpy::calls(),
      .unwritten = "not exported to JAX yet",
      .np = "jnp",
      .nn = "jax.nn",
      .dtype = "jnp.{}",
      .cast = "{}.astype({})",
      .transpose = "jnp.transpose({}, {})",
      .constant = "jnp.array({}, dtype={})",
      .imports = kImports,
      .names = "HERE forward load save",
      .reserved_variables = "params",
      .held_tensor = held_tensor,
      .about =
          "Needs jax, numpy and safetensors. `forward` is a pure function of the parameters, "
          "which `load` gives, and the inputs.",
      .module = forward,
      .load_and_save = load_and_save,
  };
  return dialect;
}

}  // namespace onward::emit::jax
