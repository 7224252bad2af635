#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "onward/error.h"
#include "opset/lift_steps.h"

namespace onward {
namespace {

// It said that Y may be left out, as its empty name does. The formulas of these versions multiply
// by R where later ones have its transpose, and the standard's own examples of then did so in part.
// It was mended in the text of opset 7, which is of an earlier day and other changes: R is laid out
// as W, which all formulas transpose, CNTK multiplies by the transpose, and PyTorch's exporter
// writes its matrices as they are, which it multiplies so too. GRU of opset 1 also misspells the
// default of its direction.
void drop_output_sequence(Rewrite& rewrite) { rewrite.node().remove_attribute("output_sequence"); }

/// The type of one element of a batch.
Type element_of(const Type& batch) {
  if (!batch.is_tensor()) return batch;
  Type type = batch;
  if (type.shape && !type.shape->empty()) type.shape->erase(type.shape->begin());
  return type;
}

/// The sequences of one element of a batch without what lies behind their end, and the sequences
/// that come of them, with zeros there: the standard leaves open what they are filled with.
class SequenceLength {
 public:
  SequenceLength(const Rewrite& inside, Value* length, Value* sequence) : inside_(inside) {
    zero_ = inside_.constant({0}, "zero");
    length_ = inside_.add("Reshape", {length, inside_.constant({1}, "one")}, "length");
    longest_ = inside_.add("Shape", {sequence}, "longest");
    set_attribute(*longest_->producer(), "end", int64_t{1});
  }

  Value* cut(Value* sequence) {
    return inside_.add("Slice", {sequence, zero_, length_, zero_}, "cut");
  }

  /// For sequences that the node makes, so that this stands behind it.
  Value* fill(const Rewrite& behind, Value* sequence) const {
    Value* rest = behind.add("Sub", {longest_, length_}, "rest");
    Value* pads = behind.add("Concat", {zero_, rest}, "pads");
    set_attribute(*pads->producer(), "axis", int64_t{0});
    return behind.add("Pad", {sequence, pads, nullptr, zero_}, "filled");
  }

 private:
  Rewrite inside_;
  Value* zero_;
  Value* length_;
  Value* longest_;
};

// A Scan ran over the sequences of each element of a batch by itself: now a Scan over the batch
// does, whose body is a Scan over the sequences. Their lengths are scanned beside them.
void scan_over_batch(Rewrite& rewrite) {
  Node& node = rewrite.node();
  const auto given = static_cast<int64_t>(node.inputs().size()) - 1;
  const int64_t scanned = node.int_or("num_scan_inputs", 0);
  const int64_t states = given - scanned, results = static_cast<int64_t>(node.outputs().size());
  if (scanned < 1 || states < 0 || states > results) {
    throw Error(fmt::format("num_scan_inputs is {}, and it has {} inputs and {} outputs", scanned,
                            given, results));
  }
  const auto parts = node.inputs().subspan(1);
  if (std::ranges::find(parts, nullptr) != parts.end())
    throw Error("one of its inputs is left out");
  Value* lengths = node.input(0);
  auto batch = std::make_unique<Graph>(&node.graph());
  batch->name = rewrite.fresh("of_batch");
  std::vector<Value*> outside, inside;
  const auto pass = [&](Value* value, std::string_view role) {
    outside.push_back(value);
    return batch->add_input(rewrite.fresh(role), element_of(value->type));
  };
  for (Value* value : parts) {
    inside.push_back(
        pass(value, static_cast<int64_t>(inside.size()) < states ? "state" : "sequence"));
  }

  Node* scan = batch->add_node("Scan", inside);
  for (int64_t i = 0; i < results; ++i) {
    scan->add_output(rewrite.fresh(i < states ? "last" : "results"));
  }
  const Rewrite within = rewrite.of(*scan);
  scan->opset = within.newest_opset();
  scan->function = node.function;
  std::optional<SequenceLength> length;
  if (lengths) {
    length.emplace(within, pass(lengths, "length"), inside[static_cast<size_t>(states)]);
    for (auto i = static_cast<size_t>(states); i < inside.size(); ++i) {
      scan->set_input(i, length->cut(inside[i]));
    }
  }
  for (int64_t i = 0; i < results; ++i) {
    Value* result = scan->output(static_cast<size_t>(i));
    if (lengths && i >= states) result = length->fill(within.behind(), result);
    batch->add_output(result);
  }

  set_attribute(*scan, "num_scan_inputs", scanned);
  if (const auto* directions = node.get<std::vector<int64_t>>("directions")) {
    set_attribute(*scan, "scan_input_directions", *directions);
  }
  node.remove_attribute("directions");
  set_attribute(*scan, "body", node.take_subgraph("body", *batch));
  set_attribute(node, "body", std::move(batch));
  set_attribute(node, "num_scan_inputs", static_cast<int64_t>(outside.size()));
  node.set_inputs(outside);
}

constexpr LiftStep kRecurrentSteps[] = {
    {"GRU", 1, 3, same},
    {"GRU", 3, 7, drop_output_sequence},
    {"LSTM", 1, 7, drop_output_sequence},
    {"RNN", 1, 7, drop_output_sequence},
    {"Scan", 8, 9, scan_over_batch, true},
};

}  // namespace

std::span<const LiftStep> recurrent_lift_steps() { return kRecurrentSteps; }

}  // namespace onward
