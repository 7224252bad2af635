#include "lower/lower.h"

#include <fmt/format.h>

#include <algorithm>

#include "grad/differentiate.h"
#include "grad/step.h"
#include "lower/conditions.h"
#include "lower/opset.h"
#include "lower/plain_step.h"
#include "lower/shapes.h"
#include "onward/error.h"
#include "onward/version.h"
#include "ops/infer_step.h"
#include "ops/legalize.h"
#include "opset/lift.h"
#include "passes/passes.h"

namespace onward {
namespace {

constexpr int64_t kMinOpset = 17;

constexpr Pass kPasses[] = {
    {"fold-constants", fold_constants},    // the shapes that rules compute with become numbers
    {"settle-shapes", settle_shapes},      // so that a batch of any size needs no computed ones
    {"settle-windows", settle_windows},    // so that all runtimes pad alike
    {"simplify", simplify},                // sums and expands that turned out to do nothing
    {"share-subgraphs", share_subgraphs},  // what rules asked for twice
    {"fuse-transposes", fuse_transposes},  // into the products that read them
    {"drop-dead-nodes", drop_dead_nodes},  // gradients nobody asked for
};

/// ONNX Runtime computes a batch's running statistics into the memory of the old ones, which the
/// inference graph's normalization, or the caller, may still read.
bool overwrites_inputs(const Node& node) {
  return input_role(node, 3) == InputRole::running_mean && is_in_training(node);
}

/// ONNX Runtime has recurrent layers only with the time first.
bool has_batch_first(const Node& node) {
  return input_role(node, 2) == InputRole::recurrent_weight && node.int_or("layout", 0) != 0;
}

void write_in_standard_operators(Model& step) {
  legalize(step, {.failure = "the step cannot be written in the standard's operators",
                  .refuses = refused_by_runtimes,
                  .advice = kDeclareShapes});
}

void clean(Model& step) {
  PassContext context(step, [](const std::string&) { return false; });  // state is given as inputs
  run_passes(kPasses, context);
  infer_step_types(step);
}

/// Operators that draw random numbers: every runtime has its own.
bool draws(const Node& node) {
  const OpDef* definition = find_op_def(node);
  if (!definition || !definition->has(kRandom)) return false;
  return !definition->trains || definition->trains(node);
}

std::vector<std::string> notes_on(const Model& model) {
  std::vector<std::string> notes;
  for_each_node(*model.graph, [&](const Node& node) {
    if (!draws(node)) return;
    notes.push_back(
        fmt::format("node '{}' ({}) uses the runtime's random numbers, which differ from Onward's",
                    node.label(), node.op));
  });
  return notes;
}

struct Written {
  Model model;
  int64_t opset;
  std::vector<std::string> complaints;  // why the opset cannot express the step
};

/// The step in the first opset that can express it, else in the last.
Written write_in_first_opset(const Model& plain, int64_t first, int64_t last) {
  Written written;
  for (int64_t opset = first; opset <= last; ++opset) {
    written = {copy_of(plain), opset, {}};
    written.complaints = write_in_opset(written.model, opset);
    if (written.complaints.empty()) break;
  }
  return written;
}

Model write(const Model& plain, std::optional<int64_t> wanted, int64_t own) {
  const int64_t first = wanted.value_or(std::clamp(own, kMinOpset, kNewestReleasedOpset));
  const int64_t last = wanted.value_or(kNewestReleasedOpset);
  Written written = write_in_first_opset(plain, first, last);
  if (written.complaints.empty()) return std::move(written.model);
  std::string message = fmt::format("the step cannot be written in opset {}:\n  {}", last,
                                    fmt::join(written.complaints, "\n  "));
  if (last < inner_opset()) {
    const Written newer = write_in_first_opset(plain, last + 1, inner_opset());
    if (newer.complaints.empty()) message += fmt::format("\nopset {} can express it", newer.opset);
  }
  throw Error(message);
}

}  // namespace

std::string refused_by_runtimes(const Node& node) {
  if (overwrites_inputs(node)) return "runtimes overwrite its inputs";
  if (has_batch_first(node)) return "runtimes do not support layout 1 (batch first)";
  // The training domain is the standard's, but it is internal to Onwards operators.
  const bool plain = node.domain != kTrainingDomain && newest_opset(node.domain).has_value();
  return plain ? "" : "it is internal to Onward";
}

LoweredStep lower_step(const Model& model, size_t info, const LowerOptions& options) {
  if (options.opset && (*options.opset < kOldestLoweredOpset || *options.opset > inner_opset())) {
    throw Error(fmt::format("opset {} is not supported: choose {} to {}", *options.opset,
                            kOldestLoweredOpset, inner_opset()));
  }
  Model step = join_step(model, info);
  replace_gradients(step);
  PlainStep plain = state_as_inputs(step, model);
  settle_conditions(plain.model);
  write_in_standard_operators(plain.model);
  clean(plain.model);

  LoweredStep lowered;
  lowered.model =
      write(finished(plain), options.opset, model.opset("").value_or(kOldestLoweredOpset));
  lowered.model.producer_name = "onward";
  lowered.model.producer_version = std::string(kVersion);
  lowered.model.doc =
      "One training step. State tensors are inputs, and outputs named <name>.next, to be fed to "
      "the next step.";
  lowered.notes = notes_on(lowered.model);
  return lowered;
}

}  // namespace onward
