#pragma once

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include "onward/api.h"

namespace onward {

/// What kind of mistake an Error is about, for programs; the numbers stay.
enum class ErrorCode : uint8_t {
  unspecified = 0,
  invalid_argument = 1,  // an option, a name or a number
  invalid_model = 2,     // a file that is no model, or one that breaks the standard's rules
  unsupported = 3,       // a valid model, but something in it can't be done
  file = 4,              // a file or folder that can't be read or written
  data = 5,              // a batch or dataset that does not fit the model
};

/// Says that what the user gave us (a model, data, an option) is wrong, and what to do about it.
/// The one who throws gives a short sentence with values; callers add where it happened:
///   inner dimensions differ: 784 and 512
///   in node 'fc1' (Gemm)
///   in model 'mnist.onnx'
class ONWARD_API Error : public std::exception {
 public:
  explicit Error(std::string message, ErrorCode code = ErrorCode::unspecified)
      : message_(std::move(message)), code_(code) {}
  ~Error() override;

  /// Appends one line that says where the error happened, innermost first.
  Error& add_context(const std::string& where) {
    message_ += "\n  " + where;
    return *this;
  }

  /// Sets the code where whoever threw it left it open.
  Error& default_code(ErrorCode code) {
    if (code_ == ErrorCode::unspecified) code_ = code;
    return *this;
  }

  const char* what() const noexcept override { return message_.c_str(); }
  ErrorCode code() const noexcept { return code_; }

 private:
  std::string message_;
  ErrorCode code_;
};

/// Says that Onward itself is wrong: an invariant of ours does not hold.
class ONWARD_API Bug : public std::logic_error {
 public:
  using std::logic_error::logic_error;
  ~Bug() override;
};

}  // namespace onward
