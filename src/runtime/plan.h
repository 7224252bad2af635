#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "eval/kernel.h"
#include "ir/model.h"
#include "passes/passes.h"
#include "runtime/buffer.h"
#include "runtime/commit_bounds.h"

namespace onward {

/// How the elements of a tensor lie in memory.
enum class Layout : uint8_t {
  plain,          // row-major, as the standard has it
  channels_last,  // dimension 1 moved to the end: the fastest for image tensors here
};

std::string_view name(Layout layout);

/// In which layouts the inputs of a graph are given; those that are not named are plain.
using InputLayouts = std::map<std::string, Layout, std::less<>>;

Layout layout_of(const InputLayouts& layouts, std::string_view input);

/// A number for each tensor that a plan holds; a value that is needed in two layouts has two.
using SlotIndex = int32_t;

/// Where the tensors are while a plan runs.
struct Run {
  std::byte* const* pointers;
  const eval::RandomKey* random;

  template <typename T>
  T* at(SlotIndex slot) const {
    return reinterpret_cast<T*>(pointers[slot]);
  }
};

/// The kernel of any operator and type, in plain loops.
inline constexpr std::string_view kReferenceKernel = "reference";

/// One thing that a plan does: a kernel bound to its slots.
struct Action {
  std::string label;   // the node, or what is done between nodes
  std::string kernel;  // which of its kernels was chosen
  std::string reason;  // why none that stand before it were
  std::vector<SlotIndex> reads, writes;
  std::function<void(const Run&)> run;
  double seconds = 0;      // that it took so far
  bool is_random = false;  // other results in each run
};

/// What a slot is, and where its bytes are.
struct SlotInfo {
  enum class Home : uint8_t { arena, state, constant, input, kept };

  Home home = Home::arena;
  DType dtype = DType::undefined;
  std::vector<int64_t> dims;  // in the order of the standard, whatever the layout
  Layout layout = Layout::plain;
  size_t bytes = 0;
  std::string name;        // of the state or the input
  Tensor constant;         // keeps the bytes alive
  SlotIndex same_as = -1;  // shares the memory of another slot: a reshape
  size_t offset = 0;       // in the arena, or in what is kept
};

struct Continuation;

/// A step for given shapes: every kernel chosen, every tensor placed. Nothing is allocated while it
/// runs.
struct Plan {
  struct Result {
    std::string name;
    SlotIndex slot;
    bool of_update = false;  // known once the update part has run
  };
  /// A value that is copied to the state when all else is done.
  struct Copy {
    SlotIndex from, to;
    size_t bytes;
    bool of_batch = false;  // after each micro-batch, before the next one reads it
    bool late = false;      // the commit computes it
  };
  /// What the commit computes with: gradients, state, and else (rates, decays).
  struct Operand {
    enum class Kind : uint8_t { gradient, state, other };
    Kind kind;
    SlotIndex slot;
    std::optional<size_t> gradient = {};  // its place among the gradients
    std::optional<size_t> update = {};    // of state: the result that is its new value
  };
  /// A value that must be finite, at least where the state that it is for is.
  struct Finite {
    std::string name;
    SlotIndex slot;
    SlotIndex old = -1;
    std::string advice = {};
  };

  Model step;  // owns the nodes that the kernels look at
  std::vector<SlotInfo> slots;
  /// What follows from constants alone (weights in a kernel's layout): run once, and kept.
  std::vector<Action> once;
  /// Only the last of the three writes to the state, and no action of it can fail.
  std::vector<Action> micro, update, commit;
  std::vector<Copy> copies;
  std::vector<Result> outputs;
  std::vector<Finite> finite;  // looked at before the state is written
  std::vector<SlotIndex> gradients;
  std::vector<SlotIndex> gradient_ranges;  // what find_range() says of each
  std::vector<Operand> operands;           // of the commit
  CommitBounds bounds;
  size_t arena_bytes = 0;
  Buffer kept;
  size_t tile_registers = 0;  // the most that an action of the commit uses
  /// Where shapes depend on data, the plan ends before the step does.
  std::unique_ptr<Continuation> rest;

  Plan();
  ~Plan();
};

/// What a program wants of a plan, by indices into the outputs of the step's graph: passes may
/// replace values, but keep the place of an output.
struct PlanRequest {
  struct StateBinding {
    std::string target;
    size_t output;
    bool of_batch;  // computed from inputs and from no gradient, as running statistics are
    std::string advice = {};  // for a batch that would make it NaN
  };
  struct NamedOutput {
    std::string name;  // as the user knows it
    size_t output;
  };
  std::vector<NamedOutput> outputs;
  std::vector<NamedOutput> losses;
  std::vector<size_t> gradients;
  std::vector<StateBinding> bindings;
  InputLayouts input_layouts;
  /// The outputs go on to another plan: each stays in the layout that it has, in memory that no
  /// commit changes.
  bool goes_on = false;
};

/// Plans a step all of whose shapes are known; throws Error naming the first value of which it is
/// not. `is_state` tells which initializers are state.
std::unique_ptr<Plan> make_plan(Model step, const PlanRequest& request,
                                const std::function<bool(const std::string&)>& is_state);

/// The slot whose memory a slot has: its own, or that of what it is a view of.
SlotIndex memory_of(const Plan& plan, SlotIndex slot);

/// Moves the actions that follow from constants alone to the front, to be run once.
void keep_constants(Plan& plan);

/// Gives each slot of the arena an offset such that those alive at the same time do not overlap.
void plan_memory(Plan& plan);

}  // namespace onward
