#include "passes/example_rows.h"

#include <algorithm>

#include "ir/clone.h"
#include "ir/dependence.h"
#include "ops/infer_step.h"
#include "ops/op_def.h"
#include "passes/passes.h"
#include "passes/step_part.h"

namespace onward {
namespace {

const Tensor* constant_of(const Value* value) {
  if (!value) return nullptr;
  if (value->tensor() && !value->is_input()) return value->tensor();
  const Node* node = value->producer();
  return node ? node->get<Tensor>("value") : nullptr;
}

int64_t elements(std::span<const int64_t> dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

}  // namespace

bool varies(const Node& node) {
  if (is_in_training(node)) return true;
  const OpDef* definition = find_op_def(node);
  // One that draws in training alone draws nothing here.
  if (definition && definition->has(kRandom) && !definition->trains) return true;
  return std::ranges::any_of(node.subgraphs(), [](const Graph* graph) {
    return std::ranges::any_of(graph->nodes(), [](const auto& inner) { return varies(*inner); });
  });
}

/// What one node does to the rows of its operands.
class RowRules {
 public:
  RowRules(const ExampleRows& rows, const Node& node) : rows_(rows), node_(node) {}

  Rows output(size_t index) const {
    if (varies(node_)) return Rows::mixed;
    const std::vector<Value*> reads = all_reads(node_);
    const auto all = [&](auto is) {
      return std::ranges::all_of(reads, [&](const Value* each) { return is(rows_.of(each)); });
    };
    if (all([](Rows rows) { return rows == Rows::alike; })) return Rows::alike;
    if (!all([](Rows rows) { return rows != Rows::mixed; })) return Rows::mixed;
    if (!node_.domain.empty() || !node_.subgraphs().empty()) return Rows::mixed;
    if (node_.op == "Shape" || node_.op == "Size") return Rows::sizes;
    if (all([](Rows rows) { return rows != Rows::own; })) {
      return repeats() && has_rows(node_.output(0)) ? Rows::own : Rows::sizes;
    }
    const bool keeps = keeps_rows(index) && has_rows(node_.output(index));
    return keeps ? Rows::own : Rows::mixed;
  }

 private:
  struct Rule {
    std::string_view op;
    bool (RowRules::*keeps)() const;
    int64_t axis = 0;  // what the attribute `axis` is where it is left out
    bool all_outputs = false;
  };
  static const Rule kRules[];
  static const Rule* rule_of(std::string_view op);

  bool is(size_t input, Rows rows) const {
    return node_.input(input) && rows_.of(node_.input(input)) == rows;
  }
  /// All inputs from number `first` on that are there.
  bool are_alike(size_t first) const {
    for (size_t i = first; i < node_.inputs().size(); ++i) {
      if (node_.input(i) && !is(i, Rows::alike)) return false;
    }
    return true;
  }
  bool only_data_counts() const { return is(0, Rows::own) && are_alike(1); }

  size_t batches() const { return rows_.sizes_.size(); }
  const std::optional<std::vector<int64_t>>& dims(const Value* value, size_t batch) const {
    return rows_.dims(value, batch);
  }
  /// The number of dimensions, -1 where it is not known.
  int64_t rank(const Value* value) const {
    const auto& found = dims(value, 0);
    return found ? std::ssize(*found) : -1;
  }
  bool has_rows(const Value* value) const {
    for (size_t b = 0; b < batches(); ++b) {
      const auto& found = dims(value, b);
      if (!found || found->empty() || found->front() != rows_.sizes_[b]) return false;
    }
    return value != nullptr;
  }
  /// Whether an operand that all examples share meets each of their rows alike.
  bool is_shared(const Value* value, int64_t of_rank) const {
    const auto& found = dims(value, 0);
    if (!found) return false;
    return std::ssize(*found) < of_rank || (std::ssize(*found) == of_rank && found->front() == 1);
  }

  bool keeps_rows(size_t index) const {
    if (index == 0 && has_traits(node_, kElementwise)) return broadcasts();
    // Beside the first there are places in a batch (of MaxPool).
    if (index == 0 && has_traits(node_, kImages)) return only_data_counts();
    const Rule* rule = rule_of(node_.op);
    if (!rule || (index > 0 && !rule->all_outputs)) return false;
    return (this->*rule->keeps)();
  }

  /// The attribute, counted from the first dimension of `value`.
  std::optional<int64_t> axis(const Value* value) const {
    const int64_t count = rank(value);
    const int64_t at = node_.int_or("axis", rule_of(node_.op)->axis);
    if (count < 0) return std::nullopt;
    return at < 0 ? at + count : at;
  }
  bool is_behind_rows(const Value* value) const { return axis(value).value_or(0) >= 1; }

