#include "ir/problems.h"

#include <fmt/format.h>

#include "ir/utf8.h"
#include "onward/error.h"

namespace onward {
namespace {

constexpr size_t kLongestText = 2000;

}  // namespace

std::string to_string(const Problem& problem) {
  std::string text;
  const auto part = [&text](const std::string& more) { text += (text.empty() ? "" : ", ") + more; };
  if (!problem.where.empty()) part(problem.where);
  if (!problem.op.empty()) {
    part(problem.node.empty() ? fmt::format("node ({})", problem.op)
                              : fmt::format("node '{}' ({})", problem.node, problem.op));
  }
  if (!problem.tensor.empty()) part(fmt::format("tensor '{}'", problem.tensor));
  return text.empty() ? problem.message : text + ": " + problem.message;
}

void Problems::add(Problem problem) {
  ++(problem.severity == Severity::error ? errors_ : warnings_);
  if (list_.size() >= kMost) return;
  // A damaged file's names reach terminals and JSON from here.
  for (std::string* text :
       {&problem.where, &problem.node, &problem.op, &problem.tensor, &problem.message}) {
    *text = printable(*text);
    if (text->size() > kLongestText) *text = text->substr(0, kLongestText) + "...";
  }
  list_.push_back(std::move(problem));
}

void Problems::throw_if_errors() const {
  if (errors_ == 0) return;
  constexpr size_t kShown = 5;
  std::string text;
  size_t shown = 0;
  for (const Problem& problem : list_) {
    if (problem.severity != Severity::error) continue;
    if (shown++ == kShown) break;
    text += (text.empty() ? "" : "\n") + to_string(problem);
  }
  if (errors_ > kShown) {
    text += fmt::format("\nand {} more; `onward check` lists all", errors_ - kShown);
  }
  throw Error(text, ErrorCode::invalid_model);
}

}  // namespace onward
