#pragma once

// The body of one function of the source: how each value is called there, line by line.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "emit/dialect.h"
#include "emit/known.h"
#include "emit/python.h"

namespace onward::emit {

/// The order of a variable's dimensions: the model's own, or channels last, in which Keras's layers
/// for images work. Torch's source has the model's order everywhere.
enum class Form : uint8_t { plain, channels_last };

/// How the source holds an initializer.
struct HeldTensor {
  const Value* value = nullptr;
  std::string expression;  // "self.conv1.weight"
  std::string key;         // in weights.safetensors
  /// Dimension i there is dimension permutation[i] here; empty where the order is the same.
  std::vector<int64_t> permutation;
  std::vector<int64_t> dims;  // there
  bool trained = false;
};

using HeldTensors = std::unordered_map<const Value*, HeldTensor>;

/// What all functions of one source share.
struct SourceContext {
  const Dialect* dialect = nullptr;
  const Known* known = nullptr;
  HeldTensors held = {};
  std::set<std::string> helpers = {};  // functions of ours that the source needs (helpers.h)
  std::set<std::string> modules = {};  // what it imports, by the names that it has there
  PythonNames names = PythonNames();   // of its classes, functions and imports
  DType main_float = DType::f32;       // what numbers without a type of their own are
  /// Lets the module hold a tensor that is no layer's.
  std::function<void(const Value*)> hold = {};
};

class Body {
 public:
  explicit Body(SourceContext& context);

  SourceContext& context() const { return context_; }
  const Dialect& dialect() const { return *context_.dialect; }

  /// Makes a value an argument; gives its name.
  std::string add_argument(const Value* value);
  /// Calls a value by an expression that needs no line: another value's variable.
  void alias(const Value* value, Form form, const std::string& expression);
  bool has(const Value* value) const { return variables_.contains(value); }
  bool has(const Value* value, Form form) const;

  /// The value as a tensor, in that form; adds a line where it must be brought into it.
  std::string tensor(const Value* value, Form form = Form::plain);

  /// A fresh variable for a value that the next line gives.
  std::string declare(const Value* value, Form form);

  void add_line(std::string line) { lines_.push_back(std::move(line)); }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  SourceContext& context_;
  PythonNames names_;
  std::unordered_map<const Value*, std::map<Form, std::string>> variables_;
  std::vector<std::string> lines_;
};

/// The permutation that brings `rank` dimensions to channels last, or back.
std::vector<int64_t> to_channels_last(size_t rank);
std::vector<int64_t> from_channels_last(size_t rank);
std::vector<int64_t> inverse(const std::vector<int64_t>& permutation);

}  // namespace onward::emit