  /// Whether an operand of axes is known, and none is dimension 0 of `value`.
  bool axes_are_behind_rows(size_t input, const Value* value) const {
    const Tensor* axes = constant_of(node_.input(input));
    const int64_t count = rank(value);
    if (!axes || count < 0 || axes->size() == 0) return false;
    return std::ranges::all_of(axes->integers(),
                               [&](int64_t at) { return at != 0 && at != -count; });
  }

  bool broadcasts() const {
    const int64_t of_rank = rank(node_.output(0));
    return std::ranges::all_of(node_.inputs(), [&](const Value* input) {
      if (!input) return true;
      const Rows rows = rows_.of(input);
      if (rows == Rows::own) return rank(input) == of_rank;
      return rows == Rows::alike && is_shared(input, of_rank);
    });
  }

  /// The elements stay in their order, and so in their rows where a row has as many as before.
  bool views() const {
    if (!is(0, Rows::own)) return false;
    for (size_t b = 0; b < batches(); ++b) {
      const auto &from = dims(node_.input(0), b), &to = dims(node_.output(0), b);
      if (!from || !to || from->empty() || to->empty() || from->front() != to->front() ||
          elements(*from) != elements(*to)) {
        return false;
      }
    }
    return true;
  }

  /// The same for each example, of which there are as many as the batch has.
  bool repeats() const {
    if (node_.op == "ConstantOfShape") return true;
    return node_.op == "Expand" && is(0, Rows::alike) &&
           is_shared(node_.input(0), rank(node_.output(0)));
  }

  bool expands() const { return is(0, Rows::own) && rank(node_.input(0)) == rank(node_.output(0)); }

  bool permutes() const {
    const auto* order = node_.get<std::vector<int64_t>>("perm");
    return order && !order->empty() && order->front() == 0;
  }

  bool multiplies() const {
    const Value *a = node_.input(0), *b = node_.input(1);
    const int64_t of_rank = rank(node_.output(0));
    const bool own_a = is(0, Rows::own), own_b = is(1, Rows::own);
    if (own_a && own_b) return rank(a) == of_rank && rank(b) == of_rank && of_rank >= 3;
    if (own_a) return rank(a) == of_rank && of_rank >= 2 && is_factor(b, of_rank);
    return own_b && rank(b) == of_rank && of_rank >= 3 && is_factor(a, of_rank);
  }
  /// A matrix, or a batch of them, that all examples share.
  bool is_factor(const Value* value, int64_t of_rank) const {
    if (rows_.of(value) != Rows::alike || rank(value) < 2) return false;
    return rank(value) == 2 || is_shared(value, of_rank);
  }

  bool multiplies_rows() const {  // Gemm
    return node_.int_or("transA", 0) == 0 && is(0, Rows::own) && is(1, Rows::alike) &&
           (!node_.input(2) || is(2, Rows::own) ||
            (is(2, Rows::alike) && is_shared(node_.input(2), 2)));
  }

  bool is_along_axis() const { return only_data_counts() && is_behind_rows(node_.input(0)); }
  bool moves_inside() const { return only_data_counts(); }

  bool joins() const {
    return is_behind_rows(node_.output(0)) &&
           std::ranges::all_of(node_.inputs(),
                               [&](const Value* each) { return rows_.of(each) == Rows::own; });
  }

  bool picks() const {  // Gather
    if (is(0, Rows::alike)) return is(1, Rows::own) && axis(node_.input(0)) == 0;
    return is(0, Rows::own) && is(1, Rows::alike) && is_behind_rows(node_.input(0));
  }

  bool slices() const { return only_data_counts() && axes_are_behind_rows(3, node_.input(0)); }
  bool reduces() const { return only_data_counts() && axes_are_behind_rows(1, node_.input(0)); }

  bool pads() const {
    if (!only_data_counts()) return false;
    if (node_.input(3)) return axes_are_behind_rows(3, node_.input(0));
    const Tensor* pads = constant_of(node_.input(1));
    if (!pads || pads->size() < 2) return false;
    return pads->integer(0) == 0 && pads->integer(pads->size() / 2) == 0;
  }

  bool repeats_inside() const {  // Tile
    const Tensor* repeats = constant_of(node_.input(1));
    return only_data_counts() && repeats && repeats->size() > 0 && repeats->integer(0) == 1;
  }

  bool resizes() const { return only_data_counts() && !node_.input(1); }

