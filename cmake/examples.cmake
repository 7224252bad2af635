# The example files become part of the program, so that `onward example` needs no folder to look in.

file(GLOB example_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*/*.onnxtxt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${example_files})
set(example_entries "")
foreach(file IN LISTS example_files)
  cmake_path(GET file STEM name)
  file(READ ${file} text)
  string(APPEND example_entries "      {\"${name}\", R\"onnxtxt(${text})onnxtxt\"},\n")
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/examples.cpp.in generated/examples.cpp @ONLY)
