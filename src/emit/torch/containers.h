#pragma once

// The lines of a constructor that hold modules. What has a path of several parts lies in containers
// of torch: a ModuleList where its children are numbered, else a ModuleDict.

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace onward::emit {

class Containers {
 public:
  void add(std::string_view path, const std::string& constructor);
  /// The containers of a tensor at that path.
  void add_parents(std::string_view path);

  /// "self.conv1 = nn.Conv2d(...)" for each; `lists` are whole paths, `scope` is where these begin.
  std::vector<std::string> lines(const std::string& scope,
                                 const std::set<std::string>& lists) const;
  /// What the first parts of all paths are.
  std::vector<std::string> names() const;

 private:
  struct Tree {
    std::string name;
    std::string constructor;  // of a module; empty for a container
    std::vector<Tree> children;

    Tree& child(const std::string& part);
  };

  static std::vector<std::string> texts(const Tree& tree, const std::string& path,
                                        const std::set<std::string>& lists);

  Tree root_;
};

/// A text of several lines, one by one.
std::vector<std::string> lines_of(std::string_view text);

/// "nn.Sequential(...)" of modules.
std::string sequential_text(const std::vector<std::string>& modules);

}  // namespace onward::emit
