#include "emit/paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace onward::emit {
namespace {

bool has_whole_word(std::string_view words, std::string_view word) {
  for (size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' '))
      return true;
  }
  return false;
}

bool is_reserved(const Dialect& dialect, std::string_view part) {
  return part.starts_with("_") || has_whole_word(dialect.reserved_attributes, part);
}

}  // namespace

bool is_number(std::string_view part) {
  return !part.empty() && std::ranges::all_of(part, [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
}

std::vector<std::string> path_parts(std::string_view path) {
  std::vector<std::string> parts;
  std::string part;
  for (const char c : path) {
    if (c == '.' || c == '/') {
      if (!part.empty()) parts.push_back(part);
      part.clear();
    } else {
      part += c;
    }
  }
  if (!part.empty()) parts.push_back(part);
  return parts;
}

AttributePaths::AttributePaths(const Dialect& dialect, bool root_is_list)
    : dialect_(dialect), root_is_list_(root_is_list) {}

bool AttributePaths::is_free(const std::string& path) const {
  if (taken_.contains(path) || containers_.contains(path)) return false;
  // A layer is no container of another.
  for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) {
    if (taken_.contains(path.substr(0, dot))) return false;
  }
  return true;
}

std::string AttributePaths::take(std::string_view wanted) {
  std::string base;
  const auto parts = path_parts(wanted);
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool inside = dialect_.nests_modules && i > 0;
    const bool may_be_number = inside || !base.empty() || (root_is_list_ && parts.size() > 1) ||
                               (root_is_list_ && wanted == parts[i]);
    std::string part = is_number(parts[i]) && may_be_number ? parts[i] : identifier(parts[i]);
    PythonNames words;
    if (words.has(part)) part += '_';
    if (is_reserved(dialect_, part)) part = (part.starts_with("_") ? "x" : "") + part + "_";
    if (!base.empty()) base += inside ? "." : "_";
    base += part;
  }
  if (base.empty()) base = "value";
  // "count/params" is one attribute in Keras, and a method there.
  if (is_reserved(dialect_, base)) base += '_';
  // Where "a" is a layer or a tensor, "a.b" has no place inside it.
  if (std::ranges::any_of(taken_, [&](const auto& each) { return base.starts_with(each + "."); })) {
    std::ranges::replace(base, '.', '_');
  }
  std::string path = base;
  for (int i = 2; !is_free(path); ++i) path = fmt::format("{}_{}", base, i);
  taken_.insert(path);
  for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) {
    containers_.insert(path.substr(0, dot));
  }
  return path;
}

std::string AttributePaths::expression(std::string_view path) {
  std::string text = "self";
  for (const std::string& part : path_parts(path)) {
    text += is_number(part) ? fmt::format("[\"{}\"]", part) : "." + part;
  }
  return text;
}

}  // namespace onward::emit
