// To other runtimes and frameworks, and back.

#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "emit/dialect.h"
#include "emit/export_by_name.h"
#include "emit/take.h"
#include "ir/copy.h"
#include "ir/utf8.h"
#include "lower/lower.h"
#include "python/bindings.h"

namespace onward::python {
namespace {

namespace fs = std::filesystem;
using namespace nb::literals;

void warn(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    if (PyErr_WarnEx(PyExc_UserWarning, printable(note).c_str(), 1) != 0) throw nb::python_error();
  }
}

PyModel lowered(const PyModel& model, size_t info, std::optional<int64_t> opset) {
  LoweredStep step;
  {
    const nb::gil_scoped_release unlocked;
    step = lower_step(*model.model, info, {.opset = opset});
  }
  warn(step.notes);
  return wrap(std::move(step.model));
}

nb::object export_to(const PyModel& model, const std::string& to, const fs::path& output,
                     std::optional<size_t> info, bool inference) {
  {
    const nb::gil_scoped_release unlocked;
    emit::export_by_name(*model.model, output,
                         {.framework = to, .info = info, .inference = inference});
  }
  return nb::cast(output / "model.py");
}

std::vector<std::string_view> framework_names() {
  std::vector<std::string_view> names;
  for (const emit::Dialect* dialect : emit::dialects()) names.push_back(dialect->name);
  return names;
}

PyModel with_weights_of(const fs::path& folder, const PyModel& model) {
  const nb::gil_scoped_release unlocked;
  Model trained = copy(*model.model);
  emit::take(folder, trained);
  return wrap(std::move(trained));
}

}  // namespace

void bind_transfer(nb::module_& module) {
  module.def("lower", &lowered, "model"_a, nb::kw_only(), "info"_a = 0, "opset"_a = nb::none(),
             "One training step as a plain ONNX model for any runtime: forward pass, backward pass "
             "and optimizer in standard operators. State tensors are inputs, and outputs named "
             "NAME.next. A warning tells where a runtime's random numbers replace Onward's.\n\n"
             "info: which training info to lower.\n"
             "opset: of ai.onnx, from 13 up; by default the lowest that can express the step.");
  static const std::string export_help = fmt::format(
      "Writes a model as source code of another framework, with its weights and the optimizer's "
      "state, into a folder. The code runs without Onward. Returns the path of its model.py.\n\n"
      "to: {}.\n"
      "output: the folder to write.\n"
      "info: which training info to export as loss and optimizer, if there are several.\n"
      "inference: export the model only, without loss and optimizer.",
      fmt::join(framework_names(), ", "));
  module.def("export", &export_to, "model"_a, nb::kw_only(), "to"_a, "output"_a,
             "info"_a = nb::none(), "inference"_a = false,
             nb::sig("def export(model: Model, *, to: str, output: str | os.PathLike[str], info: "
                     "int | None = None, inference: bool = False) -> pathlib.Path"),
             export_help.c_str());
  module.def("import_weights", &with_weights_of, "folder"_a, "model"_a,
             "The model that was exported to `folder`, with the weights and the optimizer state "
             "that the framework saved there.");
}

}  // namespace onward::python
