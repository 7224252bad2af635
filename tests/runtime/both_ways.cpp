#include "tests/runtime/both_ways.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "eval/array.h"
#include "eval/interpreter.h"
#include "grad/differentiate.h"
#include "grad/step.h"
#include "onward/error.h"
#include "ops/infer_step.h"
#include "runtime/buffer.h"
#include "runtime/passes/plan_passes.h"
#include "runtime/program.h"

namespace onward {
namespace {

template <typename Run>
Outcome outcome_of(Run run) {
  try {
    return {run(), {}};
  } catch (const Error& error) {
    return {{}, error.what()};
  }
}

/// A slot's memory, with guards around it where there is room for them.
class Slot {
 public:
  Slot(size_t bytes, size_t guard)
      : bytes_(bytes), guard_(guard), memory_(allocate(bytes + 2 * guard)) {
    std::memset(memory_.get(), kGuard, bytes + 2 * guard);
  }

  std::byte* data() const { return memory_.get() + guard_; }

  bool is_whole() const {
    const auto untouched = [](const std::byte* at, size_t count) {
      for (size_t i = 0; i < count; ++i) {
        if (at[i] != std::byte{kGuard}) return false;
      }
      return true;
    };
    return untouched(memory_.get(), guard_) && untouched(data() + bytes_, guard_);
  }

 private:
  static constexpr unsigned char kGuard = 0xa5;

  static std::byte* allocate(size_t bytes) {
    void* memory = nullptr;  // of just this size, which aligned_alloc would have to round up
    if (::posix_memalign(&memory, kCacheLine, bytes == 0 ? 1 : bytes) != 0) throw std::bad_alloc();
    return static_cast<std::byte*>(memory);
  }
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };

  size_t bytes_, guard_;
  std::unique_ptr<std::byte, Free> memory_;
};

std::unique_ptr<Plan> plan_of(Model step, const TensorMap& inputs) {
  PlanRequest request;
  for (size_t i = 0; i < step.graph->outputs().size(); ++i) {
    request.outputs.push_back({step.graph->outputs()[i]->name(), i});
  }
  step.training.clear();
  for (Value* input : step.graph->inputs()) input->type = inputs.at(input->name()).type();
  const auto no_state = [](const std::string&) { return false; };
  infer_step_types(step);
  run_plan_passes(step, no_state);
  return make_plan(std::move(step), request, no_state);
}

TensorMap run_apart(Plan& plan, const TensorMap& inputs, size_t guard) {
  std::vector<Slot> memory;
  memory.reserve(plan.slots.size());
  std::vector<std::byte*> pointers;
  for (const SlotInfo& slot : plan.slots) {
    memory.emplace_back(slot.bytes, guard);
    std::byte* at = memory.back().data();
    if (slot.same_as >= 0) at = pointers[static_cast<size_t>(slot.same_as)];
    const bool given = slot.home == SlotInfo::Home::input;
    if (given || slot.home == SlotInfo::Home::constant) {
      const Tensor& tensor = given ? inputs.at(slot.name) : slot.constant;
      std::copy_n(tensor.bytes().data(), slot.bytes, at);
    }
    pointers.push_back(at);
  }
  const eval::RandomKey random;
  const Run run{.pointers = pointers.data(), .random = &random};
  for (const auto* actions : {&plan.once, &plan.micro, &plan.update}) {
    for (const Action& action : *actions) {
      action.run(run);
      for (const SlotIndex slot : action.writes) {
        EXPECT_TRUE(memory[static_cast<size_t>(slot)].is_whole())
            << action.label << " by " << action.kernel << " writes beyond its memory";
      }
    }
  }
  TensorMap outputs;
  for (const Plan::Result& output : plan.outputs) {
    const auto at = static_cast<size_t>(output.slot);
    const SlotInfo& slot = plan.slots[at];
    auto bytes =
        std::make_shared<std::string>(reinterpret_cast<const char*>(pointers[at]), slot.bytes);
    outputs.emplace(output.name, Tensor::from_bytes(slot.dtype, slot.dims, std::move(bytes)));
  }
  return outputs;
}

}  // namespace

Model step_of(const Model& model) {
  Model step = join_step(model, 0);
  replace_gradients(step);
  return step;
}

Outcome planned(Model step, const TensorMap& inputs) {
  return outcome_of([&] {
    State state(step);
    return Program(std::move(step)).run(inputs, state);
  });
}

Outcome planned_apart(Model step, const TensorMap& inputs) {
  constexpr size_t kGuardBytes = 4096;
  return outcome_of([&] {
    const std::unique_ptr<Plan> plan = plan_of(std::move(step), inputs);
    run_apart(*plan, inputs, kGuardBytes);
    return run_apart(*plan, inputs, 0);
  });
}

Outcome interpreted(const Model& step, const TensorMap& inputs) {
  return outcome_of([&] {
    eval::Environment environment;
    for (const Value* input : step.graph->inputs()) {
      environment.emplace(input, inputs.at(input->name()));
    }
    eval::run_graph(*step.graph, environment);
    TensorMap outputs;
    for (const Value* output : step.graph->outputs()) {
      outputs.emplace(output->name(), environment.at(output).tensor());
    }
    return outputs;
  });
}

TensorMap rounded(TensorMap tensors, DType to) {
  for (auto& [name, tensor] : tensors) {
    if (!is_float(tensor.dtype())) continue;
    const auto single = eval::to_tensor(eval::to_array<double>(tensor), DType::f32);
    tensor = eval::to_tensor(eval::to_array<double>(single), to);
  }
  return tensors;
}

void expect_close(const Tensor& given, const Tensor& expected, double tolerance,
                  const std::string& what) {
  ASSERT_EQ(given.dims(), expected.dims()) << what;
  double largest = 1e-30, difference = 0;
  for (int64_t i = 0; i < given.size(); ++i) {
    const double a = given.number(i), b = expected.number(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    ASSERT_TRUE(std::isfinite(a) && std::isfinite(b)) << what << ": " << a << " instead of " << b;
    difference = std::max(difference, std::fabs(a - b));
  }
  for (int64_t i = 0; i < expected.size(); ++i) {
    if (std::isfinite(expected.number(i)))
      largest = std::max(largest, std::fabs(expected.number(i)));
  }
  EXPECT_LE(difference, tolerance * largest) << what;
}

}  // namespace onward
