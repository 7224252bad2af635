#pragma once

#include <string_view>

namespace onward {

/// src/train/report.css and report.js, which are part of the program.
std::string_view report_css();
std::string_view report_js();

}  // namespace onward
