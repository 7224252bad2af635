# Flags that only x86-64 knows: the tiles are compiled once more for machines with AVX2, and runtime/tile.cpp chooses
# when it runs.
set_property(SOURCE src/runtime/tile_with_avx2.cpp APPEND PROPERTY COMPILE_OPTIONS -mavx2 -mfma)
