#include "emit/helpers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "onward/error.h"

namespace onward::emit {
namespace {

struct Helper {
  std::string_view name;
  std::string_view source;  // with the line end before and after it
};

bool is_identifier(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Where the next function or class of a module begins, or its end.
size_t next_definition(std::string_view text, size_t from) {
  return std::min({text.find("\ndef ", from), text.find("\nclass ", from), text.size()});
}

/// The same, with what decorates it.
size_t next_helper(std::string_view text, size_t from) {
  return std::min(next_definition(text, from), text.find("\n@", from));
}

std::vector<Helper> helpers_in(std::string_view text) {
  std::vector<Helper> helpers;
  for (size_t at = next_helper(text, 0); at < text.size();) {
    const size_t definition = next_definition(text, at);
    const size_t end = next_helper(text, definition + 1);
    std::string_view source = text.substr(at, end - at);
    while (source.ends_with("\n\n")) source.remove_suffix(1);
    const size_t name = text.find(' ', definition) + 1;
    helpers.push_back({text.substr(name, text.find('(', name) - name), source});
    at = end;
  }
  return helpers;
}

/// Each dialect's, by its name.
std::map<std::string_view, std::vector<Helper>> helpers_of_all() {
  std::map<std::string_view, std::vector<Helper>> all;
  for (const HelperFile& file : helper_files()) all.emplace(file.framework, helpers_in(file.text));
  return all;
}

const std::vector<Helper>& helpers_of(const Dialect& dialect) {
  static const auto all = helpers_of_all();
  const auto found = all.find(dialect.name);
  if (found == all.end()) throw Bug(fmt::format("{} has no helpers.py", dialect.framework));
  return found->second;
}

/// Whether a helper uses a name, which is no method's, before a parenthesis or a dot.
bool uses(std::string_view source, std::string_view name, char next) {
  for (size_t at = source.find(name); at != std::string_view::npos;
       at = source.find(name, at + 1)) {
    const char before = at == 0 ? ' ' : source[at - 1];
    const size_t end = at + name.size();
    if (before == '.' || is_identifier(before) || end >= source.size()) continue;
    if (source[end] == next) return true;
  }
  return false;
}

void add_with_needs(const Helper& helper, std::span<const Helper> all,
                    std::set<std::string_view>& wanted) {
  if (!wanted.insert(helper.name).second) return;
  for (const Helper& other : all) {
    if (uses(helper.source, other.name, '(')) add_with_needs(other, all, wanted);
  }
}

}  // namespace

std::vector<std::string_view> helper_names(const Dialect& dialect) {
  std::vector<std::string_view> names;
  for (const Helper& helper : helpers_of(dialect)) names.push_back(helper.name);
  return names;
}

bool has_helper(const Dialect& dialect, std::string_view name) {
  return std::ranges::find(helpers_of(dialect), name, &Helper::name) != helpers_of(dialect).end();
}

std::string helper_source(SourceContext& context) {
  const std::vector<Helper>& all = helpers_of(*context.dialect);
  std::set<std::string_view> wanted;
  for (const std::string& name : context.helpers) {
    const auto found = std::ranges::find(all, std::string_view(name), &Helper::name);
    if (found == all.end()) throw Bug(fmt::format("there is no helper '{}'", name));
    add_with_needs(*found, all, wanted);
  }
  std::string text;
  for (const Helper& helper : all) {
    if (!wanted.contains(helper.name)) continue;
    text += "\n" + std::string(helper.source);
    for (const Import& each : context.dialect->imports) {
      if (uses(helper.source, each.name, '.')) context.modules.emplace(each.name);
    }
  }
  return text;
}

}  // namespace onward::emit
