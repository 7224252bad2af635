// The backward of Loop and Scan: a loop over the iterations in reverse. Each iteration is computed
// again from what it began with, which the forward node keeps for all iterations as scan outputs,
// and its backward is taken. Gradients of carried values and of values around the loop are carried.
//
// The backward of a Scan is a Scan, with all directions turned round. That of a Loop is a Loop,
// since a Loop may carry sequences, and tensors of which nothing is known before it runs.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/dependence.h"
#include "onward/error.h"
#include "ops/gradient_values.h"
#include "ops/subgraph.h"

namespace onward {
namespace {

using Integers = std::vector<int64_t>;
using Indices = std::set<size_t>;

/// Loop and Scan seen alike: where the parts are among inputs and outputs, of the node and its
/// body.
class Iterated {
 public:
  explicit Iterated(Node& node)
      : node_(node),
        body_(**node.get<std::unique_ptr<Graph>>("body")),
        is_loop_(node.op == "Loop") {
    scan_inputs_ = is_loop_ ? 0 : static_cast<size_t>(node.int_or("num_scan_inputs", 0));
    states_ = body_.inputs().size() - first() - scan_inputs_;
  }

  Node& node() const { return node_; }
  Graph& body() const { return body_; }
  bool is_loop() const { return is_loop_; }
  size_t states() const { return states_; }
  size_t scan_inputs() const { return scan_inputs_; }
  size_t scan_outputs() const { return body_.outputs().size() - first_result() - states_; }

  size_t state_index(size_t i) const { return first() + i; }  // among inputs, of node and body
  size_t scan_index(size_t i) const { return first() + states_ + i; }

  Value* state_in(size_t i) const { return body_.inputs()[state_index(i)]; }
  Value* state_out(size_t i) const { return body_.outputs()[first_result() + i]; }
  Value* scan_in(size_t i) const { return body_.inputs()[scan_index(i)]; }
  Value* scan_out(size_t i) const { return body_.outputs()[first_result() + states_ + i]; }

  int64_t input_axis(size_t i) const { return entry("scan_input_axes", i); }
  int64_t output_axis(size_t i) const { return entry("scan_output_axes", i); }
  int64_t input_direction(size_t i) const { return entry("scan_input_directions", i); }
  int64_t output_direction(size_t i) const { return entry("scan_output_directions", i); }

  /// All that a value of the body is in the iterations, stacked in their order: an output that the
  /// node gives from now on.
  Value* keep(Value* value, Builder& builder) const {
    for (size_t i = 0; i < scan_outputs(); ++i) {
      const Node* maker = scan_out(i)->producer();
      const bool is_kept = maker && maker->op == "Identity" && maker->input(0) == value &&
                           output_axis(i) == 0 && output_direction(i) == 0;
      if (is_kept && node_.output(states_ + i)) return node_.output(states_ + i);
    }
    if (!value->type.is_tensor()) {
      throw Error(fmt::format("it takes '{}' of each iteration, which is {}", value->name(),
                              to_string(value->type)));
    }
    Builder inside = builder.inside(body_);
    body_.add_output(inside.add_value("Identity", {value}, value->type).value());
    for (const char* list : {"scan_output_axes", "scan_output_directions"}) {
      if (const auto* given = node_.get<Integers>(list)) {
        Integers longer = *given;
        longer.push_back(0);
        set_attribute(node_, list, longer);
      }
    }
    return node_.set_output(states_ + scan_outputs() - 1, builder.fresh(value->name() + "_kept"),
                            stacked_type(value->type));
  }

 private:
  size_t first() const { return is_loop_ ? 2 : 0; }  // behind iteration and condition
  size_t first_result() const { return is_loop_ ? 1 : 0; }
  int64_t entry(const char* list, size_t i) const {
    const auto* given = node_.get<Integers>(list);
    return given && i < given->size() ? (*given)[i] : 0;
  }

