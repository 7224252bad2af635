#pragma once

#include <exception>
#include <span>
#include <string>
#include <string_view>

#include "runtime/plan.h"

namespace onward {

class PlanBuilder;

/// One node on its way into a plan. A kernel's maker asks for its inputs and outputs, each in the
/// layout that it wants (what lies otherwise is reordered first), and hands over what is to be
/// done.
class Site {
 public:
  Site(PlanBuilder& builder, const Node& node) : builder_(builder), node_(node) {}

  const Node& node() const { return node_; }
  bool has_input(size_t index) const { return node_.input(index) != nullptr; }
  bool has_output(size_t index) const { return node_.output(index) != nullptr; }
  std::vector<int64_t> input_dims(size_t index) const;
  std::vector<int64_t> output_dims(size_t index) const;
  DType dtype() const { return node_.output(0)->type.dtype; }
  /// The layout in which the input already is.
  Layout layout_of(size_t index) const;
  /// The elements of an input that is a constant, or null.
  const Tensor* constant(size_t index) const;

  SlotIndex input(size_t index, Layout layout = Layout::plain);
  SlotIndex output(size_t index, Layout layout = Layout::plain);
  /// Memory for the action alone.
  SlotIndex scratch(size_t bytes);
  /// Lets the output share the input's memory: the elements are the same.
  void share(size_t output, size_t input);
  void action(std::function<void(const Run&)> run);
  /// The slot of an input that lies plain, and memory that the action reads instead of it.
  std::pair<SlotIndex, SlotIndex> rearranged(size_t index, size_t bytes);
  /// Something to be done before the action.
  void before(std::string_view kernel, std::vector<SlotIndex> reads, std::vector<SlotIndex> writes,
              std::function<void(const Run&)> run);

 private:
  PlanBuilder& builder_;
  const Node& node_;
  std::vector<SlotIndex> reads_, writes_;
};

/// A kernel's reason for not taking a node; empty where it does.
using Reason = std::string;

struct KernelChoice {
  std::string_view op;
  std::string_view name;
  Reason (*refuses)(const Node&);
  void (*make)(Site&);
  std::string_view domain = {};
  /// What it wants images in: what writes one anew for it does well to use that.
  Layout wants = Layout::plain;
};

/// The kernels of an operator, the fastest first; without any, the reference kernel does it.
std::vector<const KernelChoice*> kernel_choices(const Node& node);

/// Why no kernel computes a node; empty where one does. Internal operators are left to the passes,
/// which look for them.
Reason refused_by_kernels(const Node& node);

/// Within a handler: throws what a library has thrown as an Error that says where. What Onward
/// throws, and a lack of memory, go on as they are.
[[noreturn]] void rethrow_as_error(const std::exception& failure, std::string_view kernel,
                                   const std::string& where);

/// The reference kernel: any operator, any type.
void make_reference(Site& site);

// One list a family.
std::span<const KernelChoice> conv_choices();
std::span<const KernelChoice> fourier_choices();
std::span<const KernelChoice> indexing_choices();
std::span<const KernelChoice> layer_normalization_choices();
std::span<const KernelChoice> loss_choices();
std::span<const KernelChoice> lstm_choices();
std::span<const KernelChoice> matmul_choices();
std::span<const KernelChoice> normalization_choices();
std::span<const KernelChoice> piece_choices();
std::span<const KernelChoice> pool_choices();
std::span<const KernelChoice> random_choices();
std::span<const KernelChoice> reduction_choices();
std::span<const KernelChoice> resize_choices();
std::span<const KernelChoice> shape_choices();
std::span<const KernelChoice> softmax_choices();

}  // namespace onward
