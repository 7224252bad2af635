#include "lower/lower.h"

#include <fmt/format.h>

#include <algorithm>

#include "grad/differentiate.h"
#include "grad/step.h"
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
  return node.domain.empty() && node.op == "BatchNormalization" &&
         node.int_or("training_mode", 0) != 0;
}

std::string refused_by_runtimes(const Node& node) {
  if (overwrites_inputs(node)) return "runtimes overwrite its inputs";
  // The training domain is the standard's, but no runtime has its operators.
  const bool plain = node.domain != kTrainingDomain && newest_opset(node.domain).has_value();
  return plain ? "" : "no runtime has it";
}

void write_in_standard_operators(Model& step) {
  legalize(step, {.name = "a step in the standard's operators",
                  .refuses = refused_by_runtimes,
                  .advice = "to be lowered, a model must declare the shapes of its inputs"});
}

void clean(Model& step) {
  PassContext context(step, [](const std::string&) { return false; });  // state is given as inputs
  run_passes(kPasses, context);
  infer_step_types(step);
}

/// Operators that draw random numbers: every runtime has its own.
bool draws(const Node& node) {
  constexpr std::string_view kRandom[] = {"Bernoulli",        "Multinomial",   "RandomNormal",
                                          "RandomNormalLike", "RandomUniform", "RandomUniformLike"};
  if (!node.domain.empty()) return false;
  if (node.op == "Dropout") return node.input(2) != nullptr;  // its training mode
  return std::ranges::find(kRandom, std::string_view(node.op)) != std::end(kRandom);
}

std::vector<std::string> notes_on(const Model& model) {
  std::vector<std::string> notes;
  for_each_node(*model.graph, [&](const Node& node) {
    if (!draws(node)) return;
    notes.push_back(fmt::format(
        "node '{}' ({}) draws the random numbers of the runtime, which are others than Onward's",
        node.label(), node.op));
  });
  return notes;
}

Model write(const Model& plain, std::optional<int64_t> wanted, int64_t own) {
  const int64_t first = wanted.value_or(std::clamp(own, kMinOpset, kNewestReleasedOpset));
  const int64_t last = wanted.value_or(kNewestReleasedOpset);
  std::vector<std::string> complaints;
  for (int64_t opset = first; opset <= last; ++opset) {
    Model written = copy_of(plain);
    complaints = write_in_opset(written, opset);
    if (complaints.empty()) return written;
  }
  throw Error(
      fmt::format("opset {} can't say the step:\n  {}", last, fmt::join(complaints, "\n  ")));
}

}  // namespace

LoweredStep lower_step(const Model& model, size_t info, const LowerOptions& options) {
  if (options.opset && (*options.opset < kOldestLoweredOpset || *options.opset > inner_opset())) {
    throw Error(fmt::format("opset {} is none of those that can be written, {} to {}",
                            *options.opset, kOldestLoweredOpset, inner_opset()));
  }
  Model step = join_step(model, info);
  replace_gradients(step);
  PlainStep plain = state_as_inputs(step, model);
  write_in_standard_operators(plain.model);
  clean(plain.model);

  LoweredStep lowered;
  lowered.model =
      write(finished(plain), options.opset, model.opset("").value_or(kOldestLoweredOpset));
  lowered.model.producer_name = "onward";
  lowered.model.producer_version = std::string(kVersion);
  lowered.model.doc =
      "One training step. State is given as inputs and comes out as <name>.next, which the next "
      "step is given.";
  lowered.notes = notes_on(lowered.model);
  return lowered;
}

}  // namespace onward