  Node& node_;
  Graph& body_;
  bool is_loop_;
  size_t states_, scan_inputs_;
};

/// What gradients pass through: found by going round the loop until nothing more is reached.
struct Active {
  Indices states;        // that depend on what is wanted, and that the results depend on
  Indices scan_inputs;   // that are wanted
  Indices scan_outputs;  // that have a gradient
  std::vector<Value*> captures;
};

Indices depending_states(const Iterated& loop, const VjpContext& c, const Active& active,
                         ValueSet& depending) {
  Indices states;
  for (size_t i = 0; i < loop.states(); ++i) {
    if (c.differentiator().is_wanted(loop.node().input(loop.state_index(i)))) states.insert(i);
  }
  while (true) {
    depending.insert(active.captures.begin(), active.captures.end());
    for (const size_t i : active.scan_inputs) depending.insert(loop.scan_in(i));
    for (const size_t i : states) depending.insert(loop.state_in(i));
    depending = with_results(loop.body(), std::move(depending));
    const size_t before = states.size();
    for (size_t i = 0; i < loop.states(); ++i) {
      if (depending.contains(loop.state_out(i))) states.insert(i);
    }
    if (states.size() == before) return states;
  }
}

Indices leading_states(const Iterated& loop, const VjpContext& c, const Active& active) {
  Indices states;
  for (size_t i = 0; i < loop.states(); ++i) {
    if (c.has_grad(i)) states.insert(i);
  }
  while (true) {
    ValueSet leading;
    for (const size_t i : states) leading.merge(dependencies(loop.state_out(i)));
    for (const size_t i : active.scan_outputs) leading.merge(dependencies(loop.scan_out(i)));
    const size_t before = states.size();
    for (size_t i = 0; i < loop.states(); ++i) {
      if (leading.contains(loop.state_in(i))) states.insert(i);
    }
    if (states.size() == before) return states;
  }
}

Active find_active(const Iterated& loop, const VjpContext& c) {
  Active active{
      .states = {}, .scan_inputs = {}, .scan_outputs = {}, .captures = wanted_captures(c)};
  for (size_t i = 0; i < loop.scan_inputs(); ++i) {
    const Value* input = loop.node().input(loop.scan_index(i));
    if (has_gradient(input->type) && c.differentiator().is_wanted(input)) {
      active.scan_inputs.insert(i);
    }
  }
  ValueSet depending;
  const Indices from_xs = depending_states(loop, c, active, depending);
  for (size_t i = 0; i < loop.scan_outputs(); ++i) {
    if (c.has_grad(loop.states() + i) && depending.contains(loop.scan_out(i))) {
      active.scan_outputs.insert(i);
    }
  }
  for (const size_t i : leading_states(loop, c, active)) {
    if (from_xs.contains(i) && has_gradient(loop.state_in(i)->type)) active.states.insert(i);
  }
  return active;
}

/// The backward loop while it is built. What it carries are the gradients of the active states,
/// then those of captured values; what it reads slice by slice becomes a scan input, or is gathered
/// by index.
class BackwardLoop {
 public:
  BackwardLoop(const Iterated& loop, const VjpContext& c)
      : loop_(loop),
        c_(c),
        b_(c.builder()),
        active_(find_active(loop, c)),
        graph_(std::make_unique<Graph>(&b_.graph())),
        inside_(b_.inside(*graph_)) {
    graph_->name = b_.fresh("d_" + loop.body().name);
    if (!is_loop()) {
      const bool has_sequence = std::ranges::any_of(active_.captures, [](const Value* value) {
        return !gradient_type(value->type).is_tensor();
      });
      if (has_sequence) throw Error("it reads a sequence around it");
      return;
    }
    trip_ = graph_->add_input(b_.fresh("d_trip"), Type::tensor(DType::i64, Shape{}));
    goes_on_ = graph_->add_input(b_.fresh("d_goes_on"), Type::tensor(DType::boolean, Shape{}));
  }

  Grads run() {
    if (!active_.states.empty() || !active_.scan_outputs.empty()) {
      build_body();
      add_node();
    }
    add_zeros();
    return std::move(grads_);
  }

 private:
  /// Something that each iteration has its own of.
  struct Slice {
    Value* in_body;            // an input of the backward body that stands for it
    Value* all = nullptr;      // what it is a slice of; null for what the forward node must keep:
    Value* to_keep = nullptr;  // a value of the forward body
    int64_t axis = 0, direction = 1;
  };

  bool is_loop() const { return loop_.is_loop(); }

  Value* add_input(const Value& like, const std::string& prefix) {
    return graph_->add_input(b_.fresh(prefix + like.name()), like.type);
  }

  /// A gradient that is carried, at the beginning of an iteration.
  Value* add_carried(const Value& of) {
    return graph_->add_input(b_.fresh("d_" + of.name() + "_next"), gradient_type(of.type));
  }

