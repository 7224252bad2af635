# Style and script of the reports that `onward train --report` writes become part of the library, as texts.

set(report_sources ${PROJECT_SOURCE_DIR}/src/train/report.css ${PROJECT_SOURCE_DIR}/src/train/report.js)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${report_sources})
file(READ ${PROJECT_SOURCE_DIR}/src/train/report.css report_css)
file(READ ${PROJECT_SOURCE_DIR}/src/train/report.js report_js)
configure_file(${CMAKE_CURRENT_LIST_DIR}/report_files.cpp.in generated/report_files.cpp @ONLY)
