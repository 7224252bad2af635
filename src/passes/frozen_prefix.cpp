#include "passes/frozen_prefix.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

#include "ir/dependence.h"
#include "ir/rewrite.h"
#include "onward/error.h"
#include "ops/op_def.h"
#include "passes/frozen_cut.h"
#include "passes/step_part.h"

namespace onward {
namespace {

/// The values that another step, or what is drawn, would change.
ValueSet moving_values(const Model& step, const FrozenRequest& request) {
  ValueSet moving;
  for (const Value* value : step.graph->initializers()) {
    if (request.trained.contains(value->name())) moving.insert(value);
  }
  for (const auto& node : step.graph->nodes()) {
    const bool moves =
        varies(*node) || std::ranges::any_of(all_reads(*node), [&](const Value* read) {
          return moving.contains(read);
        });
    if (!moves) continue;
    for (const auto& output : node->outputs()) {
      if (output) moving.insert(output.get());
    }
  }
  return moving;
}

/// What does not move and is read by what does, or given out.
std::vector<Value*> read_by_moving(const Model& step, const ValueSet& moving) {
  std::vector<Value*> found;
  ValueSet seen;
  const auto add = [&](Value* value) {
    if (value->producer() && !moving.contains(value) && seen.insert(value).second) {
      found.push_back(value);
    }
  };
  for (const auto& node : step.graph->nodes()) {
    const bool moves = std::ranges::any_of(node->outputs(), [&](const auto& output) {
      return output && moving.contains(output.get());
    });
    if (!moves) continue;
    for (Value* read : all_reads(*node)) add(read);
  }
  for (Value* output : step.graph->outputs()) add(output);
  for (const TrainingInfo& info : step.training) {
    for (const Binding& binding : info.update_bindings) add(binding.source);
  }
  return found;
}

int64_t product(std::span<const int64_t> dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

struct Work {
  double multiply_adds = 0;
  double weights = 0;  // elements that all examples share
};

/// What a node computes for one example, where that is products with weights or of matrices.
Work work_of(const Node& node, const ExampleRows& rows) {
  if (!node.domain.empty() || node.inputs().size() < 2) return {};
  const auto &a = rows.dims(node.input(0), 0), &b = rows.dims(node.input(1), 0),
             &y = rows.dims(node.output(0), 0);
  if (!a || !b || !y || a->empty() || b->empty() || y->empty()) return {};
  Work work;
  if (input_role(node, 1) == InputRole::weight && has_traits(node, kWindows)) {
    work.multiply_adds = static_cast<double>(product(*y)) * static_cast<double>(product(*b)) /
                         static_cast<double>(std::max<int64_t>(b->front(), 1));
  } else if (input_role(node, 1) == InputRole::weight && has_traits(node, kImages)) {
    // Of a transposed convolution each place of the input meets all taps.
    work.multiply_adds = static_cast<double>(product(*a)) * static_cast<double>(product(*b)) /
                         static_cast<double>(std::max<int64_t>(b->front(), 1));
  } else if (node.op == "MatMul" || node.op == "Gemm") {
    work.multiply_adds = static_cast<double>(product(*y)) * static_cast<double>(a->back());
  }
  if (work.multiply_adds > 0 && rows.of(node.input(1)) == Rows::alike) {
    work.weights = static_cast<double>(product(*b));
  }
  return work;
}

/// The frozen nodes from the first one that takes work on.
class FrozenGraph {
 public:
  FrozenGraph(const Model& part, const ExampleRows& rows) : part_(part), rows_(rows) {
    for (const auto& node : part.graph->nodes()) add(*node);
    find_needed();
  }

  std::optional<std::vector<Value*>> cut() const {
    const auto found = smallest_cut(vertices_);
    if (!found) return std::nullopt;
    std::vector<Value*> cut;
    for (const size_t vertex : *found) cut.push_back(values_[vertex]);
    return cut;
  }

  bool is_empty() const {
    return std::ranges::none_of(vertices_, [](const CutVertex& each) { return each.is_needed; });
  }

 private:
  void add(const Node& node) {
    const double work = work_of(node, rows_).multiply_adds;
    std::vector<size_t> from;
    for (const Value* read : all_reads(node)) {
      if (const auto found = place_.find(read); found != place_.end()) {
        from.push_back(found->second);
      }
    }
    if (work == 0 && from.empty()) return;
    bool is_first = true;
    for (const auto& output : node.outputs()) {
      if (!output) continue;
      place_[output.get()] = vertices_.size();
      values_.push_back(output.get());
      vertices_.push_back({.bytes = bytes_of(output.get()),
                           .from = from,
                           .begins = from.empty(),
                           .multiply_adds = is_first ? work : 0});
      is_first = false;
    }
  }

  int64_t bytes_of(const Value* value) const {
    const auto& dims = rows_.dims(value, 0);
    if (rows_.of(value) != Rows::own || !rows_.place(value).is_first() || !dims) return -1;
    const int width = bits(value->type.dtype);
    if (width == 0 || width % 8 != 0) return -1;  // texts, and elements that share a byte
    return packed_bytes(value->type.dtype, product(*dims)).value_or(-1);
  }

  /// Goes back from what the rest of the step reads, through what it has to compute itself.
  void find_needed() {
    std::vector<const Value*> open(part_.graph->outputs().begin(), part_.graph->outputs().end());
    ValueSet seen(open.begin(), open.end());
    while (!open.empty()) {
      const Value* value = open.back();
      open.pop_back();
      const auto found = place_.find(value);
      if (found != place_.end() && vertices_[found->second].bytes >= 0) {
        vertices_[found->second].is_needed = true;
        continue;
      }
      if (!value->producer()) continue;
      for (const Value* read : all_reads(*value->producer())) {
        if (seen.insert(read).second) open.push_back(read);
      }
    }
  }

  const Model& part_;
  const ExampleRows& rows_;
  std::vector<CutVertex> vertices_;
  std::vector<Value*> values_;
  std::unordered_map<const Value*, size_t> place_;
};

std::vector<Value*> values_of(const Model& model, std::span<const std::string> names) {
  std::vector<Value*> values;
  for (const std::string& name : names) {
    Value* value = find_value(model, name);
    if (value && value->producer()) values.push_back(value);
  }
  return values;
}

/// The step with inputs in the place of the values at the cut.
Model rest_of(const Model& step, std::span<Value* const> cut, const ExampleRows& rows) {
  const auto outputs_of = [](const Model& model) {
    return std::vector<Value*>(model.graph->outputs().begin(), model.graph->outputs().end());
  };
  Model rest = part_for(step, outputs_of(step), Updates::kept);
  Names names(rest);
  for (const Value* value : cut) {
    Value* computed = find_value(rest, value->name());
    Shape shape = {Dim{}};
    const auto& dims = *rows.dims(value, 0);
    for (size_t i = 1; i < dims.size(); ++i) shape.push_back(Dim::known(dims[i]));
    Value* input = rest.graph->add_input(names.fresh(value->name()),
                                         Type::tensor(value->type.dtype, std::move(shape)));
    rest.graph->replace_uses(computed, input);
    for (Binding& binding : rest.training[0].update_bindings) {
      if (binding.source == computed) binding.source = input;
    }
    rest.graph->rename(computed, "");
    rest.graph->rename(input, value->name());
  }
  return part_for(rest, outputs_of(rest), Updates::kept);
}

std::string counted(double number) {
  if (number >= 1e9) return fmt::format("{:.1f} billion", number / 1e9);
  return number >= 1e6 ? fmt::format("{:.1f} million", number / 1e6)
                       : fmt::format("{:.0f}", number);
}

/// Why it is not worth it; empty where it is.
std::string too_little(const FrozenPrefix& found, double weights) {
  const double work = found.multiply_adds;
  if (work < kLeastMultiplyAdds) {
    return fmt::format("the frozen part takes {} multiply-adds an example, less than {}",
                       counted(work), counted(kLeastMultiplyAdds));
  }
  if (work < kLeastMultiplyAddsPerByte * static_cast<double>(found.bytes)) {
    return fmt::format(
        "the frozen part takes {} multiply-adds for each of the {} bytes of an example that would "
        "be kept, less than {}",
        counted(work / static_cast<double>(found.bytes)), found.bytes,
        counted(kLeastMultiplyAddsPerByte));
  }
  if (work < kLeastUsesOfWeights * weights) {
    return fmt::format(
        "the frozen part uses a weight {:.1f} times an example, less than {}: batches are faster",
        work / weights, counted(kLeastUsesOfWeights));
  }
  return {};
}

FrozenSplit split(const Model& step, const FrozenRequest& request) {
  const ValueSet moving = moving_values(step, request);
  const std::vector<Value*> demanded = read_by_moving(step, moving);
  if (demanded.empty())
    return {.prefix = {}, .reason = "nothing is computed before what is trained"};
  const Model part = part_for(step, demanded, Updates::dropped);
  const ExampleRows rows(part, request.batches);
  const FrozenGraph frozen(part, rows);
  if (frozen.is_empty()) {
    return {.prefix = {},
            .reason =
                "no products with weights come before what is trained, or is random, or "
                "takes several examples together"};
  }
  const auto cut = frozen.cut();
  if (!cut) {
    return {.prefix = {}, .reason = "what the frozen part gives cannot be told apart by examples"};
  }
  FrozenPrefix found{.prefix = part_for(part, *cut, Updates::dropped),
                     .rest = rest_of(step, *cut, rows)};
  double weights = 0;
  for (const Value* value : *cut) {
    const auto& dims = *rows.dims(value, 0);
    const int64_t bytes = packed_bytes(value->type.dtype, product(dims)).value_or(0);
    found.cut.push_back({value->name(), value->type.dtype, dims, bytes});
    found.bytes += bytes;
  }
  for (const auto& node : found.prefix.graph->nodes()) {
    const Value* output = find_value(part, node->output(0) ? node->output(0)->name() : "");
    if (!output) continue;
    const Work work = work_of(*output->producer(), rows);
    found.multiply_adds += work.multiply_adds;
    weights += work.weights;
  }
  found.nodes = found.prefix.graph->nodes().size();
  found.all_nodes =
      part_for(step, values_of(step, request.forward), Updates::dropped).graph->nodes().size();
  if (std::string reason = too_little(found, weights); !reason.empty()) {
    return {.prefix = {}, .reason = std::move(reason)};
  }
  return {.prefix = std::move(found), .reason = {}};
}

}  // namespace

FrozenSplit split_frozen(const Model& step, const FrozenRequest& request) {
  try {
    return split(step, request);
  } catch (const Error& error) {
    return {.prefix = {},
            .reason = fmt::format("the frozen part does not run on one example: {}", error.what())};
  }
}

}  // namespace onward