  const ExampleRows& rows_;
  const Node& node_;
};

const RowRules::Rule RowRules::kRules[] = {
    {"ArgMax", &RowRules::is_along_axis},
    {"ArgMin", &RowRules::is_along_axis},
    {"Concat", &RowRules::joins},
    {"DepthToSpace", &RowRules::moves_inside},
    {"DequantizeLinear", &RowRules::is_along_axis, 1},
    {"Dropout", &RowRules::moves_inside},  // of inference
    {"Expand", &RowRules::expands},
    {"Flatten", &RowRules::views},
    {"Gather", &RowRules::picks},
    {"Gemm", &RowRules::multiplies_rows},
    {"Hardmax", &RowRules::is_along_axis, -1},
    {"LayerNormalization", &RowRules::is_along_axis, -1, true},
    {"LogSoftmax", &RowRules::is_along_axis, -1},
    {"LpNormalization", &RowRules::is_along_axis, -1},
    {"MatMul", &RowRules::multiplies},
    {"Pad", &RowRules::pads},
    {"QuantizeLinear", &RowRules::is_along_axis, 1},
    {"RMSNormalization", &RowRules::is_along_axis, -1},
    {"ReduceL1", &RowRules::reduces},
    {"ReduceL2", &RowRules::reduces},
    {"ReduceMax", &RowRules::reduces},
    {"ReduceMean", &RowRules::reduces},
    {"ReduceMin", &RowRules::reduces},
    {"ReduceSum", &RowRules::reduces},
    {"ReduceSumSquare", &RowRules::reduces},
    {"Reshape", &RowRules::views},
    {"Resize", &RowRules::resizes},
    {"Slice", &RowRules::slices},
    {"Softmax", &RowRules::is_along_axis, -1},
    {"SpaceToDepth", &RowRules::moves_inside},
    {"Split", &RowRules::is_along_axis, 0, true},
    {"Squeeze", &RowRules::views},
    {"Tile", &RowRules::repeats_inside},
    {"TopK", &RowRules::is_along_axis, -1, true},
    {"Transpose", &RowRules::permutes},
    {"Unsqueeze", &RowRules::views},
};

const RowRules::Rule* RowRules::rule_of(std::string_view op) {
  const Rule* found = std::ranges::find(kRules, op, &Rule::op);
  return found == std::end(kRules) ? nullptr : found;
}

ExampleRows::ExampleRows(const Model& step, std::span<const BatchTypes> batches) {
  for (const BatchTypes& batch : batches) {
    sizes_.push_back(batch.size);
    infer(step, batch);
  }
  for (const Value* input : step.graph->inputs()) {
    const bool counts = std::ranges::all_of(batches, [&](const BatchTypes& batch) {
      const auto found = batch.inputs.find(input->name());
      const bool has_first =
          found != batch.inputs.end() && found->second.shape && !found->second.shape->empty();
      return has_first && found->second.shape->front().value == batch.size;
    });
    const bool is_same = std::ranges::all_of(batches, [&](const BatchTypes& batch) {
      const auto found = batch.inputs.find(input->name());
      return found == batch.inputs.end() || found->second == batches[0].inputs.at(input->name());
    });
    rows_[input] = counts ? Rows::own : is_same ? Rows::alike : Rows::mixed;
  }
  for (const auto& node : step.graph->nodes()) {
    const RowRules rules(*this, *node);
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      if (const Value* output = node->output(i)) rows_[output] = rules.output(i);
    }
  }
}

void ExampleRows::infer(const Model& step, const BatchTypes& batch) {
  Model copy = empty_like(step);
  ValueMap map;
  clone_into(*step.graph, *copy.graph, map);
  for (const auto& node : copy.graph->nodes()) {
    for (const auto& output : node->outputs()) {
      if (output) output->type = without_shapes(output->type);
    }
  }
  for (Value* input : copy.graph->inputs()) {
    const auto given = batch.inputs.find(input->name());
    if (given != batch.inputs.end()) {
      input->type = given->second;
    } else if (input->tensor()) {
      input->type = input->tensor()->type();
    }
  }
  infer_step_types(copy);
  for (const auto& [from, to] : map) dims_[from].push_back(static_dims(*to));
}

Rows ExampleRows::of(const Value* value) const {
  const auto found = rows_.find(value);
  return found == rows_.end() ? Rows::alike : found->second;  // initializers
}

const std::optional<std::vector<int64_t>>& ExampleRows::dims(const Value* value,
                                                             size_t batch) const {
  static const Dims kUnknown;
  const auto found = dims_.find(value);
  return found == dims_.end() ? kUnknown : found->second[batch];
}

}  // namespace onward
