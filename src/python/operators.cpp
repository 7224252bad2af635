#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "eval/kernel.h"
#include "ops/op_def.h"
#include "python/bindings.h"

namespace onward::python {

void bind_operators(nb::module_& module) {
  module.def(
      "operators",
      [] {
        nb::list names;
        for (const eval::KernelDef& kernel : eval::kernels()) {
          if (kernel.domain != "onward") {
            names.append(nb::make_tuple(std::string(kernel.domain), std::string(kernel.op)));
          }
        }
        for (const OpDef& op : op_defs()) {
          if (op.domain != "onward" && op.expansion && !eval::find_kernel(op.domain, op.name)) {
            names.append(nb::make_tuple(std::string(op.domain), std::string(op.name)));
          }
        }
        return names;
      },
      nb::sig("def operators() -> list[tuple[str, str]]"),
      "The (domain, operator) pairs of ONNX that can be run.");
}

}  // namespace onward::python
