#include "python/evaluation.h"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "python/bindings.h"
#include "python/names.h"

namespace onward::python {
namespace {

nb::dict dict_from(nb::handle data) {
  if (!nb::hasattr(data, "keys")) {
    throw nb::type_error(
        fmt::format("data is a path, or arrays by name, not {}", type_name_of(data)).c_str());
  }
  nb::dict arrays;
  if (PyDict_Merge(arrays.ptr(), data.ptr(), 1) != 0) throw nb::python_error();
  return arrays;
}

std::optional<double> only_loss(const Evaluation& self) {
  if (self.summary.losses.size() != 1) return std::nullopt;
  return self.summary.losses.front().second;
}

nb::dict metrics_by_name(const Evaluation& self) {
  nb::dict metrics;
  if (self.summary.accuracy) metrics[kAccuracy] = *self.summary.accuracy;
  for (const auto& [name, value] : self.summary.metrics) metrics[nb::cast(name)] = value;
  return metrics;
}

nb::dict missing_by_name(const Evaluation& self) {
  nb::dict missing;
  for (const auto& [name, why_not] : self.summary.missing) {
    missing[nb::cast(name)] = nb::cast(why_not);
  }
  return missing;
}

nb::object confusion_rows(const Evaluation& self) {
  if (!self.summary.confusion) return nb::none();
  nb::list rows;
  for (const auto& each : rows_of(*self.summary.confusion)) {
    nb::list row;
    for (const int64_t count : each) row.append(count);
    rows.append(row);
  }
  return rows;
}

nb::dict losses_by_name(const Evaluation& self) {
  nb::dict losses;
  for (const auto& [name, value] : self.summary.losses) losses[nb::cast(name)] = value;
  return losses;
}

}  // namespace

GivenData::GivenData(nb::handle data) {
  if (PyUnicode_Check(data.ptr())) {
    where_ = text_from(data, "data");
  } else if (nb::hasattr(data, "__fspath__")) {
    where_ = text_from(data.attr("__fspath__")(), "the path of data");
  } else {
    arrays_ = borrowed_.tensors(dict_from(data));
  }
}

Dataset GivenData::open(const DataOptions& options) const {
  return where_ ? open_dataset(*where_, options) : Dataset(arrays_);
}

void stop_if_interrupted() {
  const nb::gil_scoped_acquire locked;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

void bind_evaluation(nb::module_& module) {
  nb::class_<Evaluation>(module, "Evaluation", "Means over the examples of a dataset.")
      .def_ro("examples", &Evaluation::examples, "The number of examples.")
      .def_prop_ro("loss", &only_loss, "The loss; None unless there is exactly one.")
      .def_prop_ro("losses", &losses_by_name,
                   nb::for_getter(nb::sig("def losses(self, /) -> dict[str, float]")),
                   "The losses of the evaluated training infos by name.")
      .def_prop_ro(
          "accuracy", [](const Evaluation& self) { return self.summary.accuracy; },
          "From 0 to 1; None if there are no class scores with labels.")
      .def_prop_ro("metrics", &metrics_by_name,
                   nb::for_getter(nb::sig("def metrics(self, /) -> dict[str, float]")),
                   "Accuracy, and the metrics that were asked for, by name.")
      .def_prop_ro("missing", &missing_by_name,
                   nb::for_getter(nb::sig("def missing(self, /) -> dict[str, str]")),
                   "The metrics that have no value, and why.")
      .def_prop_ro("confusion", &confusion_rows,
                   nb::for_getter(nb::sig("def confusion(self, /) -> list[list[int]] | None")),
                   "How often each class (row) was taken for each (column); None unless it was "
                   "asked for.")
      .def("__repr__", [](const Evaluation& self) {
        return fmt::format("<onward.Evaluation of {} examples: {}>", self.examples,
                           to_string(self.summary));
      });
}

}  // namespace onward::python
