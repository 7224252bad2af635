#pragma once

// Text and numbers out of Python objects that no signature has checked, such as keys of a dict.

#include <nanobind/nanobind.h>

#include <string>

namespace onward::python {

namespace nb = nanobind;

/// The name of an object's type.
std::string type_name_of(nb::handle object);

/// The text of a str. Throws TypeError for anything else, and Error for what UTF-8 does not have
/// (lone surrogates); `what` is how a message calls it.
std::string text_from(nb::handle object, const std::string& what);

/// What float() gives of a number. Throws TypeError for anything else, and Error where it is too
/// large.
double number_from(nb::handle object, const std::string& what);

}  // namespace onward::python
