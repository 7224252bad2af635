# Flags that only x86-64 knows: the tiles are compiled once more for machines with AVX2, and runtime/tile.cpp chooses
# when it runs.
set_property(SOURCE src/runtime/tile_with_avx2.cpp APPEND PROPERTY COMPILE_OPTIONS -mavx2 -mfma)
# Of convolutions that other machines compute by oneDNN. A product and a sum may become one instruction.
set_property(SOURCE src/runtime/kernels/winograd_with_avx2.cpp APPEND PROPERTY
             COMPILE_OPTIONS -mavx2 -mfma -ffp-contract=fast)
