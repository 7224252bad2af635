#include "recipe/recipe.h"

#include <fmt/format.h>

#include <span>

#include "ir/suggestion.h"
#include "onward/error.h"

namespace onward {
namespace {

template <typename Kind>
struct Named {
  Kind kind;
  std::string_view name;
};

constexpr Named<Reduction> kReductions[] = {{Reduction::mean, "mean"}, {Reduction::sum, "sum"}};
constexpr Named<LossReads> kLossReads[] = {{LossReads::logits, "logits"},
                                           {LossReads::output, "output"}};
constexpr Named<Formula> kFormulas[] = {
    {Formula::torch, "torch"}, {Formula::keras, "keras"}, {Formula::onnx, "onnx"}};
constexpr Named<BatchNormMode> kBatchNormModes[] = {{BatchNormMode::frozen, "frozen"},
                                                    {BatchNormMode::batch, "batch"}};
constexpr Named<BatchVariance> kBatchVariances[] = {{BatchVariance::biased, "biased"},
                                                    {BatchVariance::unbiased, "unbiased"}};

template <typename Kind>
std::string_view name_of(std::span<const Named<Kind>> table, Kind kind) {
  for (const auto& each : table) {
    if (each.kind == kind) return each.name;
  }
  throw Bug("an enumerator has no name");
}

template <typename Kind>
Kind find(std::span<const Named<Kind>> table, std::string_view what, std::string_view name) {
  std::vector<std::string_view> all;
  for (const auto& each : table) {
    if (each.name == name) return each.kind;
    all.push_back(each.name);
  }
  throw Error(unknown_name(what, name, all));
}

}  // namespace

std::string_view to_string(Reduction reduction) {
  return name_of<Reduction>(kReductions, reduction);
}
std::string_view to_string(LossReads reads) { return name_of<LossReads>(kLossReads, reads); }
std::string_view to_string(Formula formula) { return name_of<Formula>(kFormulas, formula); }
std::string_view to_string(BatchNormMode mode) {
  return name_of<BatchNormMode>(kBatchNormModes, mode);
}
std::string_view to_string(BatchVariance variance) {
  return name_of<BatchVariance>(kBatchVariances, variance);
}

Reduction reduction_of(std::string_view name) {
  return find<Reduction>(kReductions, "reduction", name);
}
LossReads loss_reads_of(std::string_view name) {
  return find<LossReads>(kLossReads, "value for loss_reads", name);
}
Formula formula_of(std::string_view name) { return find<Formula>(kFormulas, "formula", name); }
BatchNormMode batch_norm_mode(std::string_view name) {
  return find<BatchNormMode>(kBatchNormModes, "batch_norm mode", name);
}
BatchVariance batch_variance_of(std::string_view name) {
  return find<BatchVariance>(kBatchVariances, "batch_variance", name);
}

}  // namespace onward
