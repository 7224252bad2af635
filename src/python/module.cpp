#include <nanobind/nanobind.h>

#include <exception>
#include <typeinfo>

#include "onward/error.h"
#include "onward/version.h"
#include "python/bindings.h"

NB_MODULE(_core, module) {
  namespace nb = nanobind;
  module.doc() = "Onward's core, in C++.";
  module.attr("__version__") = nb::str(onward::kVersion.data(), onward::kVersion.size());

  nb::exception<onward::Error>(module, "Error", PyExc_ValueError).attr("__doc__") =
      "Raised if a model, data or an option is wrong; the message tells what to do.";
  nb::exception<onward::Bug>(module, "Bug", PyExc_RuntimeError).attr("__doc__") =
      "Raised for an internal error. Please report it.";
  // What no signature has checked, and no code that knows better.
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::bad_cast&) {
      PyErr_SetString(PyExc_TypeError, "something in an argument is of a type that is not taken");
    }
  });
  onward::python::bind_model(module);
  onward::python::bind_prepare(module);
  onward::python::bind_tables(module);
  onward::python::bind_evaluation(module);
  onward::python::bind_trainer(module);
  onward::python::bind_transfer(module);
  onward::python::bind_operators(module);
}
