#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onward/error.h"
#include "text/fill.h"

namespace onward {

/// An initializer of the text that is given by a rule: `name = rule(arguments)`.
struct TextFill {
  std::string name;
  const FillRule* rule;
  std::vector<double> arguments;
  size_t begin;                // where the rule's name stands
  std::optional<size_t> info;  // the training info it stands in
};

/// What stands between the braces of a training_info.
struct TextBlock {
  size_t keyword;  // where "training_info" stands
  size_t begin, end;
};

/// A text with what ONNX's parser does not know set apart. Positions are those of the whole text.
struct ScannedText {
  std::string text;   // as given, but blank where fills were
  std::string model;  // also blank where training infos were
  std::vector<TextFill> fills;
  std::vector<TextBlock> training_infos;
};

/// Brackets deeper than this are refused: ONNX's parser calls itself for each.
inline constexpr int kMaxTextNesting = 64;

ScannedText scan_text(std::string_view text);

/// "line 3, column 7: message", with the line itself.
Error text_error(std::string_view text, size_t position, std::string_view message);

}  // namespace onward
