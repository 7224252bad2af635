#pragma once

// Classes for modules: those that are written alike share one, and where only sizes differ these
// become arguments of its constructor.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "emit/python.h"

namespace onward::emit {

/// A size in the constructor of a layer. It stands in texts as a mark until `plain_sizes`, or a
/// parameter of a class, replaces it.
std::string size_argument(std::string_view name, int64_t size);
/// The text with the numbers themselves.
std::string plain_sizes(std::string_view text);

/// One module that needs a class.
struct ModuleText {
  std::string wanted;                    // how the class would be called
  std::vector<std::string> attributes;   // what it holds, to tell classes of one name apart
  std::vector<std::string> init_lines;   // with marks of sizes
  std::vector<std::string> other_lines;  // the functions
};

/// A class for some modules.
struct SharedClass {
  std::string name;
  std::vector<std::string> parameters;
  std::vector<std::string> init_lines;  // with the parameters in them
  std::vector<std::string> other_lines;
};

class ClassMaker {
 public:
  explicit ClassMaker(PythonNames names) : names_(std::move(names)) {}

  /// Makes the classes of modules; gives the constructor of each, "BasicBlock(16, 32)", whose sizes
  /// are marked again.
  std::vector<std::string> make(const std::vector<ModuleText>& modules);

  const std::vector<SharedClass>& classes() const { return classes_; }

 private:
  void make_group(const std::vector<const ModuleText*>& group, std::vector<std::string>& calls);
  std::string fresh_name(const ModuleText& module);

  PythonNames names_;
  std::map<std::string, std::vector<std::string>> attributes_;  // of the first class of a name
  std::vector<SharedClass> classes_;
};

}  // namespace onward::emit
