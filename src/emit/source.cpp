#include "emit/source.h"

#include <fmt/format.h>

namespace onward::emit {

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
