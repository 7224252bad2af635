#include "image/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "onward/error.h"

namespace onward::image {

Library::Library(const std::string& file, std::string_view package)
    : file_(file), handle_(::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_) return;
  throw Error(
      fmt::format("that takes {}, which is not installed: apt-get install {}, or save it as PNG",
                  file, package));
}

void* Library::symbol(const char* name) const {
  void* found = ::dlsym(handle_, name);
  if (!found) throw Error(fmt::format("{} of this machine has no {}", file_, name));
  return found;
}

}  // namespace onward::image