  void give(Value* value) { graph_->add_output(computed_inside(inside_, value)); }

  /// Stands for the inputs of the forward body.
  ValueMap add_slices_of_inputs() {
    ValueMap map;
    for (size_t i = 0; i < loop_.body().inputs().size(); ++i) {
      Value* input = loop_.body().inputs()[i];
      Slice slice{.in_body = add_input(*input, "again_"), .to_keep = input};
      if (i >= loop_.scan_index(0)) {
        const size_t scan = i - loop_.scan_index(0);
        slice.all = loop_.node().input(i);
        slice.axis = loop_.input_axis(scan);
        slice.direction = 1 - loop_.input_direction(scan);
      }
      map[input] = slice.in_body;
      slices_.push_back(slice);
    }
    return map;
  }

  void build_body() {
    if (is_loop()) give(goes_on_);
    std::vector<Value*> d_states, d_captures, ys, dys, xs;
    for (const size_t i : active_.states) d_states.push_back(add_carried(*loop_.state_in(i)));
    for (const Value* capture : active_.captures) d_captures.push_back(add_carried(*capture));
    const Recomputed recomputed(loop_.body(), *graph_, add_slices_of_inputs());

    dys = d_states;
    for (const size_t i : active_.states) {
      ys.push_back(recomputed.of(loop_.state_out(i)));
      xs.push_back(recomputed.of(loop_.state_in(i)));
    }
    for (const size_t i : active_.scan_outputs) {
      ys.push_back(recomputed.of(loop_.scan_out(i)));
      dys.push_back(add_input(*loop_.scan_out(i), "d_"));
      slices_.push_back({.in_body = dys.back(),
                         .all = c_.grad(loop_.states() + i).value(),
                         .axis = loop_.output_axis(i),
                         .direction = 1 - loop_.output_direction(i)});
    }
    xs.insert(xs.end(), active_.captures.begin(), active_.captures.end());
    for (const size_t i : active_.scan_inputs) xs.push_back(recomputed.of(loop_.scan_in(i)));

    const auto found = c_.differentiator().differentiate(ys, dys, xs, inside_);
    auto next = found.begin();
    for (size_t i = 0; i < d_states.size(); ++i) give_state(*next++, d_states[i]);
    for (size_t i = 0; i < d_captures.size(); ++i) give_capture(i, *next++, d_captures[i]);
    for (const size_t i : active_.scan_inputs) {
      if (Value* gradient = *next++) {
        give(gradient);
        given_scan_inputs_.push_back(i);
      }
    }
    for (const auto& [drawn, copy] : recomputed.random_reads(b_)) {
      slices_.push_back({.in_body = add_input(*drawn, "again_"), .to_keep = drawn});
      graph_->replace_uses(copy, slices_.back().in_body);
    }
    drop_unread_nodes(*graph_);
  }

  void give_state(Value* gradient, Value* d_next) {
    give(gradient ? gradient : zero_gradient(inside_.expr(d_next)).value());
  }

  void give_capture(size_t i, Value* gradient, Value* d_so_far) {
    if (!gradient) {
      graph_->remove_input(d_so_far);
      return;
    }
    give(sum_of(inside_.expr(d_so_far), inside_.expr(gradient)).value());
    reached_captures_.push_back(active_.captures[i]);
  }

  /// What the backward loop begins with: the gradients of the forward loop's results.
  std::vector<Value*> initial() {
    std::vector<Value*> values;
    for (const size_t i : active_.states) {
      const Expr like = loop_.node().output(i) ? c_.output(i) : c_.input(loop_.state_index(i));
      values.push_back((c_.has_grad(i) ? c_.grad(i) : zero_gradient(like)).value());
    }
    for (Value* capture : reached_captures_) {
      values.push_back(zero_gradient(b_.expr(capture)).value());
    }
    return values;
  }

  /// Leaves out what the body does not read.
  void drop_unread_slices() {
    const auto is_read = [](const Slice& slice) { return !slice.in_body->uses().empty(); };
    // Something must say how many iterations a Scan has.
    const Value* lasting = std::ranges::any_of(slices_, is_read) || is_loop()
                               ? nullptr
                               : slices_[loop_.scan_index(0)].in_body;
    std::erase_if(slices_, [&](const Slice& slice) {
      if (is_read(slice) || slice.in_body == lasting) return false;
      graph_->remove_input(slice.in_body);
      return true;
    });
  }

