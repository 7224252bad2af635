#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "eval/array.h"
#include "eval/subgraph.h"
#include "ir/graph.h"

namespace onward::eval {

/// What a reference kernel sees: one node and the tensors it reads, null where one is left out.
class Context {
 public:
  Context(const Node& node, std::span<const Tensor* const> inputs, const RandomKey& random)
      : node_(node), inputs_(inputs), random_(random) {}

  const Node& node() const { return node_; }
  const RandomKey& random() const { return random_; }

  size_t inputs() const { return inputs_.size(); }
  bool has(size_t index) const { return index < inputs_.size() && inputs_[index]; }
  const Tensor& input(size_t index) const {
    if (!has(index)) throw Error("input " + std::to_string(index) + " is missing");
    return *inputs_[index];
  }
  template <typename T>
  Array<T> array(size_t index) const {
    return to_array<T>(input(index));
  }

  /// The one element of an input.
  template <typename T>
  T scalar(size_t index) const {
    if (input(index).size() != 1) {
      throw Error("input " + std::to_string(index) + " has " + std::to_string(input(index).size()) +
                  " elements instead of one");
    }
    return array<T>(index)[0];
  }

  /// The integers of input `index`, or those of an attribute's default where it is left out.
  std::vector<int64_t> integers_or(size_t index, const std::vector<int64_t>& fallback) const {
    return has(index) ? input(index).integers() : fallback;
  }
  std::vector<int64_t> ints_attribute(std::string_view name,
                                      const std::vector<int64_t>& fallback) const {
    const auto* found = node_.get<std::vector<int64_t>>(name);
    return found ? *found : fallback;
  }
  int64_t axis(std::string_view name, int64_t fallback, int64_t rank) const {
    return checked_axis(node_.int_or(name, fallback), rank);
  }

 private:
  const Node& node_;
  std::span<const Tensor* const> inputs_;
  const RandomKey& random_;
};

/// Computes a node's outputs, in order; fewer than the node has where trailing ones are left out.
/// Plain loops: the oracle of the tests, the engine of constant folding, the runtime's last choice.
using Kernel = std::vector<Tensor> (*)(const Context&);

/// What a kernel sees whose operator takes or gives other values than tensors, or has subgraphs.
class ValueContext {
 public:
  ValueContext(const Node& node, std::span<const RuntimeValue* const> inputs,
               const Surroundings& around)
      : node_(node), inputs_(inputs), around_(around) {}

  const Node& node() const { return node_; }
  size_t inputs() const { return inputs_.size(); }
  bool has(size_t index) const { return index < inputs_.size() && inputs_[index]; }
  const RuntimeValue& input(size_t index) const {
    if (!has(index)) throw Error("input " + std::to_string(index) + " is missing");
    return *inputs_[index];
  }
  /// The one element of a tensor of integers or truth values.
  int64_t integer(size_t index) const;

  /// What a value around the node is; null where that is not known.
  const RuntimeValue* captured(const Value& value) const {
    return around_.captured ? around_.captured(value) : nullptr;
  }
  /// The subgraph in an attribute.
  const Graph& subgraph(std::string_view attribute) const;
  /// Runs a subgraph, which sees the values around the node; in a loop, in that iteration.
  std::vector<RuntimeValue> run(const Graph& subgraph, std::vector<RuntimeValue> arguments,
                                std::optional<int64_t> iteration = {}) const;

 private:
  const Node& node_;
  std::span<const RuntimeValue* const> inputs_;
  const Surroundings& around_;
};

using ValueKernel = std::vector<RuntimeValue> (*)(const ValueContext&);

struct KernelDef {
  std::string_view op;
  Kernel kernel = nullptr;
  std::string_view domain = {};
  ValueKernel of_values = nullptr;  // for what `kernel` does not take
};

const KernelDef* find_kernel(std::string_view domain, std::string_view op);

/// All reference kernels, family by family.
std::span<const KernelDef> kernels();

/// Runs one node; throws Error with the node named where it can't.
std::vector<RuntimeValue> run_node(const Node& node, std::span<const RuntimeValue* const> inputs,
                                   const Surroundings& around);

/// Runs one node that takes and gives tensors alone.
std::vector<Tensor> run_node(const Node& node, std::span<const Tensor* const> inputs,
                             const RandomKey& random = {});

}  // namespace onward::eval
