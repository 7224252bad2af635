#define ONWARD_TILE_NAMESPACE any_machine
#include "runtime/tile_functions.inc"
#include "runtime/norm_rows.inc"
