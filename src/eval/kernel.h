#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "eval/array.h"
#include "ir/graph.h"

namespace onward::eval {

/// Where random numbers come from: the same key gives the same numbers, on every machine and in
/// whatever order nodes run. The node's own part of the key is the name of its first output.
struct RandomKey {
  uint64_t seed = 0;
  uint64_t step = 0;
  uint64_t micro_batch = 0;
};

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

struct KernelDef {
  std::string_view op;
  Kernel kernel;
  std::string_view domain = {};
};

const KernelDef* find_kernel(std::string_view domain, std::string_view op);

/// All reference kernels, family by family.
std::span<const KernelDef> kernels();

/// Runs one node; throws Error with the node named where it can't.
std::vector<Tensor> run_node(const Node& node, std::span<const Tensor* const> inputs,
                             const RandomKey& random = {});

}  // namespace onward::eval
