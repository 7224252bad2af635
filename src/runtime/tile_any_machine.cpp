#define ONWARD_TILE_NAMESPACE any_machine
// clang-format off: later ones use what earlier ones define
#include "runtime/vector_math.inc"
#include "runtime/tile_functions.inc"
#include "runtime/norm_rows.inc"
#include "runtime/softmax_rows.inc"
#include "runtime/lstm_rows.inc"
