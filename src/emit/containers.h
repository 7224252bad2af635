#pragma once

// The lines of a constructor that hold modules. What has a path of several parts lies in
// containers: a list where its children are numbered, else a dict.

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace onward::emit {

/// How a framework writes containers of modules.
struct ContainerWords {
  std::string_view list_open, list_close;  // "nn.ModuleList([", "])"
  std::string_view dict_open, dict_close;
  std::string_view no_list, no_dict;  // those that are empty
  std::string_view identity;          // what stands for a number that no module has
  /// Modules that begin so read better one by one than as "... for _ in range(2)".
  std::string_view layers;
  std::string_view chain_open, chain_close;  // of modules that are called one after the other
  std::string_view chain_all;                // the same, of "... for _ in range(3)"
  /// Adds a module whose name is a number: of its name and the first line of its constructor.
  std::string_view numbered;
};

class Containers {
 public:
  explicit Containers(const ContainerWords& words) : words_(words) {}

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

  std::vector<std::string> texts(const Tree& tree, const std::string& path,
                                 const std::set<std::string>& lists) const;

  const ContainerWords& words_;
  Tree root_;
};

/// A text of several lines, one by one.
std::vector<std::string> lines_of(std::string_view text);

/// "nn.Sequential(...)" of modules.
std::string chain_text(const ContainerWords& words, const std::vector<std::string>& modules);

}  // namespace onward::emit
