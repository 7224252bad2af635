#pragma once

#include <memory>
#include <optional>
#include <string>

namespace onward {

/// A pattern in the syntax of RE2, which finds its matches in time linear in a text's length. Both
/// are read as UTF-8: in a text that is not, the bytes that make no letter match nothing but \C.
class Regex {
 public:
  /// Throws Error where there is no such pattern.
  explicit Regex(const std::string& pattern);
  ~Regex();
  Regex(const Regex&) = delete;
  Regex& operator=(const Regex&) = delete;

  bool matches_all_of(const std::string& text) const;

 private:
  struct Compiled;
  std::unique_ptr<const Compiled> compiled_;
};

/// What is wrong with a pattern; nothing where it is right.
std::optional<std::string> regex_problem(const std::string& pattern);

}  // namespace onward
