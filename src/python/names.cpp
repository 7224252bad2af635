#include "python/names.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include "onward/error.h"

namespace onward::python {

std::string type_name_of(nb::handle object) {
  return nb::cast<std::string>(object.type().attr("__name__"));
}

std::string text_from(nb::handle object, const std::string& what) {
  if (!PyUnicode_Check(object.ptr())) {
    throw nb::type_error(fmt::format("{} is a str, not {}", what, type_name_of(object)).c_str());
  }
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
  if (text) return {text, static_cast<size_t>(size)};
  PyErr_Clear();
  throw Error(fmt::format("{} holds a surrogate, which is not a character: {}", what,
                          nb::repr(object).c_str()));
}

double number_from(nb::handle object, const std::string& what) {
  const double number = PyFloat_AsDouble(object.ptr());
  if (number != -1 || !PyErr_Occurred()) return number;
  const bool is_large = PyErr_ExceptionMatches(PyExc_OverflowError) != 0;
  PyErr_Clear();
  if (is_large) throw Error(fmt::format("{} is too large for a float", what));
  throw nb::type_error(fmt::format("{} is a number, not {}", what, type_name_of(object)).c_str());
}

}  // namespace onward::python
