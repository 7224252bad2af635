#pragma once

#include <onnx/defs/schema.h>

#include <random>
#include <string>
#include <vector>

#include "ir/model.h"

namespace onward {

/// Makes models of one node, for any operator: mostly as its schema wants it, so that inference
/// rules are reached, but with numbers, shapes, types and attributes that a hostile file could
/// hold.
class RandomNode {
 public:
  explicit RandomNode(uint64_t seed) : random_(seed) {}

  Model make(const onnx::OpSchema& schema);

 private:
  bool chance(double probability) { return std::bernoulli_distribution(probability)(random_); }
  size_t below(size_t count) {
    return std::uniform_int_distribution<size_t>(0, count - 1)(random_);
  }
  template <typename Options>
  auto pick(const Options& options) {
    return std::data(options)[below(std::size(options))];
  }

  int64_t number();
  Dim dim();
  Shape shape();
  Type with_shapes(Type type);
  Type input_type(const onnx::OpSchema::FormalParameter& parameter);
  Tensor tensor(DType dtype);
  Value* input(Graph& graph, const onnx::OpSchema::FormalParameter& parameter, size_t index);
  Attribute attribute(const onnx::OpSchema::Attribute& declared, Graph& graph);
  Attribute::Payload payload(onnx::AttributeProto::AttributeType type, const std::string& name,
                             Graph& graph);
  std::unique_ptr<Graph> subgraph(const std::string& name, Graph& around);
  std::vector<int64_t> numbers();

  std::mt19937_64 random_;
  // Of the node at hand:
  std::string op_;
  bool tame_ = false;  // nearly all is as it should be, so that rules are seen through to the end
  size_t rank_ = 2;    // that most inputs have
  size_t inputs_ = 0, outputs_ = 0;
  std::vector<std::pair<std::string, Type>> bound_;
};

}  // namespace onward
