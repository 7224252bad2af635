#include "emit/calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "emit/call.h"
#include "emit/dialect.h"
#include "onward/error.h"

namespace onward::emit {
namespace {

constexpr Cell kNoCaseYet = {"", "no case of the tests covers it yet"};
constexpr Cell kControlFlow = {"", "control flow is exported to PyTorch and Keras alone so far"};
constexpr Cell kFiles = {"", "networks of frameworks have no files as tensors"};
constexpr Cell kTexts = {"", "networks of frameworks have no tensors of strings"};
constexpr Cell kNoTensors = {
    "", "values that are no tensors are exported to PyTorch and Keras alone so far"};

constexpr CallRow kCallsOfNone[] = {
    {"ConcatFromSequence", kNoTensors},
    {"GRU", kControlFlow},
    {"If", kControlFlow},
    {"ImageDecoder", kFiles},
    {"LSTM", kControlFlow},
    {"Loop", kControlFlow},
    {"Optional", kNoTensors},
    {"OptionalGetElement", kNoTensors},
    {"OptionalHasElement", kNoTensors},
    {"RNN", kControlFlow},
    {"Range", kNoCaseYet},
    {"RegexFullMatch", kTexts},
    {"Scan", kControlFlow},
    {"SequenceAt", kNoTensors},
    {"SequenceConstruct", kNoTensors},
    {"SequenceEmpty", kNoTensors},
    {"SequenceErase", kNoTensors},
    {"SequenceInsert", kNoTensors},
    {"SequenceLength", kNoTensors},
    {"SequenceMap", kControlFlow},
    {"SplitToSequence", kNoTensors},
    {"StringConcat", kTexts},
    {"StringNormalizer", kTexts},
    {"StringSplit", kTexts},
    {"TfIdfVectorizer", kTexts},
};

std::string all_inputs(const Call& call) {
  std::vector<std::string> inputs;
  for (size_t i = 0; i < call.inputs(); ++i) inputs.push_back(call.in(i));
  return fmt::format("{}", fmt::join(inputs, ", "));
}

/// {axis:-1}, {alpha:0.01}
std::string attribute(std::string_view name, std::string_view fallback, const Call& call) {
  if (fallback.find('.') != std::string_view::npos) {
    return call.float_attribute(name, std::stof(std::string(fallback)));
  }
  int64_t number = 0;
  std::from_chars(fallback.data(), fallback.data() + fallback.size(), number);
  number = call.int_attribute(name, number);
  return std::to_string(name == "axis" ? call.axis(number) : number);
}

bool is_index(std::string_view field) {
  return field.size() == 1 && field[0] >= '0' && field[0] <= '9';
}

std::string filled(std::string_view field, const Call& call) {
  if (field == "*") return all_inputs(call);
  const bool number_allowed = field.starts_with('~');
  const std::string_view index = field.substr(number_allowed ? 1 : 0);
  if (is_index(index)) {
    const auto input = static_cast<size_t>(index[0] - '0');
    return number_allowed ? call.operand(input) : call.in(input);
  }
  const size_t colon = field.find(':');
  if (colon == std::string_view::npos) return call.module(field);
  return attribute(field.substr(0, colon), field.substr(colon + 1), call);
}

}  // namespace

std::span<const CallRow> calls_of_none() { return kCallsOfNone; }

const CallRow* find_call(const Dialect& dialect, std::string_view op) {
  for (const auto rows : {dialect.calls, dialect.shared_calls, calls_of_none()}) {
    const auto found = std::ranges::find(rows, op, &CallRow::op);
    if (found != rows.end()) return &*found;
  }
  return nullptr;
}

const CallRow* find_call(const Dialect& dialect, const Node& node) {
  return node.domain.empty() ? find_call(dialect, node.op) : nullptr;
}

std::string filled_pattern(std::string_view pattern,
                           const std::function<std::string(std::string_view)>& fill) {
  std::string text;
  while (!pattern.empty()) {
    const size_t open = pattern.find('{');
    if (open == std::string_view::npos) break;
    const size_t close = pattern.find('}', open);
    text += pattern.substr(0, open);
    text += fill(pattern.substr(open + 1, close - open - 1));
    pattern.remove_prefix(close + 1);
  }
  return text.append(pattern);
}

std::string emit_call(const CallRow& row, const Call& call) {
  if (row.cell.emitter) return row.cell.emitter(call);
  return filled_pattern(row.cell.pattern,
                        [&](std::string_view field) { return filled(field, call); });
}

}  // namespace onward::emit
