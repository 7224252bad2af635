# What Onward is built from: Debian packages, and what tools/setup.py keeps in the user's cache. The
# set-up runs here too, so that a plain `cmake --preset dev` works; with all in place it takes 0.1 s.

find_program(PYTHON3 python3 REQUIRED)
set(setup_kind build)
if(ONWARD_TESTS)
  set(setup_kind tests)
endif()
execute_process(COMMAND ${PYTHON3} ${PROJECT_SOURCE_DIR}/tools/setup.py ${setup_kind}
                OUTPUT_VARIABLE setup_lines COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" setup_lines "${setup_lines}")
foreach(line IN LISTS setup_lines)
  string(REGEX MATCH "^([A-Z_]+)=(.*)$" matched "${line}")
  set(ONWARD_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")  # ONWARD_THIRD_PARTY, ONWARD_ONEDNN ...
endforeach()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             ${PROJECT_SOURCE_DIR}/tools/setup.py
             ${PROJECT_SOURCE_DIR}/cmake/third_party/CMakeLists.txt)

find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)

add_library(onward_protobuf STATIC IMPORTED)
set_target_properties(onward_protobuf PROPERTIES
  IMPORTED_LOCATION ${ONWARD_THIRD_PARTY}/lib/libprotobuf.a
  INTERFACE_INCLUDE_DIRECTORIES ${ONWARD_THIRD_PARTY}/include
  INTERFACE_LINK_LIBRARIES Threads::Threads)

# The definitions are those that libonnx.a was compiled with.
add_library(onward_onnx STATIC IMPORTED)
set_target_properties(onward_onnx PROPERTIES
  IMPORTED_LOCATION ${ONWARD_THIRD_PARTY}/lib/libonnx.a
  INTERFACE_INCLUDE_DIRECTORIES ${ONWARD_THIRD_PARTY}/include
  INTERFACE_COMPILE_DEFINITIONS "ONNX_ML=1;ONNX_NAMESPACE=onnx"
  INTERFACE_LINK_LIBRARIES onward_protobuf)

add_library(onward_fmt STATIC cmake/third_party/fmt.cpp)
target_include_directories(onward_fmt SYSTEM
  PUBLIC $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)

# One thread pool for all: OpenMP of GCC, which oneDNN and BLIS bring along. Clang would bring a second
# one; under the sanitizers our own loops run in one thread instead.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(ONWARD_OPENMP_FLAGS -fopenmp)
endif()

add_library(onward_dnnl SHARED IMPORTED)
set_target_properties(onward_dnnl PROPERTIES
  IMPORTED_LOCATION ${ONWARD_ONEDNN}/lib/libdnnl.so.3
  INTERFACE_INCLUDE_DIRECTORIES ${ONWARD_ONEDNN}/include)

find_library(blis NAMES libblis.a PATH_SUFFIXES blis-openmp REQUIRED)
find_path(blis_headers cblas.h PATH_SUFFIXES blis-openmp REQUIRED)
add_library(onward_blis STATIC IMPORTED)
set_target_properties(onward_blis PROPERTIES
  IMPORTED_LOCATION ${blis}
  INTERFACE_INCLUDE_DIRECTORIES ${blis_headers}
  INTERFACE_LINK_LIBRARIES "gomp;m")
