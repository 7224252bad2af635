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
  using Place = std::optional<RowPlace>;

  RowRules(const ExampleRows& rows, const Node& node) : rows_(rows), node_(node) {}

  /// What an output is, and where its rows are if it has some.
  std::pair<Rows, RowPlace> output(size_t index) const {
    if (varies(node_)) return {Rows::mixed, {}};
    const std::vector<Value*> reads = all_reads(node_);
    const auto all = [&](auto is) {
      return std::ranges::all_of(reads, [&](const Value* each) { return is(rows_.of(each)); });
    };
    if (all([](Rows rows) { return rows == Rows::alike; })) return {Rows::alike, {}};
    if (!all([](Rows rows) { return rows != Rows::mixed; })) return {Rows::mixed, {}};
    if (!node_.domain.empty() || !node_.subgraphs().empty()) return {Rows::mixed, {}};
    if (node_.op == "Shape" || node_.op == "Size") return {Rows::sizes, {}};
    const bool has_own = !all([](Rows rows) { return rows != Rows::own; });
    const Place place = has_own ? placed(index) : repeated();
    if (place && fits(node_.output(index), *place)) return {Rows::own, *place};
    return {has_own ? Rows::mixed : Rows::sizes, {}};
  }

 private:
  struct Rule {
    std::string_view op;
    Place (RowRules::*place)() const;
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
  const RowPlace& place(size_t input) const { return rows_.place(node_.input(input)); }

  const std::optional<std::vector<int64_t>>& dims(const Value* value, size_t batch) const {
    return rows_.dims(value, batch);
  }
  /// The number of dimensions, -1 where it is not known.
  int64_t rank(const Value* value) const {
    const auto& found = dims(value, 0);
    return found ? std::ssize(*found) : -1;
  }
  int64_t rank_of_output() const { return rank(node_.output(0)); }

  /// Whether the dimension counts the examples in each size of batch, and no other one does.
  bool fits(const Value* value, const RowPlace& at) const {
    if (!value || at.axis < 0) return false;
    std::optional<std::vector<int64_t>> of_one;
    for (size_t b = 0; b < rows_.sizes_.size(); ++b) {
      std::optional<std::vector<int64_t>> found = dims(value, b);
      if (!found || at.axis >= std::ssize(*found)) return false;
      int64_t& counted = (*found)[static_cast<size_t>(at.axis)];
      if (counted != at.outer * rows_.sizes_[b] * at.inner) return false;
      counted = 0;
      if (of_one.value_or(*found) != *found) return false;
      of_one = std::move(found);
    }
    return true;
  }

  Place placed(size_t index) const {
    if (index == 0 && has_traits(node_, kElementwise)) return broadcast();
    // Beside the first there are places in a batch (of MaxPool).
    if (index == 0 && has_traits(node_, kImages)) return of_image();
    const Rule* rule = rule_of(node_.op);
    if (!rule || (index > 0 && !rule->all_outputs)) return std::nullopt;
    return (this->*rule->place)();
  }

  /// The attribute, counted from the first dimension of `value`.
  int64_t axis(const Value* value) const {
    const int64_t at = node_.int_or("axis", rule_of(node_.op)->axis);
    return at < 0 ? at + rank(value) : at;
  }

  /// An operand of axes of `value`, counted from its first dimension; nothing where it is not
  /// known, or empty.
  std::optional<std::vector<int64_t>> axes(size_t input, const Value* value) const {
    const Tensor* constant = constant_of(node_.input(input));
    if (!constant || constant->size() == 0 || rank(value) < 0) return std::nullopt;
    std::vector<int64_t> found = constant->integers();
    for (int64_t& at : found) at += at < 0 ? rank(value) : 0;
    return found;
  }

  /// Where an operand's rows are in a result of that rank to which it broadcasts.
  RowPlace aligned(const Value* value, int64_t of_rank) const {
    RowPlace at = rows_.place(value);
    at.axis += of_rank - rank(value);
    return at;
  }
  /// Whether an operand that all examples share meets each of their rows alike.
  bool is_shared(const Value* value, const RowPlace& at, int64_t of_rank) const {
    const auto& found = dims(value, 0);
    if (!found || rows_.of(value) != Rows::alike) return false;
    const int64_t axis = at.axis - (of_rank - std::ssize(*found));
    return axis < 0 || (*found)[static_cast<size_t>(axis)] == 1;
  }

  Place broadcast() const {
    const int64_t of_rank = rank_of_output();
    Place at;
    for (const Value* input : node_.inputs()) {
      if (!input || rows_.of(input) != Rows::own) continue;
      const RowPlace its = aligned(input, of_rank);
      if (at.value_or(its) != its) return std::nullopt;
      at = its;
    }
    for (const Value* input : node_.inputs()) {
      if (input && rows_.of(input) != Rows::own && !is_shared(input, *at, of_rank)) {
        return std::nullopt;
      }
    }
    return at;
  }

  Place of_image() const {
    return only_data_counts() && place(0).axis == 0 ? Place(place(0)) : std::nullopt;
  }

  /// The elements stay in their order, in which those of an example have the same places.
  Place viewed() const {
    if (!is(0, Rows::own)) return std::nullopt;
    const auto &from = dims(node_.input(0), 0), &to = dims(node_.output(0), 0);
    if (!from || !to || rows_.sizes_[0] != 1) return std::nullopt;
    const auto first = static_cast<size_t>(place(0).axis);
    const int64_t before = elements(std::span(*from).first(first)) * place(0).outer;
    const int64_t behind = elements(std::span(*from).subspan(first + 1)) * place(0).inner;
    int64_t passed = 1;  // elements of the dimensions before
    for (size_t d = 0; d < to->size(); passed *= (*to)[d++]) {
      if (passed == 0 || before % passed != 0) continue;
      const int64_t left = elements(std::span(*to).subspan(d + 1));
      if (left == 0 || behind % left != 0) continue;
      const RowPlace at{static_cast<int64_t>(d), before / passed, behind / left};
      if (fits(node_.output(0), at)) return at;
    }
    return std::nullopt;
  }

  /// The same for each example, of which there are as many as a dimension has.
  Place repeated() const {
    const bool expands =
        node_.op == "ConstantOfShape" || (node_.op == "Expand" && is(0, Rows::alike));
    const int64_t of_rank = rank_of_output();
    for (int64_t axis = 0; expands && axis < of_rank; ++axis) {
      const RowPlace at{.axis = axis};
      const bool is_free = node_.op != "Expand" || is_shared(node_.input(0), at, of_rank);
      if (is_free && fits(node_.output(0), at)) return at;
    }
    return std::nullopt;
  }

  Place expanded() const {
    if (!is(0, Rows::own)) return std::nullopt;
    return aligned(node_.input(0), rank_of_output());
  }

  Place permuted() const {
    const auto* order = node_.get<std::vector<int64_t>>("perm");
    RowPlace at = place(0);
    if (order) {
      at.axis = std::ranges::find(*order, at.axis) - order->begin();
    } else {
      at.axis = rank(node_.input(0)) - 1 - at.axis;
    }
    return at;
  }

  Place multiplied() const {
    const Value *a = node_.input(0), *b = node_.input(1);
    const int64_t of_rank = rank_of_output();
    if (rank(a) < 2 || rank(b) < 2) return std::nullopt;
    const bool own_a = is(0, Rows::own), own_b = is(1, Rows::own);
    const RowPlace at = aligned(own_a ? a : b, of_rank);
    if (own_a && own_b) {
      const bool both = at == aligned(b, of_rank) && at.axis < of_rank - 2;
      return both ? Place(at) : std::nullopt;
    }
    const Value* other = own_a ? b : a;
    const int64_t summed = own_a ? of_rank - 1 : of_rank - 2,
                  free = own_a ? of_rank - 2 : of_rank - 1;
    if (at.axis == summed || rows_.of(other) != Rows::alike) return std::nullopt;
    return at.axis == free || is_shared(other, at, of_rank) ? Place(at) : std::nullopt;
  }

  Place multiplied_rows() const {  // Gemm
    const bool rows = node_.int_or("transA", 0) == 0 && is(0, Rows::own) && is(1, Rows::alike) &&
                      place(0).axis == 0;
    if (!rows) return std::nullopt;
    const Value* c = node_.input(2);
    if (!c || is_shared(c, place(0), 2)) return place(0);
    return is(2, Rows::own) && aligned(c, 2) == place(0) ? Place(place(0)) : std::nullopt;
  }

  /// Along one dimension, which stays.
  Place along_axis() const {
    if (!only_data_counts() || axis(node_.input(0)) == place(0).axis) return std::nullopt;
    return place(0);
  }
  /// Along one dimension and all behind it.
  Place along_last_axes() const {
    if (!only_data_counts() || axis(node_.input(0)) <= place(0).axis) return std::nullopt;
    return place(0);
  }
  Place searched() const {  // ArgMax
    Place at = along_axis();
    if (at && node_.int_or("keepdims", 1) == 0) at->axis -= axis(node_.input(0)) < at->axis;
    return at;
  }

  Place unmoved() const { return only_data_counts() ? Place(place(0)) : std::nullopt; }

  Place joined() const {
    for (size_t i = 0; i < node_.inputs().size(); ++i) {
      if (!is(i, Rows::own) || place(i) != place(0)) return std::nullopt;
    }
    return axis(node_.output(0)) == place(0).axis ? std::nullopt : Place(place(0));
  }

  Place picked() const {  // Gather
    const int64_t along = axis(node_.input(0));
    if (is(0, Rows::alike) && is(1, Rows::own)) {
      RowPlace at = place(1);
      at.axis += along;
      return at;
    }
    if (!only_data_counts() || along == place(0).axis) return std::nullopt;
    RowPlace at = place(0);
    if (at.axis > along) at.axis += rank(node_.input(1)) - 1;
    return at;
  }

  /// Where what is done along other dimensions leaves the rows where they are.
  Place beside(const std::optional<std::vector<int64_t>>& changed) const {
    if (!only_data_counts() || !changed) return std::nullopt;
    const bool meets = std::ranges::find(*changed, place(0).axis) != changed->end();
    return meets ? std::nullopt : Place(place(0));
  }

  Place sliced() const { return beside(axes(3, node_.input(0))); }

  Place reduced() const {
    const auto along = axes(1, node_.input(0));
    Place at = beside(along);
    if (at && node_.int_or("keepdims", 1) == 0) {
      at->axis -= std::ranges::count_if(*along, [&](int64_t each) { return each < at->axis; });
    }
    return at;
  }

  Place padded() const {
    if (node_.input(3)) return beside(axes(3, node_.input(0)));
    const Tensor* pads = constant_of(node_.input(1));
    if (!only_data_counts() || !pads) return std::nullopt;
    const int64_t at = place(0).axis;
    const bool none = pads->integer(at) == 0 && pads->integer(pads->size() / 2 + at) == 0;
    return none ? Place(place(0)) : std::nullopt;
  }

  Place repeated_beside() const {  // Tile
    const Tensor* repeats = constant_of(node_.input(1));
    const bool once = only_data_counts() && repeats && repeats->integer(place(0).axis) == 1;
    return once ? Place(place(0)) : std::nullopt;
  }

  Place resized() const {
    return only_data_counts() && !node_.input(1) ? Place(place(0)) : std::nullopt;
  }

  const ExampleRows& rows_;
  const Node& node_;
};

