# The Python functions that emitted source may need become part of the library, each framework's file as a text.

file(GLOB helper_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/emit/*/helpers.py)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${helper_files})
set(helper_entries "")
foreach(file IN LISTS helper_files)
  cmake_path(GET file PARENT_PATH folder)
  cmake_path(GET folder FILENAME framework)
  file(READ ${file} text)
  string(APPEND helper_entries "      {\"${framework}\", R\"python(${text})python\"},\n")
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/helpers.cpp.in generated/emit_helpers.cpp @ONLY)
