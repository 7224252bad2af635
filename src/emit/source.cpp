#include "emit/source.h"

#include <fmt/format.h>

namespace onward::emit {
namespace {

bool is_word_character(char c) {
  return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
}

bool has_word(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool begins = at == 0 || !is_word_character(text[at - 1]);
    if (begins && (end == text.size() || !is_word_character(text[end]))) return true;
  }
  return false;
}

/// What a string in three quotes can hold as it is.
std::string in_docstring(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    const bool ends_it = c == '"' || c == '\\' || static_cast<unsigned char>(c) < 32;
    safe += ends_it ? '_' : c;
  }
  return safe;
}

}  // namespace

std::string with_class_name(std::string code, const std::string& wanted) {
  std::string name = wanted;
  for (int i = 1; has_word(code, name); ++i) {
    name = fmt::format("{}Model{}", wanted, i == 1 ? "" : std::to_string(i));
  }
  for (size_t at = code.find(kClassName); at != std::string::npos; at = code.find(kClassName, at)) {
    code.replace(at, kClassName.size(), name);
  }
  return code;
}

std::string first_lines(const SourceParts& parts, std::string_view framework,
                        std::string_view more) {
  return fmt::format("\"\"\"{}: {} in {}, written by Onward.\n\n{}\n\"\"\"\n\n", kClassName,
                     in_docstring(parts.model_file), framework, more);
}

std::vector<const Value*> real_inputs(const Graph& graph) {
  std::vector<const Value*> inputs;
  for (const Value* input : graph.inputs()) {
    if (!input->initializer()) inputs.push_back(input);
  }
  return inputs;
}

std::string indented(const std::vector<std::string>& lines, int depth) {
  std::string text;
  for (const std::string& line : lines) {
    if (!line.empty()) text += std::string(static_cast<size_t>(4 * depth), ' ') + line;
    text += '\n';
  }
  return text;
}

std::string imports_used(std::string_view text, std::span<const std::string_view> modules) {
  std::string lines;
  for (const std::string_view module : modules) {
    const std::string word = fmt::format("{}.", module);
    for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
      const char before = at == 0 ? ' ' : text[at - 1];
      if (before == '_' || before == '.' || std::isalnum(static_cast<unsigned char>(before)) != 0) {
        continue;
      }
      lines += fmt::format("import {}\n", module);
      break;
    }
  }
  return lines;
}

}  // namespace onward::emit
