#pragma once

// The body of one function of the source: how each value is called there, line by line.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "emit/arrangement.h"
#include "emit/dialect.h"
#include "emit/known.h"
#include "emit/lines.h"
#include "emit/python.h"
#include "emit/sizes.h"

namespace onward::emit {

/// The order of a variable's dimensions: the model's own, or channels last, in which Keras's layers
/// for images work. Torch's source has the model's order everywhere.
enum class Form : uint8_t { plain, channels_last };

/// One of several tensors that hold an initializer.
struct HeldPart {
  std::string key, path;
  Arrangement arrangement;
};

/// How the source holds an initializer.
struct HeldTensor {
  const Value* value = nullptr;
  std::string expression;  // "self.conv1.weight"
  std::string key;         // in weights.safetensors
  std::string path = {};   // of the attribute, where it has one: "conv1.weight"
  /// Dimension i there is dimension permutation[i] here; empty where the order is the same.
  std::vector<int64_t> permutation;
  std::vector<int64_t> dims;  // there
  bool trained = false;
  std::vector<HeldPart> parts = {};  // where several tensors hold it, which nothing else reads
};

using HeldTensors = std::unordered_map<const Value*, HeldTensor>;

/// What all functions of one source share.
struct SourceContext {
  const Dialect* dialect = nullptr;
  const Known* known = nullptr;
  const Sizes* sizes = nullptr;  // null where shapes are tensors
  HeldTensors held = {};
  std::set<std::string> helpers = {};  // functions of ours that the source needs (helpers.h)
  std::set<std::string> modules = {};  // what it imports, by the names that it has there
  PythonNames names = PythonNames();   // of its classes, functions and imports
  DType main_float = DType::f32;       // what numbers without a type of their own are
  /// Lets the module hold a tensor that is no layer's.
  std::function<void(const Value*)> hold = {};
  bool has_open_loops = false;       // of as many iterations as data says
  std::set<std::string> lists = {};  // paths of modules whose children are numbered from 0
  std::set<std::string> dicts = {};  // paths of others that are no module of their own
};

/// A function reads what its module does not hold: a tensor that has to be handed over, or a size
/// that nothing there has, so that the module must be a part of the one around.
struct LeavesScope {
  std::string path;
  const Value* tensor = nullptr;
};

class Body {
 public:
  explicit Body(SourceContext& context);
  /// The body of a function of the module at `path`, whose variables get their names in `written`.
  Body(SourceContext& context, std::string path);

  SourceContext& context() const { return context_; }
  const Dialect& dialect() const { return *context_.dialect; }

  /// Makes a value an argument; gives its name.
  std::string add_argument(const Value* value, Form form = Form::plain);
  /// Keeps a name from being given to a variable.
  void reserve(std::string_view name) { names_.reserve(name); }
  /// Calls a value by an expression that needs no line: another value's variable.
  void alias(const Value* value, Form form, const std::string& expression);
  bool has(const Value* value) const {
    const auto found = variables_.find(value);
    return found != variables_.end() && !found->second.empty();
  }
  bool has(const Value* value, Form form) const;
  /// The form that it had first, which is the one that it is made in.
  Form first_form(const Value* value) const;

  /// The value as a tensor, in that form; adds a line where it must be brought into it.
  std::string tensor(const Value* value, Form form = Form::plain);

  /// A fresh variable for a value that the next line gives.
  std::string declare(const Value* value, Form form);
  std::string declare(const Value* value, Form form, Wish wish);
  /// A variable that is no value of the graph.
  std::string variable(Wish wish) { return deferred_.variable(std::move(wish)); }

  /// Calls a value by an expression that is a number of Python's: "len(parts)".
  void set_number(const Value* value, const std::string& expression);
  /// That expression; null where the value is no such.
  const std::string* number(const Value* value) const;

  /// The elements of a value that the sizes of tensors make, as Python has them.
  std::optional<std::vector<std::string>> sizes(const Value* value);

  /// "self.conv1.weight" for the attribute at that path of the whole model, which is called `root`.
  std::string attribute(std::string_view path, std::string_view root = "self") const;

  void add_line(std::string line, bool is_random = false);
  /// A line that gives variables new values, or only does something.
  void add_statement(std::string line);
  /// The first line of a loop or a branch; what the following ones declare is not known behind it.
  void open_block(std::string line);
  void close_block();
  const std::vector<std::string>& lines() const { return lines_; }
  /// The lines, with names for their variables; `arguments` are what add_argument gave.
  std::vector<std::string> written(std::vector<std::string>& arguments) const;

 private:
  std::string size(const Size& size);
  std::string size_of(const Value* value, size_t axis);
  std::string materialized(const Value* value, const std::string& elements);

  SourceContext& context_;
  std::optional<std::string> path_;  // of the module, where names are chosen at the end
  Lines deferred_;
  std::vector<const Value*> arguments_;
  std::vector<const Value*> order_;  // of all variables
  std::map<std::pair<std::string, size_t>, std::string> size_variables_;
  PythonNames names_;
  std::unordered_map<const Value*, std::map<Form, std::string>> variables_;
  std::unordered_map<const Value*, Form> first_forms_;
  std::unordered_map<const Value*, std::string> numbers_;
  std::vector<std::string> lines_;

  /// What was known before a block.
  struct Outside {
    std::vector<const Value*> order;
    std::unordered_map<const Value*, std::map<Form, std::string>> variables;
    std::unordered_map<const Value*, Form> first_forms;
  };
  std::vector<Outside> blocks_;
};

/// The permutation that brings `rank` dimensions to channels last, or back.
std::vector<int64_t> to_channels_last(size_t rank);
std::vector<int64_t> from_channels_last(size_t rank);
std::vector<int64_t> inverse(const std::vector<int64_t>& permutation);

}  // namespace onward::emit
