// A group of elementwise nodes as one loop over tiles.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "eval/elementwise_table.h"
#include "onward/error.h"
#include "runtime/plan_builder.h"
#include "runtime/reorder.h"
#include "runtime/tile_program.h"

namespace onward {
namespace {

using elementwise::Facts;

/// The type that chooses the function: of the branches where there is a condition.
DType operand_type(const Node& node, const Facts& facts) {
  return node.input(facts.has_condition ? 1 : 0)->type.dtype;
}

/// The steps through a plain tensor of shape `from` for each dimension of `to`, which it is
/// broadcast to; in the order of the layout.
std::vector<int64_t> broadcast_strides(const std::vector<int64_t>& from,
                                       const std::vector<int64_t>& to, Layout layout) {
  std::vector<int64_t> strides(to.size(), 0);
  int64_t step = 1;
  for (size_t d = from.size(); d-- > 0;) {
    if (from[d] != 1) strides[to.size() - from.size() + d] = step;
    step *= from[d];
  }
  return laid_out(std::move(strides), layout);
}

/// True where a tensor of shape `from` can be read as one of shape `to`; ones in front do not
/// matter.
bool broadcasts(const std::vector<int64_t>& from, const std::vector<int64_t>& to) {
  for (size_t back = 1; back <= from.size(); ++back) {
    const int64_t dim = from[from.size() - back];
    if (dim != 1 && (back > to.size() || dim != to[to.size() - back])) return false;
  }
  return true;
}

class GroupPlan {
 public:
  GroupPlan(PlanBuilder& builder, const ElementwiseGroup& group,
            const std::unordered_map<const Value*, std::string>& in_place)
      : builder_(builder), group_(group), layout_(choose_layout(in_place)) {
    program_.dims = laid_out(group.dims, layout_);
    program_.count = checked_element_count(group.dims);
  }

  void plan() {
    for (const Node* node : group_.nodes) find_sources(*node);
    for (const Node* node : group_.nodes) add(*node);
    join_dimensions();
    std::string label = group_.nodes.back()->label();
    label += fmt::format(" ({})", described());
    builder_.use_tiles(program_.registers());
    builder_.add({.label = std::move(label),
                  .kernel = builder_.kernel(),
                  .reads = std::move(reads_),
                  .writes = std::move(writes_),
                  .run = [program = std::move(program_)](const Run& run) { program.run(run); }});
  }

 private:
  /// Channels last where a large operand lies so; what is computed into state is plain.
  Layout choose_layout(const std::unordered_map<const Value*, std::string>& in_place) const {
    if (group_.dims.size() < 3) return Layout::plain;
    bool any = false;
    for (const Node* node : group_.nodes) {
      if (in_place.contains(node->output(0))) return Layout::plain;
      for (const Value* input : node->inputs()) {
        if (!input || static_dims(*input) != group_.dims || in_group(*input)) continue;
        if (builder_.has(*input, Layout::channels_last)) any = true;
      }
    }
    return any ? Layout::channels_last : Layout::plain;
  }

  bool in_group(const Value& value) const {
    return value.producer() &&
           std::ranges::find(group_.nodes, value.producer()) != group_.nodes.end();
  }

  /// Sources have the first registers, so all of them are found before anything is computed.
  void find_sources(const Node& node) {
    for (const Value* input : node.inputs()) {
      if (!input || in_group(*input) || registers_.contains(input)) continue;
      const auto dims = *static_dims(*input);
      const bool whole = dims == group_.dims;
      TileProgram::Source source{.slot = builder_.read(*input, whole ? layout_ : Layout::plain),
                                 .element = static_cast<size_t>(bits(input->type.dtype)) / 8,
                                 .whole = whole,
                                 .strides = whole ? std::vector<int64_t>{}
                                                  : broadcast_strides(dims, group_.dims, layout_)};
      reads_.push_back(source.slot);
      registers_[input] = static_cast<int>(program_.sources.size());
      program_.sources.push_back(std::move(source));
    }
  }

  int new_register() {
    if (!free_.empty()) {
      const int reg = free_.back();
      free_.pop_back();
      return reg;
    }
    return own_register();
  }

  /// For a result that leaves the group: its register points into the result's memory, where no
  /// other one may be computed.
  int own_register() { return static_cast<int>(program_.sources.size()) + program_.tiles++; }

  int reg(const Node& node, size_t input) const { return registers_.at(node.input(input)); }

