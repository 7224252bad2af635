#include "infer/regex.h"

#include <re2/re2.h>

#include "onward/error.h"

namespace onward {
namespace {

RE2::Options quiet() {
  RE2::Options options;
  options.set_log_errors(false);
  return options;
}

}  // namespace

struct Regex::Compiled {
  explicit Compiled(const std::string& pattern) : re(pattern, quiet()) {}
  RE2 re;
};

Regex::Regex(const std::string& pattern) : compiled_(std::make_unique<Compiled>(pattern)) {
  if (!compiled_->re.ok()) throw Error(compiled_->re.error());
}

Regex::~Regex() = default;

bool Regex::matches_all_of(const std::string& text) const {
  return RE2::FullMatch(text, compiled_->re);
}

std::optional<std::string> regex_problem(const std::string& pattern) {
  const RE2 compiled(pattern, quiet());
  if (compiled.ok()) return std::nullopt;
  return compiled.error();
}

}  // namespace onward
