# `cmake --install` gives a tree that needs nothing of the machine's cache: the program, the shared library with oneDNN
# beside it, the public headers, and a CMake package.
include(GNUInstallDirs)

install(DIRECTORY include/onward DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT onward)
install(FILES ${PROJECT_BINARY_DIR}/generated/onward/version.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/onward COMPONENT onward)

set_target_properties(onward PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
install(TARGETS onward RUNTIME COMPONENT onward)
install(TARGETS onward_shared LIBRARY COMPONENT onward NAMELINK_COMPONENT onward)
install(FILES ${onednn_library} TYPE LIB RENAME libdnnl.so.3 COMPONENT onward)

include(CMakePackageConfigHelpers)
configure_package_config_file(cmake/onwardConfig.cmake.in generated/onwardConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/onward
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/onwardConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/onwardConfig.cmake
              ${PROJECT_BINARY_DIR}/generated/onwardConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/onward COMPONENT onward)
