#include "recipe/training_forward.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/dependence.h"
#include "onward/error.h"
#include "ops/op_def.h"
#include "recipe/batch_norm.h"

namespace onward {
namespace {

const Tensor* constant_of(const Value* value) {
  if (!value) return nullptr;
  if (value->tensor()) return value->tensor();
  const Node* node = value->producer();
  return node && node->domain.empty() && node->op == "Constant" ? node->get<Tensor>("value")
                                                                : nullptr;
}

bool is_batch_norm(const Node& node) {
  return input_role(node, 3) == InputRole::running_mean && !is_in_training(node);
}

/// A Dropout that passes everything through in inference, and would drop something in training.
bool is_dropout(const Node& node) {
  if (!node.domain.empty() || node.op != "Dropout") return false;
  const Tensor* ratio = constant_of(node.input(1));
  if (ratio && ratio->size() == 1 && ratio->number(0) == 0) return false;
  const Tensor* training = constant_of(node.input(2));
  return !node.input(2) || (training && training->size() == 1 && training->integer(0) == 0);
}

bool differs(const Node& node, const Recipe& recipe) {
  return (is_batch_norm(node) && recipe.batch_norm == BatchNormMode::batch) ||
         (is_dropout(node) && recipe.dropout);
}

ValueSet needed_for(std::span<Value* const> targets) {
  ValueSet needed;
  for (const Value* target : targets) needed.merge(dependencies(target));
  return needed;
}

bool makes_any(const Node& node, const ValueSet& values) {
  return std::any_of(node.outputs().begin(), node.outputs().end(),
                     [&](const auto& output) { return output && values.contains(output.get()); });
}

/// A node in a subgraph can't be told to train: what it computes does not leave the subgraph.
void refuse_in_subgraphs(const Node& node, const Recipe& recipe) {
  for (const Graph* subgraph : node.subgraphs()) {
    for_each_node(*subgraph, [&](const Node& inner) {
      if (!differs(inner, recipe)) return;
      throw Error(fmt::format(
          "{} '{}' is in a subgraph of {} '{}', where it cannot be trained: {}", inner.op,
          inner.label(), node.op, node.label(),
          is_batch_norm(inner) ? "keep BatchNormalization frozen" : "switch dropout off"));
    });
  }
}

void rename_outputs(Algorithm& algorithm, Node& twin) {
  if (!twin.name.empty()) twin.name += ".training";
  for (const auto& output : twin.outputs()) {
    if (output) algorithm.rename(output.get(), output->name() + ".training");
  }
}

}  // namespace

TrainingForward write_training_forward(Algorithm& algorithm, const Graph& inference,
                                       std::span<Value* const> targets, const Recipe& recipe) {
  TrainingForward forward;
  const ValueSet needed = needed_for(targets);
  RunningStatistics statistics(algorithm, recipe);
  for (const auto& node : inference.nodes()) {
    if (!makes_any(*node, needed)) continue;
    refuse_in_subgraphs(*node, recipe);
    const auto reads = all_reads(*node);
    const bool follows = std::any_of(reads.begin(), reads.end(), [&](const Value* read) {
      return forward.twins.contains(read);
    });
    if (!differs(*node, recipe) && !follows) continue;
    Node* twin = clone_node(*node, algorithm.graph(), forward.twins);
    rename_outputs(algorithm, *twin);
    forward.nodes.push_back({node.get(), twin});
    if (!differs(*node, recipe)) continue;
    if (is_dropout(*node)) {
      Value* training = algorithm.constant("training_mode", 1, DType::boolean);
      twin->set_inputs({twin->input(0), twin->input(1), training});
    } else {
      statistics.update_from(*node, *twin);
    }
  }
  statistics.finish();
  return forward;
}

bool trains_batch_norm(const Graph& inference, std::span<Value* const> targets,
                       const Recipe& recipe) {
  const ValueSet needed = needed_for(targets);
  return std::ranges::any_of(inference.nodes(), [&](const auto& node) {
    return is_batch_norm(*node) && differs(*node, recipe) && makes_any(*node, needed);
  });
}

std::vector<std::string> training_forward_notes(const Graph& inference,
                                                std::span<Value* const> targets,
                                                const Recipe& recipe) {
  const ValueSet needed = needed_for(targets);
  size_t batch_norms = 0, untouched = 0, dropouts = 0;
  for (const auto& node : inference.nodes()) {
    if (!makes_any(*node, needed)) continue;
    batch_norms += is_batch_norm(*node);
    untouched += is_batch_norm(*node) && has_first_statistics(*node);
    dropouts += is_dropout(*node);
  }
  std::vector<std::string> notes;
  const auto counted = [](size_t count, std::string_view op) {
    return fmt::format("{} {} node{}", count, op, count == 1 ? "" : "s");
  };
  if (batch_norms > 0 && recipe.batch_norm == BatchNormMode::frozen) {
    notes.push_back(
        fmt::format("{} use{} the running statistics (--bn batch trains on those of each batch)",
                    counted(batch_norms, "BatchNormalization"), batch_norms == 1 ? "s" : ""));
    if (untouched > 0) {
      notes.push_back(
          fmt::format("the running statistics of {} are still mean 0 and variance 1, as in an "
                      "untrained model: did you mean --bn batch?",
                      counted(untouched, "BatchNormalization")));
    }
  } else if (batch_norms > 0) {
    notes.push_back(
        fmt::format("{} train{} on batch statistics and update{} the running ones ({} variance)",
                    counted(batch_norms, "BatchNormalization"), batch_norms == 1 ? "s" : "",
                    batch_norms == 1 ? "s" : "", to_string(recipe.batch_variance)));
  }
  if (dropouts > 0) {
    notes.push_back(fmt::format("{} drop{} {} in training", counted(dropouts, "Dropout"),
                                dropouts == 1 ? "s" : "", recipe.dropout ? "elements" : "nothing"));
  }
  return notes;
}

}  // namespace onward