const RowRules::Rule RowRules::kRules[] = {
    {"ArgMax", &RowRules::searched},
    {"ArgMin", &RowRules::searched},
    {"Concat", &RowRules::joined},
    {"DepthToSpace", &RowRules::of_image},
    {"DequantizeLinear", &RowRules::along_axis, 1},
    {"Dropout", &RowRules::unmoved},  // of inference
    {"Expand", &RowRules::expanded},
    {"Flatten", &RowRules::viewed},
    {"Gather", &RowRules::picked},
    {"Gemm", &RowRules::multiplied_rows},
    {"Hardmax", &RowRules::along_axis, -1},
    {"LayerNormalization", &RowRules::along_last_axes, -1, true},
    {"LogSoftmax", &RowRules::along_axis, -1},
    {"LpNormalization", &RowRules::along_axis, -1},
    {"MatMul", &RowRules::multiplied},
    {"Pad", &RowRules::padded},
    {"QuantizeLinear", &RowRules::along_axis, 1},
    {"RMSNormalization", &RowRules::along_last_axes, -1},
    {"ReduceL1", &RowRules::reduced},
    {"ReduceL2", &RowRules::reduced},
    {"ReduceMax", &RowRules::reduced},
    {"ReduceMean", &RowRules::reduced},
    {"ReduceMin", &RowRules::reduced},
    {"ReduceSum", &RowRules::reduced},
    {"ReduceSumSquare", &RowRules::reduced},
    {"Reshape", &RowRules::viewed},
    {"Resize", &RowRules::resized},
    {"Slice", &RowRules::sliced},
    {"Softmax", &RowRules::along_axis, -1},
    {"SpaceToDepth", &RowRules::of_image},
    {"Split", &RowRules::along_axis, 0, true},
    {"Squeeze", &RowRules::viewed},
    {"Tile", &RowRules::repeated_beside},
    {"TopK", &RowRules::along_axis, -1, true},
    {"Transpose", &RowRules::permuted},
    {"Unsqueeze", &RowRules::viewed},
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
    if (counts) places_[input] = {};
  }
  for (const auto& node : step.graph->nodes()) {
    const RowRules rules(*this, *node);
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      const Value* output = node->output(i);
      if (!output) continue;
      const auto [rows, place] = rules.output(i);
      rows_[output] = rows;
      if (rows == Rows::own) places_[output] = place;
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