  Value* all_of(const Slice& slice) {
    return slice.all ? slice.all : loop_.keep(slice.to_keep, b_);
  }

  void add_node() {
    drop_unread_slices();
    std::vector<Value*> begin = initial();
    std::vector<Type> types;
    for (const Value* value : begin) types.push_back(value->type);
    const auto results = is_loop() ? add_loop(std::move(begin), std::move(types))
                                   : add_scan(std::move(begin), std::move(types));
    auto next = results.begin();
    for (const size_t i : active_.states) set(loop_.state_index(i), *next++);
    for (Value* capture : reached_captures_) c_.add_captured(capture, *next++);
    for (const size_t i : given_scan_inputs_) set(loop_.scan_index(i), *next++);
  }

  std::vector<Expr> add_scan(std::vector<Value*> inputs, std::vector<Type> types) {
    Integers axes, directions, output_axes, output_directions;
    for (const Slice& slice : slices_) {
      inputs.push_back(all_of(slice));
      axes.push_back(slice.axis);
      directions.push_back(slice.direction);
    }
    for (const size_t i : given_scan_inputs_) {
      types.push_back(loop_.node().input(loop_.scan_index(i))->type);
      output_axes.push_back(loop_.input_axis(i));
      output_directions.push_back(1 - loop_.input_direction(i));
    }
    std::vector<NamedAttribute> attributes = {
        {"num_scan_inputs", static_cast<int64_t>(slices_.size())},
        {"scan_input_axes", axes},
        {"scan_input_directions", directions}};
    if (!output_axes.empty()) {
      attributes.push_back({"scan_output_axes", output_axes});
      attributes.push_back({"scan_output_directions", output_directions});
    }
    SubgraphNode node{.op = "Scan",
                      .inputs = std::move(inputs),
                      .attributes = std::move(attributes),
                      .graphs = {},
                      .outputs = std::move(types)};
    node.graphs.emplace_back("body", std::move(graph_));
    return add_subgraph_node(b_, std::move(node));
  }

  std::vector<Expr> add_loop(std::vector<Value*> begin, std::vector<Type> types) {
    const Expr numbers = b_.expr(loop_.keep(loop_.body().inputs()[0], b_));
    const Expr trips = b_.add("Size", {numbers.value()}, DType::i64);
    Builder first(*graph_, graph_->nodes().front().get(), b_.names(), "d_");
    const Expr index = first.expr(trips.value()) - first.scalar(1, DType::i64) - first.expr(trip_);
    for (const Slice& slice : slices_) {
      const Expr all = first.expr(all_of(slice));
      graph_->replace_uses(slice.in_body, gather(all, index, slice.axis).value());
      graph_->remove_input(slice.in_body);
    }
    std::vector<Value*> inputs = {trips.value(),
                                  cast(b_.scalar(1, DType::i64), DType::boolean).value()};
    inputs.insert(inputs.end(), begin.begin(), begin.end());
    SubgraphNode node{
        .op = "Loop", .inputs = std::move(inputs), .graphs = {}, .outputs = std::move(types)};
    node.graphs.emplace_back("body", std::move(graph_));
    return add_subgraph_node(b_, std::move(node));
  }

  void set(size_t input, Expr gradient) {
    grads_.resize(std::max(grads_.size(), input + 1));
    grads_[input] = gradient;
  }

  /// Inputs that no result with a gradient depends on.
  void add_zeros() {
    grads_.resize(loop_.node().inputs().size());
    for (size_t i = 0; i < grads_.size(); ++i) {
      const Value* input = loop_.node().input(i);
      const bool wanted = input && c_.differentiator().is_wanted(input);
      if (wanted && !grads_[i] && has_gradient(input->type)) grads_[i] = zero_gradient(c_.input(i));
    }
  }

  const Iterated& loop_;
  const VjpContext& c_;
  Builder& b_;
  Active active_;
  std::unique_ptr<Graph> graph_;
  Builder inside_;
  Value* trip_ = nullptr;  // of a Loop
  Value* goes_on_ = nullptr;
  std::vector<Slice> slices_;
  std::vector<Value*> reached_captures_;
  std::vector<size_t> given_scan_inputs_;
  Grads grads_;
};

}  // namespace

Grads iterated_vjp(const VjpContext& c) {
  const Iterated loop(c.forward());
  return BackwardLoop(loop, c).run();
}

}  // namespace onward
