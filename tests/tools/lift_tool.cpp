// lift_tool IN OUT: writes a model in which every operator has its newest form.

#include <fmt/format.h>

#include <cstdio>

#include "format/load.h"
#include "format/save.h"
#include "onward/error.h"
#include "opset/lift.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: lift_tool IN OUT\n");
    return 2;
  }
  try {
    onward::Model model = onward::load(argv[1]);
    onward::lift(model);
    onward::save(model, argv[2], {.use_source = false});
    return 0;
  } catch (const onward::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
