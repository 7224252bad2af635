// What operators do with the examples of a batch.

#include "recipe/batch_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/rewrite.h"
#include "onward/error.h"
#include "ops/op_def.h"

namespace onward {
namespace {

/// Operands without examples are the same for each: their dimension there is 1, or missing.
void require_same_for_all(const BatchAxes& axes, const Node& node, int64_t rank,
                          const ExampleAxis& place) {
  for (const Value* input : node.inputs()) {
    if (!input || axes.of(input)) continue;
    const std::vector<int64_t> dims = known_dims(*input);
    const int64_t axis = place.axis - (rank - std::ssize(dims));
    if (axis >= 0 && dims[static_cast<size_t>(axis)] != 1) {
      throw Error(fmt::format("its input '{}' {} is made for that many examples", input->name(),
                              to_string(input->type)));
    }
  }
}

/// Operands that are broadcast: examples must meet examples, or a dimension of 1.
void broadcast_examples(BatchAxes& axes, Node& node) {
  const int64_t out = dimensions_of(*node.output(0));
  std::optional<ExampleAxis> found;
  for (const Value* input : node.inputs()) {
    const auto examples = axes.of(input);
    if (!input) continue;
    if (!examples && !axes.is_independent(input)) throw Error("it computes with sizes");
    if (!examples) continue;
    const ExampleAxis place{out - dimensions_of(*input) + examples->axis, examples->each};
    if (found && *found != place) throw Error("its inputs have examples in other dimensions");
    found = place;
  }
  if (!found) throw Error("it has no examples");
  require_same_for_all(axes, node, out, *found);
  axes.set_output(node, *found);
}

/// Images in, one after the other; the batch is the first dimension.
void image_examples(BatchAxes& axes, Node& node) {
  const ExampleAxis examples = only_first(axes, node);
  if (examples.axis != 0 || is_in_training(node)) throw Error("its channels would be mixed up");
  axes.set_output(node, examples);
}

void reduced_examples(BatchAxes& axes, Node& node) {
  const ExampleAxis examples = only_first(axes, node);
  const int64_t rank = dimensions_of(*node.input(0));
  const bool has_axis = node.op.starts_with("Arg");
  const auto reduced = has_axis ? std::vector{axis_from_front(node, 0, rank)}
                                : axes_from_front(node, 1, rank).value_or(std::vector<int64_t>{});
  if (reduced.empty() || std::ranges::count(reduced, examples.axis) != 0)
    throw Error("it joins all examples");
  const auto before =
      std::ranges::count_if(reduced, [&](int64_t axis) { return axis < examples.axis; });
  const bool keeps = node.int_or("keepdims", 1) != 0;
  axes.set_output(node, {examples.axis - (keeps ? 0 : before), examples.each});
}

/// Softmax and the like: along one dimension.
void normalized_examples(BatchAxes& axes, Node& node) {
  const ExampleAxis examples = only_first(axes, node);
  require_other_axis(axis_from_front(node, -1, dimensions_of(*node.input(0))), examples);
  axes.set_output(node, examples);
}

/// Normalizations of all dimensions from one on.
void layer_normalized_examples(BatchAxes& axes, Node& node) {
  const ExampleAxis examples = only_first(axes, node);
  if (axis_from_front(node, -1, dimensions_of(*node.input(0))) <= examples.axis) {
    throw Error("it works along the dimension of examples");
  }
  require_same_for_all(axes, node, dimensions_of(*node.input(0)), examples);
  axes.set_output(node, examples);
}

void same_examples(BatchAxes& axes, Node& node) {
  if (has_traits(node, kMovesData) && passes_sizes(axes, node)) return;
  axes.set_output(node, only_first(axes, node));
}

/// Scales, or sizes that are computed: a constant size would have the batch in it.
void resize_examples(BatchAxes& axes, Node& node) {
  const auto examples = axes.of(node.input(0));
  const auto* only = node.get<std::vector<int64_t>>("axes");
  if (!examples || examples->axis != 0 || only) throw Error("it may resize the batch");
  const Value *scales = node.input(2), *sizes = node.input(3);
  if (sizes) {
    const auto given = axes.sizes_of(sizes);
    if (!given || given->empty() || !given->at(0).times_batch ||
        given->at(0).number != examples->each) {
      throw Error(fmt::format("its sizes '{}' have the batch in them", sizes->name()));
    }
  } else if (!scales || !scales->tensor() || scales->tensor()->size() == 0 ||
             scales->tensor()->number(0) != 1) {
    throw Error("its scales are computed");
  }
  axes.set_output(node, *examples);
}

void matmul_examples(BatchAxes& axes, Node& node) {
  const auto a = axes.of(node.input(0)), b = axes.of(node.input(1));
  const int64_t rank_a = dimensions_of(*node.input(0)), rank_b = dimensions_of(*node.input(1));
  const int64_t out = std::max(rank_a, rank_b);
  if (rank_a < 2 || rank_b < 2 || (!a && !b)) throw Error("it is no product of matrices");
  if (a && a->axis == rank_a - 1) throw Error("it adds up examples");
  if (b && b->axis == rank_b - 2) throw Error("it adds up examples");
  const auto place = [&](ExampleAxis of, int64_t rank) {
    return ExampleAxis{out - rank + of.axis, of.each};
  };
  const ExampleAxis found = a ? place(*a, rank_a) : place(*b, rank_b);
  if (a && b && (found != place(*b, rank_b) || found.axis >= out - 2)) {
    throw Error("it combines each example with each other one");
  }
  // A stack of matrices on the other side is one for each place of the same dimension.
  const Value& other = *node.input(a ? 1 : 0);
  const int64_t at = found.axis - (out - dimensions_of(other));
  if (!(a && b) && found.axis < out - 2 && at >= 0 &&
      known_dims(other)[static_cast<size_t>(at)] != 1) {
    throw Error(fmt::format("'{}' has a matrix for each example", other.name()));
  }
  axes.set_output(node, found);
}

void gemm_examples(BatchAxes& axes, Node& node) {
  const ExampleAxis examples = only_first(axes, node);
  const bool turned = node.int_or("transA", 0) != 0;
  if (examples.axis != (turned ? 1 : 0)) throw Error("it adds up examples");
  const Value* c = node.input(2);
  const std::vector<int64_t> dims = c ? known_dims(*c) : std::vector<int64_t>{};
  if (dims.size() == 2 && dims[0] != 1) throw Error("its bias is made for that many examples");
  axes.set_output(node, {0, examples.each});
}

/// RNN, GRU, LSTM: X [T, batch, I], states [directions, batch, H], Y [T, directions, batch, H];
/// with layout 1 the batch comes first everywhere.
void recurrent_examples(BatchAxes& axes, Node& node) {
  const bool first = node.int_or("layout", 0) != 0;
  const auto examples = axes.of(node.input(0));
  const int64_t axis = first ? 0 : 1;
  if (!examples || examples->axis != axis) throw Error("its steps would be mixed up with examples");
  for (const size_t weight : {size_t{1}, size_t{2}, size_t{3}, size_t{7}}) {
    if (!axes.is_independent(node.input(weight))) throw Error("its weights depend on the batch");
  }
  for (const size_t state : {size_t{4}, size_t{5}, size_t{6}}) {
    const Value* input = node.input(state);
    const int64_t wanted = state == 4 ? 0 : axis;  // lengths [batch]
    if (input && axes.of(input) != ExampleAxis{wanted, examples->each}) {
      throw Error(fmt::format("its input '{}' {} is made for that many examples", input->name(),
                              to_string(input->type)));
    }
  }
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    const int64_t at = first ? 0 : i == 0 ? 2 : 1;
    if (node.output(i)) axes.set(node.output(i), {at, examples->each});
  }
}

struct BatchRuleRow {
  std::string_view op;
  BatchRule rule;
};

/// What no trait tells.
constexpr BatchRuleRow kBatchRules[] = {
    {"ArgMax", reduced_examples},
    {"ArgMin", reduced_examples},
    {"CastLike", cast_like_examples},
    {"Concat", concat_examples},
    {"ConstantOfShape", constant_of_shape_examples},
    {"DepthToSpace", image_examples},
    {"Dropout", same_examples},
    {"Expand", expand_examples},
    {"Flatten", flatten_examples},
    {"Gather", gather_examples},
    {"Gemm", gemm_examples},
    {"Hardmax", normalized_examples},
    {"LayerNormalization", layer_normalized_examples},
    {"LogSoftmax", normalized_examples},
    {"LpNormalization", normalized_examples},
    {"MatMul", matmul_examples},
    {"Pad", pad_examples},
    {"RMSNormalization", layer_normalized_examples},
    {"Reshape", reshape_examples},
    {"Resize", resize_examples},
    {"Shape", shape_examples},
    {"Slice", slice_examples},
    {"Softmax", normalized_examples},
    {"SpaceToDepth", image_examples},
    {"Split", split_examples},
    {"Squeeze", squeeze_examples},
    {"Tile", tile_examples},
    {"Unsqueeze", unsqueeze_examples},
};

}  // namespace

BatchRule batch_rule(const Node& node) {
  if (!node.domain.empty() || !node.subgraphs().empty()) return nullptr;
  const auto found = std::ranges::find(kBatchRules, node.op, &BatchRuleRow::op);
  if (found != std::end(kBatchRules)) return found->rule;
  if (has_traits(node, kPermutes)) return transpose_examples;
  if (has_traits(node, kImages)) return image_examples;
  if (input_role(node, 2) == InputRole::recurrent_weight) return recurrent_examples;
  if (node.op.starts_with("Reduce")) return reduced_examples;
  const bool is_unary = node.inputs().size() == 1;
  if (has_traits(node, kElementwise)) {
    return is_unary || has_traits(node, kMovesData) ? same_examples : broadcast_examples;
  }
  return nullptr;
}

}  // namespace onward
