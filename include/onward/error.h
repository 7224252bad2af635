#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace onward {

/// Says that what the user gave us (a model, data, an option) is wrong, and what to do about it.
/// The one who throws gives a short sentence with values; callers add where it happened:
///   inner dimensions differ: 784 and 512
///   in node 'fc1' (Gemm)
///   in model 'mnist.onnx'
class Error : public std::exception {
 public:
  explicit Error(std::string message) : message_(std::move(message)) {}

  /// Appends one line that says where the error happened, innermost first.
  Error& add_context(const std::string& where) {
    message_ += "\n  " + where;
    return *this;
  }

  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

/// Says that Onward itself is wrong: an invariant of ours does not hold.
class Bug : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace onward
