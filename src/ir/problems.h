#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace onward {

enum class Severity : uint8_t { error, warning };

/// One thing that is wrong with a model: which rule it breaks, where, and why.
struct Problem {
  Severity severity = Severity::error;
  std::string rule = {};     // a stable name for programs, such as "binding-key"
  std::string where = {};    // "training info 0, algorithm"; empty for the model as a whole
  std::string node = {};     // the node's name, or its first output where it has none; may be empty
  std::string op = {};       // the node's operator; empty where no node is concerned
  std::string tensor = {};   // the value concerned; may be empty
  std::string message = {};  // one sentence with the reason
};

/// "training info 0, algorithm, node 'step' (Adam), tensor 'T': reason".
std::string to_string(const Problem& problem);

/// All problems of one model, in the order in which they were found.
class Problems {
 public:
  /// Beyond this many nothing more is kept: a damaged file can have one for each of its bytes.
  static constexpr size_t kMost = 1000;

  void add(Problem problem);

  const std::vector<Problem>& list() const { return list_; }
  size_t errors() const { return errors_; }
  size_t warnings() const { return warnings_; }
  bool empty() const { return errors_ == 0 && warnings_ == 0; }

  /// Throws an Error that names the first few errors; returns where there is none.
  void throw_if_errors() const;

 private:
  std::vector<Problem> list_;
  size_t errors_ = 0, warnings_ = 0;
};

}  // namespace onward
