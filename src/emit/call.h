#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emit/body.h"

namespace onward::emit {

/// One node that is to be written: what it reads, as the source calls it, and its attributes.
class Call {
 public:
  Call(const Node& node, Body& body, Form form) : node_(node), body_(body), form_(form) {}

  const Node& node() const { return node_; }
  const Dialect& dialect() const { return body_.dialect(); }
  Form form() const { return form_; }

  size_t inputs() const { return node_.inputs().size(); }
  bool has(size_t index) const { return node_.input(index) != nullptr; }
  const Value* value(size_t index) const { return node_.input(index); }
  DType dtype(size_t index) const { return node_.input(index)->type.dtype; }
  /// The element type of the result.
  DType result_dtype() const;

  /// The input as a tensor.
  std::string in(size_t index) const { return body_.tensor(node_.input(index), form_); }
  std::string plain(size_t index) const { return body_.tensor(node_.input(index), Form::plain); }
  /// The input as a tensor, or as a number where it is one that broadcasts to nothing larger.
  std::string operand(size_t index) const;
  bool is_number(size_t index) const;

  /// The integers of an input where the model fixes them.
  std::optional<std::vector<int64_t>> known(size_t index) const;
  /// The same as Python has it, "(1, 2)", or an expression that finds them at run time; throws
  /// Error for frameworks that trace functions, in which tensors have no numbers.
  std::string ints(size_t index) const;
  /// The numbers of an input of floats, exactly: "(1.0, 2.5)", or as `ints`.
  std::string floats(size_t index) const;
  /// An input that is the same at every run, or null.
  const Tensor* constant(size_t index) const;
  /// The same for sizes, which some frameworks also take as a tensor.
  std::string sizes(size_t index) const;
  /// The elements of an input that the sizes of tensors make, one by one.
  std::optional<std::vector<std::string>> size_texts(size_t index) const;
  /// A single number, as `ints`: "3" or "depth.item()".
  std::string scalar(size_t index) const;

  /// The rank of an input; throws Error where the model does not say it.
  size_t rank(size_t index) const;
  std::optional<int64_t> dim(size_t index, size_t axis) const;

  int64_t int_attribute(std::string_view name, int64_t fallback) const {
    return node_.int_or(name, fallback);
  }
  std::vector<int64_t> ints_attribute(std::string_view name) const;
  /// A float attribute, exact in the type of the first input.
  std::string float_attribute(std::string_view name, float fallback) const;
  /// An axis as it counts in the form that the call is written in.
  int64_t axis(int64_t axis) const;

  /// "torch.float64" or "\"float64\"".
  std::string dtype_name(DType dtype) const;
  /// Asks for a module that the source may import; gives its name there. "np" is where the dialect
  /// has functions like NumPy's, and "nn" where it has activations, for rows that are shared.
  std::string module(std::string_view name) const;
  std::string np() const { return module("np"); }
  /// Asks for a function of ours in the source; gives its name. Throws Error where the dialect has
  /// none.
  std::string function(std::string_view helper) const;

 private:
  [[noreturn]] void throw_unknown(size_t index) const;

  const Node& node_;
  Body& body_;
  Form form_;
};

}  // namespace onward::emit
