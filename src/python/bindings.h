#pragma once

// One function a file of bindings; module.cpp calls them.

#include <nanobind/nanobind.h>

#include <memory>

#include "ir/model.h"

namespace onward::python {

namespace nb = nanobind;

/// What Python calls a Model: never changed once it is made, so that it can be shared.
struct PyModel {
  std::shared_ptr<const Model> model;
};

inline PyModel wrap(Model model) { return {std::make_shared<const Model>(std::move(model))}; }

void bind_evaluation(nb::module_& module);
void bind_model(nb::module_& module);
void bind_trainer(nb::module_& module);
void bind_transfer(nb::module_& module);
void bind_operators(nb::module_& module);
void bind_prepare(nb::module_& module);
void bind_tables(nb::module_& module);

}  // namespace onward::python
