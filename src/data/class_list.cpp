#include "data/class_list.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "ir/utf8.h"
#include "onward/error.h"

namespace onward {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kBlank = " \t\r";

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(trimmed(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

std::vector<std::string> parse(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '[') return lines_of(text);
  try {
    return nlohmann::json::parse(text).get<std::vector<std::string>>();
  } catch (const nlohmann::json::exception&) {
    throw Error("it begins as a JSON list does, but is not one of texts");
  }
}

void require_names(const std::vector<std::string>& names) {
  if (names.empty()) throw Error("it names no classes");
  std::set<std::string_view> known;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    if (name.empty()) throw Error(fmt::format("name {} is empty", i + 1));
    if (!is_readable_utf8(name)) {
      throw Error(fmt::format("name {} is not readable UTF-8: '{}'", i + 1, printable(name)));
    }
    if (!known.insert(name).second) throw Error(fmt::format("'{}' is there twice", name));
  }
}

}  // namespace

std::vector<std::string> read_class_list(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) {
    throw Error(fmt::format("cannot read the names of classes from '{}'", path.string()),
                ErrorCode::file);
  }
  try {
    std::vector<std::string> names = parse(text);
    require_names(names);
    return names;
  } catch (Error& error) {
    error.add_context(fmt::format("in '{}', the names of classes", path.string()));
    throw;
  }
}

}  // namespace onward
