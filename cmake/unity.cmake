# Most of a compiler's time on a small file goes into headers and the templates they bring. Where
# ONWARD_UNITY is on, files of a folder are compiled by the handful, as one: what nobody edits and
# compiles again all day is built in half the time. Names inside files of such a folder must differ.
option(ONWARD_UNITY "compile several files as one" OFF)

# Not twins that name what they do alike (frameworks, optimizers), what meets a macro of ONNX, or needs
# flags of its own.
set(not_in_unity "/src/cli/main|/src/emit/torch/(layers|example)|/src/image/(jpeg|png|tiff)|/src/infer/regex|/src/text/parse|/src/recipe/optimizer_|/src/runtime/tile_|_with_avx2")

# Together, or else with precompiled headers.
function(compile_quickly target)
  if(NOT ONWARD_UNITY)
    target_precompile_headers(${target} PRIVATE ${ONWARD_PRECOMPILED})
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP
                        UNITY_BUILD_RELOCATABLE ON)
  # g++ takes the files for headers, whose anonymous namespaces would be dangerous.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "^${PROJECT_SOURCE_DIR}/src/")
  list(FILTER sources EXCLUDE REGEX "${not_in_unity}")
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET folder FILENAME folder)
    math(EXPR count_${folder} "${count_${folder}} + 1" OUTPUT_FORMAT DECIMAL)
    math(EXPR handful "${count_${folder}} / 8")
    set_property(SOURCE ${source} TARGET_DIRECTORY ${target} PROPERTY UNITY_GROUP ${folder}_${handful})
  endforeach()
endfunction()
