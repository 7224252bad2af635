#include "emit/containers.h"

#include <fmt/format.h>

#include <algorithm>

#include "emit/classes.h"
#include "emit/paths.h"

namespace onward::emit {
namespace {

constexpr size_t kMaxListWidth = 84;  // of a line, without its indentation

/// "[Block() for _ in range(3)]" where all are the same and there are several, else nothing.
std::string repeated(const ContainerWords& words, const std::vector<std::string>& modules) {
  const bool same = std::ranges::count(modules, modules.front()) == std::ssize(modules);
  if (!same || modules.size() < 2 || modules.front().starts_with(words.layers)) return "";
  return fmt::format("{} for _ in range({})", modules.front(), modules.size());
}

}  // namespace

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  return lines;
}

std::string chain_text(const ContainerWords& words, const std::vector<std::string>& modules) {
  if (const std::string all = repeated(words, modules); !all.empty() && modules.size() > 2) {
    return fmt::format(fmt::runtime(words.chain_all), all);
  }
  const std::string line =
      fmt::format("{}{}{}", words.chain_open, fmt::join(modules, ", "), words.chain_close);
  if (plain_sizes(line).size() <= kMaxListWidth && line.find('\n') == std::string::npos) {
    return line;
  }
  std::string text(words.chain_open);
  for (const std::string& module : modules) {
    for (const std::string& part : lines_of(module + ",")) text += "\n    " + part;
  }
  return text.append("\n").append(words.chain_close);
}

Containers::Tree& Containers::Tree::child(const std::string& part) {
  for (Tree& tree : children) {
    if (tree.name == part) return tree;
  }
  return children.emplace_back(Tree{.name = part, .constructor = {}, .children = {}});
}

void Containers::add(std::string_view path, const std::string& constructor) {
  Tree* at = &root_;
  for (const std::string& part : path_parts(path)) at = &at->child(part);
  at->constructor = constructor;
}

void Containers::add_parents(std::string_view path) {
  Tree* at = &root_;
  const auto parts = path_parts(path);
  for (size_t i = 0; i + 1 < parts.size(); ++i) at = &at->child(parts[i]);
}

std::vector<std::string> Containers::names() const {
  std::vector<std::string> names;
  for (const Tree& child : root_.children) names.push_back(child.name);
  return names;
}

/// The lines of what makes a module or a container.
std::vector<std::string> Containers::texts(const Tree& tree, const std::string& path,
                                           const std::set<std::string>& lists) const {
  if (!tree.constructor.empty()) return lines_of(tree.constructor);
  const bool is_list = lists.contains(path);
  std::vector<std::vector<std::string>> children;
  for (const Tree& child : tree.children) {
    auto lines = texts(child, path + "." + child.name, lists);
    if (is_list) {
      const size_t index = std::stoul(child.name);
      if (children.size() <= index) children.resize(index + 1, {std::string(words_.identity)});
      children[index] = std::move(lines);
    } else {
      lines[0] = fmt::format("\"{}\": {}", child.name, lines[0]);
      children.push_back(std::move(lines));
    }
  }
  if (children.empty()) return {std::string(is_list ? words_.no_list : words_.no_dict)};
  std::vector<std::string> singles;
  for (const auto& lines : children) {
    if (lines.size() == 1) singles.push_back(lines[0]);
  }
  const std::string open(is_list ? words_.list_open : words_.dict_open);
  const std::string close(is_list ? words_.list_close : words_.dict_close);
  if (singles.size() == children.size()) {
    std::string all = is_list ? repeated(words_, singles) : "";
    if (all.empty()) all = fmt::format("{}", fmt::join(singles, ", "));
    if (plain_sizes(open + all + close).size() <= kMaxListWidth) return {open + all + close};
  }
  std::vector<std::string> lines = {open};
  for (auto& child : children) {
    child.back() += ",";
    for (const std::string& line : child) lines.push_back("    " + line);
  }
  lines.push_back(close);
  return lines;
}

std::vector<std::string> Containers::lines(const std::string& scope,
                                           const std::set<std::string>& lists) const {
  std::vector<std::string> lines;
  for (const Tree& child : root_.children) {
    auto made = texts(child, scope.empty() ? child.name : scope + "." + child.name, lists);
    if (is_number(child.name) && !words_.numbered.empty()) {
      made[0] = fmt::format(fmt::runtime(words_.numbered), child.name, made[0]);
      made.back() += ")";
    } else {
      made[0] = fmt::format("self.{} = {}", child.name, made[0]);
    }
    lines.insert(lines.end(), made.begin(), made.end());
  }
  return lines;
}

}  // namespace onward::emit
