# The commit that a program is built of. As a script (cmake -P), at each build, it writes a file that changes only where
# the commit does, so that nothing else is compiled again.

if(CMAKE_SCRIPT_MODE_FILE)
  execute_process(COMMAND git describe --always --dirty --abbrev=12 --exclude=* WORKING_DIRECTORY ${SOURCE}
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/build_info.cpp.in ${OUTPUT} @ONLY)
  return()
endif()

set(build_info ${PROJECT_BINARY_DIR}/generated/build_info.cpp)
add_custom_target(build_info BYPRODUCTS ${build_info} COMMENT ""
  COMMAND ${CMAKE_COMMAND} -D SOURCE=${PROJECT_SOURCE_DIR} -D OUTPUT=${build_info} -P ${CMAKE_CURRENT_LIST_FILE})
