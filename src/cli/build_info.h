#pragma once

#include <string_view>

namespace onward::cli {

/// The commit that the program was built of, with "-dirty" where files had changed; empty outside
/// of a repository. Found at each build (cmake/build_info.cmake).
std::string_view commit();

}  // namespace onward::cli
