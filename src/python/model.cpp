#include "ir/model.h"

#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "check/check.h"
#include "format/load.h"
#include "format/save.h"
#include "infer/infer.h"
#include "ir/copy.h"
#include "ir/roles.h"
#include "onward/error.h"
#include "python/arrays.h"
#include "python/bindings.h"
#include "recipe/recipe.h"
#include "text/text.h"

namespace onward::python {
namespace {

namespace fs = std::filesystem;
using namespace nb::literals;

/// An input or output of a graph.
struct ValueInfo {
  std::string name;
  std::string type;   // "f32[N,784]", "seq(f32[2])"
  std::string dtype;  // NumPy's name; empty where it is no tensor
  nb::object shape;   // a tuple of numbers, names and None; None where the rank is unknown
};

nb::object shape_object(const std::optional<Shape>& shape) {
  if (!shape) return nb::none();
  nb::list dims;
  for (const Dim& dim : *shape) {
    if (dim.value) {
      dims.append(*dim.value);
    } else if (!dim.symbol.empty()) {
      dims.append(dim.symbol);
    } else {
      dims.append(nb::none());
    }
  }
  return nb::tuple(dims);
}

ValueInfo describe(const Value& value) {
  const bool is_tensor = value.type.is_tensor();
  return {.name = value.name(),
          .type = to_string(value.type),
          .dtype = is_tensor ? std::string(numpy_name(value.type.dtype)) : "",
          .shape = is_tensor ? shape_object(value.type.shape) : nb::object(nb::none())};
}

/// Inputs that must be given: those without a default.
std::vector<ValueInfo> inputs_of(const Graph& graph) {
  std::vector<ValueInfo> list;
  for (const Value* input : graph.inputs()) {
    if (!input->initializer()) list.push_back(describe(*input));
  }
  return list;
}

std::vector<ValueInfo> outputs_of(const Graph& graph) {
  std::vector<ValueInfo> list;
  for (const Value* output : graph.outputs()) list.push_back(describe(*output));
  return list;
}

nb::dict tensors_of_role(const Model& model, Role role) {
  nb::dict tensors;
  for (const InitializerRole& each : initializer_roles(model)) {
    const Tensor* tensor = each.value->tensor();
    if (each.role == role && tensor) tensors[nb::cast(each.value->name())] = to_array(*tensor);
  }
  return tensors;
}

nb::dict all_initializers(const Model& model) {
  nb::dict tensors;
  for_each_top_level_graph(model, [&](const Graph& graph, GraphRole) {
    for (const Value* value : graph.initializers()) {
      if (value->tensor()) tensors[nb::cast(value->name())] = to_array(*value->tensor());
    }
  });
  return tensors;
}

/// A training info, as a description: names only.
struct InfoDescription {
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
  nb::dict initialization_bindings;
  nb::dict update_bindings;
  nb::dict names;
  nb::dict slots;
};

nb::dict binding_names(const std::vector<Binding>& bindings) {
  nb::dict names;
  for (const Binding& binding : bindings) {
    names[nb::cast(binding.target->name())] = binding.source->name();
  }
  return names;
}

/// What a recipe's values are called in this model, which may have had their usual names already.
void add_names(const Model& model, size_t info, InfoDescription& added) {
  const auto found = recognise(model, info);
  if (!found) return;
  const auto add = [&](const char* role, const Value* value) {
    if (value) added.names[role] = value->name();
  };
  const auto labels = inputs_of(*model.training[info].algorithm);
  if (found->label) {
    add("label", found->label);
  } else if (labels.size() == 1) {
    added.names["label"] = labels[0].name;
  }
  add("loss", found->loss);
  add("learning_rate", found->learning_rate);
  add("step", found->step);
  for (const TrainedTensor& each : found->trained) {
    nb::dict slots;
    for (const Slot& slot : each.slots) slots[nb::cast(slot.name)] = slot.value->name();
    added.slots[nb::cast(each.parameter->name())] = slots;
  }
}

std::vector<InfoDescription> training_of(const Model& model) {
  std::vector<InfoDescription> infos;
  for (const TrainingInfo& info : model.training) {
    InfoDescription& added = infos.emplace_back();
    if (info.algorithm) {
      added.inputs = inputs_of(*info.algorithm);
      added.outputs = outputs_of(*info.algorithm);
    }
    added.initialization_bindings = binding_names(info.initialization_bindings);
    added.update_bindings = binding_names(info.update_bindings);
    if (info.algorithm) add_names(model, infos.size() - 1, added);
  }
  return infos;
}

/// Types are completed here, so that whoever asks for an output's finds it.
PyModel loaded(Model model) {
  Problems problems;
  infer_types(model, problems);
  return wrap(std::move(model));
}

PyModel load_model(const fs::path& file) {
  const nb::gil_scoped_release unlocked;
  return loaded(load(file));
}

PyModel loads(const nb::bytes& bytes, const std::optional<fs::path>& folder) {
  std::string copied(bytes.c_str(), bytes.size());
  const nb::gil_scoped_release unlocked;
  return loaded(load_bytes(std::move(copied), {}, folder.value_or(fs::path())));
}

nb::bytes model_bytes(const PyModel& self) {
  std::string bytes;
  {
    const nb::gil_scoped_release unlocked;
    bytes = to_bytes(*self.model);
  }
  return nb::bytes(bytes.data(), bytes.size());
}

std::vector<Problem> check_model(const PyModel& self) {
  const nb::gil_scoped_release unlocked;
  Model copied = copy(*self.model);
  Problems problems;
  check(copied, problems);
  return problems.list();
}

std::vector<Problem> check_path(const fs::path& file) {
  const nb::gil_scoped_release unlocked;
  return check_file(file).list();
}

/// A copy in which some initializers have other values.
PyModel with_tensors(const PyModel& self, const nb::dict& arrays) {
  TensorMap tensors = tensor_copies(arrays);
  Model copied = copy(*self.model);
  for_each_top_level_graph(copied, [&](Graph& graph, GraphRole) {
    for (Value* value : graph.initializers()) {
      const auto found = tensors.find(value->name());
      if (found == tensors.end()) continue;
      const Type given = found->second.type(), wanted = value->initializer()->type();
      if (given != wanted) {
        throw Error(
            fmt::format("'{}' is {}, not {}", value->name(), to_string(wanted), to_string(given)));
      }
      graph.set_initializer(value, found->second);
      tensors.erase(found);
    }
  });
  if (!tensors.empty()) {
    throw Error(fmt::format("there is no initializer '{}'", tensors.begin()->first));
  }
  return wrap(std::move(copied));
}

std::string repr(const PyModel& self) {
  size_t nodes = 0;
  for_each_node(*self.model->graph, [&](const Node&) { ++nodes; });
  return fmt::format("<onward.Model '{}': {} nodes, {} training infos>", self.model->graph->name,
                     nodes, self.model->training.size());
}

}  // namespace

void bind_model(nb::module_& module) {
  nb::class_<ValueInfo>(module, "Value", "An input or output of a graph.")
      .def_ro("name", &ValueInfo::name)
      .def_ro("type", &ValueInfo::type, "The type as text: 'f32[N,784]'.")
      .def_ro("dtype", &ValueInfo::dtype,
              "NumPy's name of the element type; empty if the value is not a tensor.")
      .def_ro("shape", &ValueInfo::shape,
              nb::for_getter(nb::sig("def shape(self, /) -> tuple[int | str | None, ...] | None")),
              "The dimensions: numbers, symbolic names and None (unknown); None if the rank is "
              "unknown.")
      .def("__repr__", [](const ValueInfo& self) { return self.name + ": " + self.type; });

  nb::class_<InfoDescription>(module, "TrainingInfo", "One training info of a model.")
      .def_ro("inputs", &InfoDescription::inputs,
              "The inputs of a step in addition to those of the model, such as labels.")
      .def_ro("outputs", &InfoDescription::outputs, "The outputs of a step.")
      .def_ro("initialization_bindings", &InfoDescription::initialization_bindings,
              nb::for_getter(nb::sig("def initialization_bindings(self, /) -> dict[str, str]")),
              "Each tensor that is initialized, and the output of the initialization graph "
              "assigned to it.")
      .def_ro("update_bindings", &InfoDescription::update_bindings,
              nb::for_getter(nb::sig("def update_bindings(self, /) -> dict[str, str]")),
              "Each tensor that a step updates, and the output assigned to it.")
      .def_ro("names", &InfoDescription::names,
              nb::for_getter(nb::sig("def names(self, /) -> dict[str, str]")),
              "The names in this model of label, loss, learning_rate and step (the step counter), "
              "as far as they exist; empty if the training info was not written by a recipe.")
      .def_ro("slots", &InfoDescription::slots,
              nb::for_getter(nb::sig("def slots(self, /) -> dict[str, dict[str, str]]")),
              "The optimizer state of each parameter: {name in the framework: name in the model}; "
              "empty if the training info was not written by a recipe.");

  nb::class_<Problem>(module, "Problem", "One thing that is wrong with a model.")
      .def_prop_ro("severity",
                   [](const Problem& self) {
                     return self.severity == Severity::error ? "error" : "warning";
                   })
      .def_ro("rule", &Problem::rule, "A stable name for programs, such as 'binding-key'.")
      .def_ro("where", &Problem::where)
      .def_ro("node", &Problem::node)
      .def_ro("op", &Problem::op)
      .def_ro("tensor", &Problem::tensor)
      .def_ro("message", &Problem::message)
      .def("__str__", [](const Problem& self) { return to_string(self); })
      .def("__repr__", [](const Problem& self) {
        return fmt::format("<onward.Problem [{}] {}>", self.rule, to_string(self));
      });

  nb::class_<PyModel>(module, "Model", "An ONNX model with its training infos. Never changes.")
      .def_prop_ro(
          "inputs", [](const PyModel& self) { return inputs_of(*self.model->graph); },
          "The inputs of the inference graph that have no default value.")
      .def_prop_ro(
          "outputs", [](const PyModel& self) { return outputs_of(*self.model->graph); },
          "The outputs of the inference graph.")
      .def_prop_ro(
          "parameters",
          [](const PyModel& self) { return tensors_of_role(*self.model, Role::parameter); },
          nb::for_getter(nb::sig("def parameters(self, /) -> dict[str, numpy.ndarray]")),
          "The trained tensors: those whose update uses a gradient with respect to them.")
      .def_prop_ro(
          "state", [](const PyModel& self) { return tensors_of_role(*self.model, Role::state); },
          nb::for_getter(nb::sig("def state(self, /) -> dict[str, numpy.ndarray]")),
          "What a step updates besides parameters: step counters, optimizer state, running "
          "statistics.")
      .def_prop_ro(
          "initializers", [](const PyModel& self) { return all_initializers(*self.model); },
          nb::for_getter(nb::sig("def initializers(self, /) -> dict[str, numpy.ndarray]")),
          "All tensors of the model: parameters, other state and constants.")
      .def_prop_ro(
          "training", [](const PyModel& self) { return training_of(*self.model); },
          "The training infos, in file order: each describes one training step.")
      .def_prop_ro(
          "opsets",
          [](const PyModel& self) {
            nb::dict versions;
            for (const OpsetImport& import : self.model->opsets) {
              versions[nb::cast(import.domain)] = import.version;
            }
            return versions;
          },
          nb::for_getter(nb::sig("def opsets(self, /) -> dict[str, int]")),
          "The imported version of each operator set, '' for ai.onnx.")
      .def("to_bytes", &model_bytes, "The bytes of the model's file, all data inside.")
      .def(
          "save",
          [](const PyModel& self, const fs::path& path, bool external_data) {
            const nb::gil_scoped_release unlocked;
            save(*self.model, path, {.external_data = external_data});
          },
          "path"_a, nb::kw_only(), "external_data"_a = false,
          "Writes the model to a file, atomically.")
      .def("check", &check_model, "Everything that is wrong with the model; best an empty list.")
      .def("with_tensors", &with_tensors, "tensors"_a,
           nb::sig("def with_tensors(self, tensors: collections.abc.Mapping[str, "
                   "numpy.typing.ArrayLike]) -> Model"),
           "A copy with new values, of the same type and shape, for some initializers.")
      .def(
          "to_text", [](const PyModel& self) { return to_text(*self.model); },
          "The model in ONNX's text syntax, with its training infos; long tensors are abbreviated.")
      .def("__repr__", &repr);

  module.def(
      "load", &load_model, "path"_a,
      "Loads a model from an .onnx file (standard or 2019 draft format) or an .onnxtxt file.");
  module.def("loads", &loads, "data"_a, nb::kw_only(), "folder"_a = nb::none(),
             "Loads a model from bytes. External data is read from `folder`; without it, a model "
             "with external data is an error.");
  module.def(
      "parse",
      [](const std::string& text) {
        const nb::gil_scoped_release unlocked;
        return loaded(parse_text(text));
      },
      "text"_a, "Reads a model in ONNX's text syntax.");
  module.def("check_file", &check_path, "path"_a, "All problems of a file, however damaged it is.");
}

}  // namespace onward::python
