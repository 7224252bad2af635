#pragma once

#include <string>
#include <string_view>

namespace onward::image {

/// A library of the machine that is loaded when it is first needed, and then stays: what decodes
/// formats that are seldom met is no part of what is installed with Onward.
class Library {
 public:
  /// Throws Error where the machine does not have `file`, which Debian's `package` holds.
  Library(const std::string& file, std::string_view package);

  /// Sets a pointer to the function of that name, of the type that its header declares.
  template <typename Function>
  void find(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;

  std::string file_;
  void* handle_;
};

}  // namespace onward::image
