#pragma once

// What the parts of a recipe (loss, optimizer, statistics) write into: the algorithm of a training
// info, with its state and its constants.

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "ops/builder.h"
#include "recipe/recipe.h"

namespace onward {

/// A scalar of that element type.
Tensor scalar_tensor(double number, DType dtype);
/// A tensor of one number all over.
Tensor filled_tensor(double number, DType dtype, const std::vector<int64_t>& dims);

Expr smaller(Expr a, Expr b);

/// An algorithm while it is built. Everything gets a name that the model does not have yet.
class Algorithm {
 public:
  /// Nodes are written for `opset` of ai.onnx.
  Algorithm(Model& model, int64_t opset);

  Graph& graph() { return *graph_; }
  Names& names() { return names_; }
  int64_t opset() const { return opset_; }

  /// Adds nodes whose names begin with `prefix`.
  Builder builder(const std::string& prefix = {}) { return {*graph_, nullptr, names_, prefix}; }

  Value* add_input(const std::string& name, Type type);
  /// An initializer that a step changes.
  Value* add_state(const std::string& name, Tensor first);
  /// A number that the formulas use, one initializer for all of its uses; an initializer rather
  /// than an attribute because attributes are float32. One name means one number.
  Value* constant(const std::string& name, double number, DType dtype);

  /// The same for several numbers.
  Value* constants(const std::string& name, const std::vector<double>& numbers,
                   const std::vector<int64_t>& dims, DType dtype);

  void add_output(Value* value) { graph_->add_output(value); }
  /// After a step, `target` takes the value of `source`, which gets the name "<target>.new".
  void update(Value* target, Value* source);
  /// What a target takes after a step.
  Value* updated(const Value* target) const;
  /// Gives a value that a builder made a name of its own.
  void rename(Value* value, const std::string& name);

  /// Stamps the nodes with the opset, and hands all of it over. The sources of updates become
  /// outputs, after those that were added as such.
  TrainingInfo finish();

 private:
  int64_t opset_;
  Names names_;
  std::unique_ptr<Graph> graph_;
  struct Constant {
    double number;
    Value* value;
  };
  std::map<std::pair<std::string, DType>, Constant> constants_;
  std::map<std::pair<std::string, DType>, Value*> lists_;
  std::vector<Binding> updates_;
};

}  // namespace onward
