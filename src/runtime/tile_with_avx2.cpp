#define ONWARD_TILE_NAMESPACE with_avx2
// clang-format off: later ones use what earlier ones define
#include "runtime/vector_math.inc"
#include "runtime/tile_functions.inc"
#include "runtime/norm_rows.inc"
#include "runtime/softmax_rows.inc"
#include "runtime/lstm_rows.inc"
