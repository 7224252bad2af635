# What Onward is built from: packages that CMake finds, and what tools/setup.py keeps in the user's cache. A configure
# installs nothing: where ONWARD_FETCH is on it lets the set-up fill that cache, else it says what is missing.
option(ONWARD_FETCH "fetch and build, in the user's cache, what is not there" ON)

find_program(PYTHON3 python3 REQUIRED)
set(setup_kind build)
if(ONWARD_TESTS)
  set(setup_kind tests)
endif()
# oneDNN of the machine will do, where it computes with OpenMP as our own loops do.
set(found "")
find_package(dnnl 3.2 CONFIG QUIET)
if(dnnl_FOUND AND DNNL_CPU_RUNTIME STREQUAL "OMP")
  list(APPEND found onednn)
endif()
set(setup_mode --look)
if(ONWARD_FETCH)
  set(setup_mode --user)
endif()
execute_process(COMMAND ${PYTHON3} ${PROJECT_SOURCE_DIR}/tools/setup.py ${setup_mode} ${setup_kind} ${found}
                OUTPUT_VARIABLE setup_lines RESULT_VARIABLE setup_failed ERROR_VARIABLE setup_said ECHO_ERROR_VARIABLE)
if(setup_failed)
  message(FATAL_ERROR "${setup_said}")
endif()
string(REGEX MATCHALL "[^\n]+" setup_lines "${setup_lines}")
foreach(line IN LISTS setup_lines)
  string(REGEX MATCH "^([A-Z0-9_]+)=(.*)$" matched "${line}")
  set(ONWARD_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")  # ONWARD_THIRD_PARTY, ONWARD_ONEDNN ...
endforeach()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             ${PROJECT_SOURCE_DIR}/tools/setup.py
             ${PROJECT_SOURCE_DIR}/cmake/third_party/CMakeLists.txt
             ${PROJECT_SOURCE_DIR}/cmake/third_party/re2/CMakeLists.txt)

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

# Behind src/infer/regex.h, which alone sees the header.
add_library(onward_re2 STATIC IMPORTED)
set_target_properties(onward_re2 PROPERTIES
  IMPORTED_LOCATION ${ONWARD_RE2}/lib/libre2.a
  INTERFACE_LINK_LIBRARIES Threads::Threads)
set_property(SOURCE src/infer/regex.cpp PROPERTY INCLUDE_DIRECTORIES ${ONWARD_RE2}/include)

# Behind src/image, whose files alone see the headers. Debian's archives of libjpeg and libpng fit no shared library, so
# that they are linked as shared ones.
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_library(webp NAMES libwebp.a REQUIRED)
find_path(webp_headers webp/decode.h REQUIRED)
add_library(onward_webp STATIC IMPORTED)
set_target_properties(onward_webp PROPERTIES
  IMPORTED_LOCATION ${webp}
  INTERFACE_INCLUDE_DIRECTORIES ${webp_headers}
  INTERFACE_LINK_LIBRARIES "Threads::Threads;m")
# Loaded at run time, where an image asks for them: only their headers are needed, and not even those.
find_package(TIFF 4.5 QUIET)
if(TIFF_FOUND)
  set_property(SOURCE src/image/tiff.cpp PROPERTY COMPILE_DEFINITIONS ONWARD_HAS_LIBTIFF=1)
  set_property(SOURCE src/image/tiff.cpp PROPERTY INCLUDE_DIRECTORIES ${TIFF_INCLUDE_DIR})
endif()
find_path(openjpeg_headers openjpeg.h PATH_SUFFIXES openjpeg-2.5)
if(openjpeg_headers)
  set_property(SOURCE src/image/jpeg2000.cpp PROPERTY COMPILE_DEFINITIONS ONWARD_HAS_OPENJPEG=1)
  set_property(SOURCE src/image/jpeg2000.cpp PROPERTY INCLUDE_DIRECTORIES ${openjpeg_headers})
endif()

add_library(onward_fmt STATIC cmake/third_party/fmt.cpp)
target_include_directories(onward_fmt SYSTEM
  PUBLIC $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)

# One thread pool for all: OpenMP of GCC, which oneDNN and BLIS bring along. Clang would bring a second
# one; under the sanitizers our own loops run in one thread instead.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(ONWARD_OPENMP_FLAGS -fopenmp)
endif()

if(ONWARD_ONEDNN)
  set(onednn_library ${ONWARD_ONEDNN}/lib/libdnnl.so.3)
  set(onednn_headers ${ONWARD_ONEDNN}/include)
else()
  get_target_property(onednn_library DNNL::dnnl LOCATION)
  get_target_property(onednn_headers DNNL::dnnl INTERFACE_INCLUDE_DIRECTORIES)
  file(REAL_PATH ${onednn_library} onednn_library)
endif()
add_library(onward_dnnl SHARED IMPORTED)
set_target_properties(onward_dnnl PROPERTIES
  IMPORTED_LOCATION ${onednn_library}
  INTERFACE_INCLUDE_DIRECTORIES "${onednn_headers}")

find_library(blis NAMES libblis.a PATH_SUFFIXES blis-openmp REQUIRED)
find_path(blis_headers cblas.h PATH_SUFFIXES blis-openmp REQUIRED)
add_library(onward_blis STATIC IMPORTED)
set_target_properties(onward_blis PROPERTIES
  IMPORTED_LOCATION ${blis}
  INTERFACE_INCLUDE_DIRECTORIES ${blis_headers}
  INTERFACE_LINK_LIBRARIES "gomp;m")
