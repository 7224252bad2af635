#pragma once

// The coverage table: what Onward can do with each operator of the standard, read off the
// definitions themselves.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace onward::cli {

/// One operator in one respect.
struct Coverage {
  enum class Kind : uint8_t {
    yes,
    unneeded,  // there is nothing to do
    fallback,  // done, by something slower
    gap,       // not there yet
    begun,     // nor here, in a framework that is only begun: no gap of the operator
  };

  Kind kind;
  std::string text;  // how, or why not
};

std::string_view name(Coverage::Kind kind);

/// One column of the table.
struct CoverageColumn {
  std::string_view name;
  std::string meaning;
  std::function<Coverage(const std::string& domain, const std::string& op)> find;
};

/// One for each dialect of emit/ among them.
std::span<const CoverageColumn> coverage_columns();

struct OperatorCoverage {
  std::string domain, op;
  int since_version;
  std::vector<Coverage> cells;  // one a column

  bool has_gap() const;
};

/// Every operator of the standard, by domain and name.
std::vector<OperatorCoverage> coverage();

}  // namespace onward::cli