  void add(const Node& node) {
    const Value& result = *node.output(0);
    const Facts& facts = *elementwise::find_facts(node);
    const DType from = operand_type(node, facts), to = result.type.dtype;
    const bool leaves = builder_.leaves(result, group_);
    const int out = leaves ? own_register() : new_register();
    const auto emit = [&](std::string_view op, int a, int b, int c) {
      program_.instructions.push_back(
          {.function = find_tile_function(op, from, to, facts.form.value),
           .a = a,
           .b = b,
           .c = c,
           .out = out,
           .attributes = facts.attributes_of(node)});
    };
    const auto operand = [&](size_t i) { return node.input(i) ? reg(node, i) : -1; };
    if (facts.joins_inputs()) {
      int last = operand(0);
      for (size_t i = 1; i < node.inputs().size(); ++i) {
        if (!node.input(i)) continue;
        emit(facts.joined_by[i == 1 ? 0 : 1], last, operand(i), -1);
        last = out;
      }
      if (last != out) emit("Identity", last, -1, -1);
    } else {
      emit(facts.op, operand(0), operand(1), operand(2));
    }
    program_.cost += facts.nanoseconds;
    registers_[&result] = out;
    if (leaves) {
      const SlotIndex slot = builder_.write(result, layout_);
      writes_.push_back(slot);
      program_.targets.push_back(
          {.slot = slot, .element = static_cast<size_t>(bits(to)) / 8, .reg = out});
      program_.cost += 0.2;
    } else {
      kept_[&result] = out;
    }
    release(node);
  }

  /// A tile whose last reader has run is free for the next result.
  void release(const Node& node) {
    for (const Value* input : node.inputs()) {
      const auto kept = input ? kept_.find(input) : kept_.end();
      if (kept == kept_.end()) continue;
      const bool last = std::ranges::all_of(input->uses(), [&](const Use& use) {
        return std::ranges::find(group_.nodes, use.node) <= std::ranges::find(group_.nodes, &node);
      });
      if (!last) continue;
      free_.push_back(kept->second);
      kept_.erase(kept);
    }
  }

  /// Neighbouring dimensions through which all operands step as through one become one.
  void join_dimensions() {
    auto& dims = program_.dims;
    if (dims.empty()) dims.push_back(1), pad_strides();
    for (size_t d = dims.size() - 1; d > 0; --d) {
      const bool joined = std::ranges::all_of(program_.sources, [&](const auto& source) {
        return source.whole || source.strides[d - 1] == source.strides[d] * dims[d] ||
               dims[d] == 1 || dims[d - 1] == 1;
      });
      if (!joined) continue;
      for (auto& source : program_.sources) {
        if (source.whole) continue;
        if (dims[d] == 1) source.strides[d] = source.strides[d - 1];
        source.strides.erase(source.strides.begin() + static_cast<ptrdiff_t>(d) - 1);
      }
      dims[d] *= dims[d - 1];
      dims.erase(dims.begin() + static_cast<ptrdiff_t>(d) - 1);
    }
  }

  void pad_strides() {
    for (auto& source : program_.sources) {
      if (!source.whole) source.strides.push_back(0);
    }
  }

  std::string described() const {
    std::map<std::string, int> counts;
    for (const Node* node : group_.nodes) ++counts[node->op];
    std::string text;
    for (const auto& [op, count] : counts) {
      text += fmt::format("{}{}", text.empty() ? "" : " ", op);
      if (count > 1) text += fmt::format(" x{}", count);
    }
    return text;
  }

  PlanBuilder& builder_;
  const ElementwiseGroup& group_;
  Layout layout_;
  TileProgram program_;
  std::vector<SlotIndex> reads_, writes_;
  std::unordered_map<const Value*, int> registers_, kept_;
  std::vector<int> free_;
};

}  // namespace

bool is_tiled(const Node& node) {
  const Facts* facts = elementwise::find_facts(node);
  if (!facts || node.outputs().size() != 1 || !node.input(0)) return false;
  const DType from = operand_type(node, *facts), to = node.output(0)->type.dtype;
  if (!find_tile_function(facts->op, from, to, facts->form.value)) return false;
  const auto result = static_dims(*node.output(0));
  if (!result || result->size() > 16 || node.inputs().size() > 16) return false;
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    if (!node.input(i)) continue;
    const bool condition = facts->has_condition && i == 0;
    if (node.input(i)->type.dtype != (condition ? DType::boolean : from)) return false;
    const auto dims = static_dims(*node.input(i));
    if (!dims || dims->size() > 16 || !broadcasts(*dims, *result)) return false;
  }
  return true;
}

bool is_one_instruction(const Node& node) {
  const Facts* facts = elementwise::find_facts(node);
  return !facts || !facts->joins_inputs();
}

void plan_group(PlanBuilder& builder, const ElementwiseGroup& group,
                const std::unordered_map<const Value*, std::string>& in_place) {
  GroupPlan(builder, group, in_place).plan();
}

}  // namespace onward
