# libonward.so: what other programs link to. It holds the core and the static libraries that the core is made of,
# and shows the public functions alone, so that a program may have another protobuf, fmt or BLAS of its own.

file(GLOB api_sources CONFIGURE_DEPENDS src/api/*.cpp)
# Sanitizers' own functions are those of a program, so that theirs is a part of it.
if(ONWARD_SANITIZE)
  add_library(onward_shared STATIC ${api_sources})
else()
  add_library(onward_shared SHARED ${api_sources})
endif()
target_compile_definitions(onward_shared PRIVATE ONWARD_IMPLEMENTATION)
target_link_libraries(onward_shared PRIVATE onward_core)
set(visible_symbols ${PROJECT_SOURCE_DIR}/cmake/visible_symbols.map)
# Not --exclude-libs: it would hide the exceptions too, which are the core's.
if(NOT ONWARD_SANITIZE)
  target_link_options(onward_shared PRIVATE -Wl,--no-undefined -Wl,--version-script=${visible_symbols})
endif()
set_property(TARGET onward_shared APPEND PROPERTY LINK_DEPENDS ${visible_symbols})
# Until 1.0 a minor version may change what it shows.
set_target_properties(onward_shared PROPERTIES
  OUTPUT_NAME onward
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  INSTALL_RPATH $ORIGIN)
compile_quickly(onward_shared)
