#pragma once

#include <onnx/defs/schema.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "infer/propagate.h"
#include "ir/graph.h"

namespace onward {

/// A type as the standard's inference rules are to see it. What they could stumble over is unknown
/// to them: dimensions below 0 or beyond 2^31, more than 64 of them, long symbols, deep nesting.
onnx::TypeProto to_rule_type(const Type& type);

/// The type of a value for a reader: a sparse initializer is read as the dense tensor it stands
/// for.
Type read_type(const Value& value);

/// Shows one node of the IR to the standard's inference rules, and takes what they find out.
/// Attributes are converted when a rule asks for them, and only those that the schema declares.
class NodeContext final : public onnx::InferenceContext {
 public:
  /// Completes the types in a subgraph that is given these types as inputs.
  using InferSubgraph = std::function<void(Graph&, const std::vector<const onnx::TypeProto*>&)>;

  NodeContext(const Node& node, const onnx::OpSchema& schema, const KnownData& known,
              InferSubgraph infer_subgraph);

  const onnx::TypeProto& output_type(size_t index) const { return output_types_[index]; }

  size_t getNumInputs() const override { return input_types_.size(); }
  bool hasInput(size_t index) const override { return node_.input(index) != nullptr; }
  const onnx::TypeProto* getInputType(size_t index) const override;
  const onnx::TensorProto* getInputData(size_t index) const override;
  const onnx::SparseTensorProto* getInputSparseData(size_t index) const override;
  const onnx::TensorShapeProto* getSymbolicInput(size_t index) const override;

  size_t getNumOutputs() const override { return output_types_.size(); }
  bool hasOutput(size_t index) override { return node_.output(index) != nullptr; }
  onnx::TypeProto* getOutputType(size_t index) override;

  const onnx::AttributeProto* getAttribute(const std::string& name) const override;
  onnx::GraphInferencer* getGraphAttributeInferencer(const std::string& name) override;
  std::string getDisplayName() const override { return node_.op; }

 private:
  const Node& node_;
  const onnx::OpSchema& schema_;
  const KnownData& known_;
  InferSubgraph infer_subgraph_;

  // A value that is read a thousand times is converted once.
  std::unordered_map<const Value*, onnx::TypeProto> types_;
  std::vector<const onnx::TypeProto*> input_types_;
  std::vector<onnx::TypeProto> output_types_;
  mutable std::unordered_map<const Value*, std::unique_ptr<onnx::TensorProto>> data_;
  mutable std::unordered_map<const Value*, std::unique_ptr<onnx::TensorShapeProto>> symbolic_data_;
  mutable std::map<std::string, onnx::AttributeProto> attributes_;
  std::map<std::string, std::unique_ptr<onnx::GraphInferencer>> inferencers_;
};

}  // namespace onward
