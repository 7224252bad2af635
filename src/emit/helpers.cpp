#include "emit/helpers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

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

std::vector<Helper> helpers_in(std::string_view text) {
  std::vector<Helper> helpers;
  for (size_t at = next_definition(text, 0); at < text.size();) {
    const size_t end = next_definition(text, at + 1);
    std::string_view source = text.substr(at, end - at);
    while (source.ends_with("\n\n")) source.remove_suffix(1);
    const size_t name = source.find(' ') + 1;
    helpers.push_back({source.substr(name, source.find('(') - name), source});
    at = end;
  }
  return helpers;
}

std::vector<Helper> helpers_of_framework(std::string_view framework) {
  return helpers_in(std::ranges::find(helper_files(), framework, &HelperFile::framework)->text);
}

const std::vector<Helper>& helpers_of(Target target) {
  static const std::vector<Helper> torch = helpers_of_framework("torch"),
                                   keras = helpers_of_framework("keras");
  return target == Target::torch ? torch : keras;
}

/// Whether a function is called there: its name, which is no method's, before a parenthesis.
bool calls(std::string_view source, std::string_view name) {
  for (size_t at = source.find(name); at != std::string_view::npos;
       at = source.find(name, at + 1)) {
    const char before = at == 0 ? ' ' : source[at - 1];
    const size_t end = at + name.size();
    if (before == '.' || is_identifier(before) || end >= source.size()) continue;
    if (source[end] == '(') return true;
  }
  return false;
}

void add_with_needs(const Helper& helper, std::span<const Helper> all,
                    std::set<std::string_view>& wanted) {
  if (!wanted.insert(helper.name).second) return;
  for (const Helper& other : all) {
    if (calls(helper.source, other.name)) add_with_needs(other, all, wanted);
  }
}

}  // namespace

std::vector<std::string_view> helper_names() {
  std::vector<std::string_view> names;
  for (const Target target : {Target::torch, Target::keras}) {
    for (const Helper& helper : helpers_of(target)) {
      if (std::ranges::find(names, helper.name) == names.end()) names.push_back(helper.name);
    }
  }
  return names;
}

std::string helper_source(Target target, const std::set<std::string>& names) {
  const std::vector<Helper>& all = helpers_of(target);
  std::set<std::string_view> wanted;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(all, std::string_view(name), &Helper::name);
    if (found == all.end()) throw Bug(fmt::format("there is no helper '{}'", name));
    add_with_needs(*found, all, wanted);
  }
  std::string text;
  for (const Helper& helper : all) {
    if (wanted.contains(helper.name)) text += "\n" + std::string(helper.source);
  }
  return text;
}

}  // namespace onward::emit
