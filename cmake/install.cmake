# `cmake --install` gives a tree that needs nothing of the machine's cache: the program, the library with what
# it is made of (static, but for oneDNN), the public header and those that it includes, and a CMake package.
include(GNUInstallDirs)

# The headers that <onward/onward.h> leads to, each as FOLDER/NAME.h below src/.
function(find_public_headers file result)
  set(found ${${result}})
  file(STRINGS ${file} includes REGEX "^#include \"(ir|proto|infer|text|opset|format|check|ops|eval|grad|recipe|data|passes|runtime|train)/")
  foreach(line IN LISTS includes)
    string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" header "${line}")
    if(NOT header IN_LIST found)
      list(APPEND found ${header})
      find_public_headers(${PROJECT_SOURCE_DIR}/src/${header} found)
    endif()
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

find_public_headers(${PROJECT_SOURCE_DIR}/include/onward/onward.h public_headers)
foreach(header IN LISTS public_headers)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES src/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/onward/${folder} COMPONENT onward)
endforeach()
install(DIRECTORY include/onward DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT onward)

set_target_properties(onward PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
install(TARGETS onward RUNTIME COMPONENT onward)
install(TARGETS onward_core onward_fmt ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/onward COMPONENT onward)
install(FILES ${ONWARD_THIRD_PARTY}/lib/libonnx.a ${ONWARD_THIRD_PARTY}/lib/libprotobuf.a ${blis}
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/onward COMPONENT onward)
install(FILES ${ONWARD_ONEDNN}/lib/libdnnl.so.3 TYPE LIB COMPONENT onward)

include(CMakePackageConfigHelpers)
configure_package_config_file(cmake/onwardConfig.cmake.in generated/onwardConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/onward
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/onwardConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/onwardConfig.cmake
              ${PROJECT_BINARY_DIR}/generated/onwardConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/onward COMPONENT onward)
