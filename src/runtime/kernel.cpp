#include "runtime/kernel.h"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <new>

#include "onward/error.h"
#include "ops/builder.h"
#include "runtime/plan_builder.h"

namespace onward {

std::vector<int64_t> Site::input_dims(size_t index) const {
  return *static_dims(*node_.input(index));
}

std::vector<int64_t> Site::output_dims(size_t index) const {
  return *static_dims(*node_.output(index));
}

Layout Site::layout_of(size_t index) const {
  return builder_.has(*node_.input(index), Layout::channels_last) ? Layout::channels_last
                                                                  : Layout::plain;
}

const Tensor* Site::constant(size_t index) const {
  const Value* value = node_.input(index);
  return value && !value->is_input() && !builder_.is_state(*value) ? value->tensor() : nullptr;
}

SlotIndex Site::input(size_t index, Layout layout) {
  reads_.push_back(builder_.read(*node_.input(index), layout));
  return reads_.back();
}

SlotIndex Site::output(size_t index, Layout layout) {
  writes_.push_back(builder_.write(*node_.output(index), layout));
  return writes_.back();
}

SlotIndex Site::scratch(size_t bytes) {
  writes_.push_back(builder_.scratch(bytes));
  return writes_.back();
}

void Site::share(size_t output, size_t input) {
  builder_.share(*node_.output(output), *node_.input(input));
}

void Site::action(std::function<void(const Run&)> run) {
  builder_.add({.label = node_.label() + " (" + node_.op + ")",
                .kernel = builder_.kernel(),
                .reason = builder_.reason(),
                .reads = std::move(reads_),
                .writes = std::move(writes_),
                .run = std::move(run)});
}

std::pair<SlotIndex, SlotIndex> Site::rearranged(size_t index, size_t bytes) {
  const SlotIndex plain = builder_.read(*node_.input(index), Layout::plain);
  reads_.push_back(builder_.scratch(bytes));
  return {plain, reads_.back()};
}

void Site::before(std::string_view kernel, std::vector<SlotIndex> reads,
                  std::vector<SlotIndex> writes, std::function<void(const Run&)> run) {
  builder_.add({.label = node_.label() + " (" + node_.op + ")",
                .kernel = std::string(kernel),
                .reads = std::move(reads),
                .writes = std::move(writes),
                .run = std::move(run)});
}

std::vector<const KernelChoice*> kernel_choices(const Node& node) {
  using Key = std::pair<std::string_view, std::string_view>;
  static const auto table = [] {
    std::map<Key, std::vector<const KernelChoice*>> made;
    for (const auto family :
         {conv_choices, fourier_choices, indexing_choices, layer_normalization_choices,
          loss_choices, lstm_choices, matmul_choices, normalization_choices, piece_choices,
          pool_choices, random_choices, reduction_choices, resize_choices, shape_choices,
          softmax_choices}) {
      for (const KernelChoice& choice : family()) {
        made[{choice.domain, choice.op}].push_back(&choice);
      }
    }
    return made;
  }();
  const auto found = table.find({node.domain, node.op});
  return found == table.end() ? std::vector<const KernelChoice*>{} : found->second;
}

Reason refused_by_kernels(const Node& node) {
  const bool taken = node.domain == kInternalDomain || eval::find_kernel(node.domain, node.op) ||
                     !kernel_choices(node).empty();
  return taken ? "" : "it has no kernel";
}

void rethrow_as_error(const std::exception& failure, std::string_view kernel,
                      const std::string& where) {
  const bool is_ours = dynamic_cast<const Error*>(&failure) || dynamic_cast<const Bug*>(&failure);
  if (is_ours || dynamic_cast<const std::bad_alloc*>(&failure)) throw;
  throw Error(fmt::format("kernel '{}' failed: {}", kernel, failure.what())).add_context(where);
}

void make_reference(Site& site) {
  struct Operand {
    SlotIndex slot = -1;
    DType dtype = DType::undefined;
    std::vector<int64_t> dims;
    size_t bytes = 0;
  };
  std::vector<Operand> inputs, outputs;
  const Node& node = site.node();
  const auto operand = [](SlotIndex slot, const Value& value) {
    const auto dims = *static_dims(value);
    const auto bytes = packed_bytes(value.type.dtype, checked_element_count(dims)).value();
    return Operand{slot, value.type.dtype, dims, static_cast<size_t>(bytes)};
  };
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    inputs.push_back(site.has_input(i) ? operand(site.input(i), *node.input(i)) : Operand{});
  }
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    outputs.push_back(site.has_output(i) ? operand(site.output(i), *node.output(i)) : Operand{});
  }
  site.action([&node, inputs, outputs](const Run& run) {
    std::vector<Tensor> tensors(inputs.size());
    std::vector<const Tensor*> pointers(inputs.size(), nullptr);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].slot < 0) continue;
      tensors[i] = Tensor::view(inputs[i].dtype, inputs[i].dims,
                                {run.at<std::byte>(inputs[i].slot), inputs[i].bytes}, nullptr);
      pointers[i] = &tensors[i];
    }
    const std::vector<Tensor> results = eval::run_node(node, pointers, *run.random);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].slot < 0) continue;
      if (results.at(i).dims() != outputs[i].dims || results[i].dtype() != outputs[i].dtype) {
        throw Bug("the kernel of " + node.op + " gives " + to_string(results[i].type()) +
                  " instead of " + to_string(node.output(i)->type));
      }
      if (outputs[i].bytes > 0) {
        std::memcpy(run.at<std::byte>(outputs[i].slot), results[i].bytes().data(),
                    outputs[i].bytes);
      }
    }
  });
}

}  // namespace onward
