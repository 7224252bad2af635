# Flags of our own code. The third-party libraries are built once, elsewhere, with their own.

add_compile_options(-Wall -Wextra -Wpedantic -Wnon-virtual-dtor -Woverloaded-virtual
                    -Wcast-align -Wformat=2 -Wextra-semi -Wimplicit-fallthrough
                    -Wno-missing-field-initializers -fvisibility=hidden
                    -ffunction-sections -fdata-sections)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Local: a parameter may be named as a public member, which clang can't be told.
  # The others give false alarms with g++ 12 on "text" + std::string, vectors and variants; clang and
  # the sanitizers look for the same mistakes.
  add_compile_options(-Wshadow=local -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds
                      -Wno-free-nonheap-object -Wno-maybe-uninitialized)
endif()
add_link_options(-Wl,--gc-sections -Wl,--as-needed)

# dev: quick to compile, pleasant to step through, assertions of libstdc++ on.
set(CMAKE_CXX_FLAGS_DEBUG "-Og -g1 -D_GLIBCXX_ASSERTIONS")
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")

if(ONWARD_SANITIZE)
  # Without -fno-sanitize-recover UBSan would print and go on, and a test would pass. The sizes of
  # objects are what AddressSanitizer guards anyway; checked twice they take a third of the compiler's time.
  set(sanitizers -fsanitize=address,undefined -fno-sanitize=object-size -fno-sanitize-recover=all)
  add_compile_options(${sanitizers} -fno-omit-frame-pointer)
  add_link_options(${sanitizers})
endif()

# With the folder of the sources as base, two clones share what ccache keeps.
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()

# What most files include, or what takes long to read, can be compiled once for a target. Not by clang,
# whose precompiled headers hold the paths of a clone: no other clone could use what ccache keeps.
set(ONWARD_PRECOMPILED "")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(ONWARD_PRECOMPILED <algorithm> <functional> <map> <memory> <optional> <span> <string> <variant>
      <vector> <fmt/format.h> <nlohmann/json.hpp> <onnx/onnx_pb.h>)
endif()
