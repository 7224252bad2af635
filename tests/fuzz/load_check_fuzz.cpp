// Any bytes at all go through load, check, text and save: an Error is fine, nothing else is.

#include <string>

#include "check/check.h"
#include "format/load.h"
#include "format/save.h"
#include "ir/roles.h"
#include "onward/error.h"
#include "opset/lift.h"
#include "text/text.h"

namespace {

void run(const std::string& bytes) {
  onward::Problems problems;
  onward::Model model = onward::load_bytes(bytes, {.problems = &problems});
  onward::check(model, problems);
  onward::initializer_roles(model);
  onward::to_text(model);
  if (problems.errors() > 0) return;
  // What is valid can be written and read again, by patching and anew.
  onward::load_bytes(onward::to_bytes(model));
  onward::load_bytes(onward::to_bytes(model, {.use_source = false}));
  onward::lift_where_possible(model);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    run(std::string(reinterpret_cast<const char*>(data), size));
  } catch (const onward::Error&) {
    return 0;
  }
  return 0;
}
