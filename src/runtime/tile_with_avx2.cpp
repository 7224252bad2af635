#define ONWARD_TILE_NAMESPACE with_avx2
#include "runtime/tile_functions.inc"
#include "runtime/norm_rows.inc"
