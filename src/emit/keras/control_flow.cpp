// If, Loop and Scan as functions inside of the model's own, which Keras traces: cond, while_loop,
// fori_loop and scan. Where only numbers of the source decide, Python's own branches and loops.

#include "emit/control_flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "emit/keras/calls.h"
#include "emit/module.h"
#include "ir/rewrite.h"
#include "onward/error.h"

namespace onward::emit::keras {
namespace {

constexpr LoopWords kLoopWords = {
    .truth = "ops.convert_to_tensor(True)", .stack = "ops.stack({})", .axis = ", axis={}"};

/// Backends take their tensors for what loops and branches give, and no variables of Keras's.
std::string as_tensor(const std::string& text) {
  return Lines::is_mark(text) ? text : fmt::format("ops.copy({})", text);
}

/// A single element, without the dimension that models may give it.
std::string as_single(const Value* value, const std::string& text) {
  return rank(value) == 0 ? text : fmt::format("ops.reshape({}, ())", text);
}

/// A condition that is the same at every run, as the source says it; nothing for others.
std::optional<std::string> literal_condition(const Value* value, const Body& body) {
  const Tensor* tensor = value ? body.context().known->find(value) : nullptr;
  if (!tensor || tensor->size() != 1) return std::nullopt;
  return fmt::format("ops.convert_to_tensor({})", python_bool(tensor->integer(0) != 0));
}

/// "(a, b)", or what is alone.
std::string tuple_of(const std::vector<std::string>& texts) {
  return texts.size() == 1 ? texts[0] : fmt::format("({})", fmt::join(texts, ", "));
}

/// A function for one of a node's graphs, inside of the model's function.
class Step {
 public:
  Step(Body& body, std::string name) : body_(body), name_(body.variable({std::move(name), true})) {}

  /// An argument for a value of the graph, or for none.
  void add(const Value* value) {
    values_.push_back(value);
    names_.push_back(value ? body_.variable({plain_name(value), true}) : "_");
  }
  void open() { open_as(fmt::format("{}", fmt::join(names_, ", "))); }
  /// Its arguments are what counts, and all that was added, as one where there are several.
  void open_counted(const std::string& counter) {
    const bool is_single = names_.size() == 1;
    const std::string all = is_single ? names_[0] : body_.variable({"states", true});
    open_as(fmt::format("{}, {}", counter, all));
    if (!is_single) body_.add_line(fmt::format("{} = {}", fmt::join(names_, ", "), all));
  }
  std::vector<std::string> write(const Graph& graph, const std::vector<const Value*>& results) {
    std::vector<std::string> texts = write_graph(graph, results, body_);
    for (std::string& text : texts) text = as_tensor(text);
    return texts;
  }
  void close(const std::vector<std::string>& results) {
    body_.add_statement(fmt::format("return {}", fmt::join(results, ", ")));
    body_.close_block();
  }
  const std::string& name() const { return name_; }

 private:
  void open_as(const std::string& arguments) {
    body_.open_block(fmt::format("def {}({}):", name_, arguments));
    for (size_t i = 0; i < values_.size(); ++i) {
      if (values_[i]) body_.alias(values_[i], Form::plain, names_[i]);
    }
  }

  Body& body_;
  std::string name_;
  std::vector<const Value*> values_;
  std::vector<std::string> names_;
};

/// Names for the first results of a node; "_" for those that it does not have.
std::vector<std::string> declared(const Node& node, size_t count, Body& body) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    const Value* output = node.output(i);
    names.push_back(output ? body.declare(output, Form::plain) : "_");
  }
  return names;
}

/// Of a function that gives a tuple: one name gets what is alone in it.
void add_call(const std::vector<std::string>& names, const std::string& call, Body& body) {
  body.add_line(
      fmt::format("{} = {}{}", fmt::join(names, ", "), call, names.size() == 1 ? "[0]" : ""));
}

/// ", empty=[...]": the results of no step, which are stacked along these axes; None for those that
/// the model says too little of.
std::string empty_results(const Call& c, size_t first, const std::vector<int64_t>& axes) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Value* output = c.node().output(first + i);
    auto dims = output ? slice_dims(*output, axes[i]) : std::nullopt;
    if (dims) dims->insert(dims->begin(), 0);
    texts.push_back(dims ? fmt::format("ops.zeros({}, dtype={})", python_tuple(*dims),
                                       c.dtype_name(output->type.dtype))
                         : "None");
  }
  return fmt::format(", empty=[{}]", fmt::join(texts, ", "));
}

/// Writes a Loop.
class LoopWriter {
 public:
  LoopWriter(const Node& node, const LoopFacts& facts, Body& body)
      : node_(node), facts_(facts), body_(body), c_(node, body, Form::plain) {
    if (facts.carries_truth) {
      states_.push_back({facts.given, facts.next});
      const Value* first = c_.value(1);
      const auto literal = literal_condition(first, body);
      firsts_.push_back(literal ? *literal
                        : first ? as_single(first, c_.in(1))
                                : std::string(kLoopWords.truth));
    }
    for (size_t i = 0; i < facts.states.size(); ++i) {
      states_.push_back(facts.states[i]);
      firsts_.push_back(as_tensor(c_.in(2 + i)));
    }
    find_trips();
  }

  void write() {
    if (!facts_.gathered.empty()) return write_stacking();
    if (facts_.may_end) return write_while();
    if (!states_.empty()) write_counted();
  }

 private:
  /// How many trips there are at most.
  void find_trips() {
    has_trips_ = true;
    if (!c_.has(0)) {
      has_trips_ = false;
    } else if (const auto known = c_.known(0)) {
      has_trips_ = known->size() == 1 && known->front() != std::numeric_limits<int64_t>::max();
      has_any_ = has_trips_ && known->front() > 0;
      trips_ = c_.scalar(0);
    } else if (const std::string* number = body_.number(c_.value(0))) {
      trips_ = *number;
    } else if (const auto sizes = c_.size_texts(0)) {
      trips_ = sizes->at(0);
    } else {
      trips_ = as_single(c_.value(0), c_.in(0));
      is_tensor_ = true;
    }
    if (!has_trips_ && !facts_.may_end) throw Error("nothing ends it");
    if (facts_.may_end || is_tensor_) body_.context().has_open_loops = true;
  }

  std::string at_most() const {
    return has_trips_ ? fmt::format(", maximum_iterations={}", trips_) : "";
  }

  void add_states(Step& step) const {
    for (const Carried& each : states_) step.add(each.input);
  }

  /// The next states, then what is gathered.
  std::vector<std::string> write_graph(Step& step) const {
    const auto literal =
        facts_.carries_truth ? literal_condition(facts_.next, body_) : std::nullopt;
    std::vector<const Value*> results;
    for (const Carried& each : states_) results.push_back(each.result);
    if (literal) results.erase(results.begin());
    results.insert(results.end(), facts_.gathered.begin(), facts_.gathered.end());
    auto texts = step.write(*facts_.graph, results);
    if (literal) {
      texts.insert(texts.begin(), *literal);
    } else if (facts_.carries_truth) {
      texts[0] = as_single(facts_.next, texts[0]);
    }
    return texts;
  }

  std::vector<std::string> made() const {
    auto names = declared(node_, facts_.states.size() + facts_.gathered.size(), body_);
    if (facts_.carries_truth) names.insert(names.begin(), "_");
    return names;
  }

  /// As many iterations as are known before the first.
  void write_counted() {
    Step step(body_, "step");
    const std::string counter = facts_.counts ? body_.variable({"i", true}) : "_";
    add_states(step);
    step.open_counted(counter);
    if (facts_.counts) {
      const std::string number = body_.declare(facts_.number, Form::plain);
      body_.add_line(fmt::format("{} = ops.cast({}, \"int64\")", number, counter));
    }
    step.close(write_graph(step));
    const std::string first = is_tensor_ ? fmt::format("ops.zeros_like({})", trips_) : "0";
    body_.add_line(fmt::format("{} = ops.fori_loop({}, {}, {}, {})", fmt::join(made(), ", "), first,
                               trips_, step.name(), tuple_of(firsts_)));
  }

  /// As long as a condition holds, which is the first state.
  void write_while() {
    Step step(body_, "step");
    add_states(step);
    if (facts_.counts) step.add(facts_.number);
    step.open();
    auto results = write_graph(step), firsts = firsts_;
    if (facts_.counts) results.push_back(fmt::format("{} + 1", body_.tensor(facts_.number)));
    step.close(results);
    auto names = made();
    if (facts_.counts) {
      firsts.emplace_back("ops.zeros((), \"int64\")");
      names.emplace_back("_");
    }
    body_.add_line(fmt::format("{} = ops.while_loop(lambda going, *_: going, {}, {}{})",
                               fmt::join(names, ", "), step.name(), tuple_of(firsts), at_most()));
  }

  /// With results of all iterations.
  void write_stacking() {
    Step step(body_, "step");
    add_states(step);
    step.add(facts_.counts ? facts_.number : nullptr);
    step.open();
    step.close(write_graph(step));
    std::string arguments = fmt::format("{}, [{}]", step.name(), fmt::join(firsts_, ", "));
    if (facts_.may_end) {
      arguments += at_most();
    } else {
      arguments += fmt::format(", [ops.arange({}, dtype=\"int64\")]", trips_);
    }
    if (facts_.may_end || !has_any_) {
      const std::vector<int64_t> axes(facts_.gathered.size(), 0);
      arguments += empty_results(c_, facts_.states.size(), axes);
    }
    const std::string function = c_.function(facts_.may_end ? "scanned_while" : "scanned");
    add_call(made(), fmt::format("{}({})", function, arguments), body_);
  }

  const Node& node_;
  const LoopFacts& facts_;
  Body& body_;
  Call c_;
  std::vector<Carried> states_;
  std::vector<std::string> firsts_;
  std::string trips_;
  bool has_trips_ = false, has_any_ = false;
  bool is_tensor_ = false;  // rather than a number, or sizes, which are numbers on most backends
};

bool carries_containers(const LoopFacts& facts) {
  return std::ranges::any_of(facts.gathered, is_container) ||
         std::ranges::any_of(facts.states, [](const Carried& each) {
           return is_container(each.input) || is_container(each.result);
         });
}

}  // namespace

void if_(const Node& node, Body& body) {
  if (write_known_branch(node, body)) return;
  const Value* condition = node.input(0);
  if (const std::string* number = body.number(condition)) return python_if(node, body, *number);
  const size_t count = node.outputs().size();
  std::vector<std::string> functions;
  for (const std::string_view attribute : {"then_branch", "else_branch"}) {
    const Graph& branch = graph_of(node, attribute);
    const auto results = outputs_of(branch, 0, count);
    if (std::ranges::any_of(results, is_container)) {
      throw Error(
          fmt::format("which sequence it gives is only known when it runs; make its "
                      "condition '{}' a constant",
                      condition->name()));
    }
    Step step(body, functions.empty() ? "then" : "otherwise");
    step.open();
    step.close(step.write(branch, results));
    functions.push_back(step.name());
  }
  const std::string text = as_single(condition, body.tensor(condition));
  body.add_line(fmt::format("{} = ops.cond({}, {})", fmt::join(declared(node, count, body), ", "),
                            text, fmt::join(functions, ", ")));
}

void loop(const Node& node, Body& body) {
  const Call c(node, body, Form::plain);
  const LoopFacts facts = loop_facts(node, *body.context().known);
  const bool is_known = !facts.may_end && c.has(0) && (c.known(0) || body.number(c.value(0)));
  const bool carries = carries_containers(facts);
  if (is_known && (carries || has_containers(*facts.graph))) {
    return python_loop(node, facts, body, fmt::format("range({})", c.scalar(0)), kLoopWords);
  }
  if (carries) {
    throw Error("it carries a sequence through iterations whose number is only known when it runs");
  }
  LoopWriter(node, facts, body).write();
}

void scan(const Node& node, Body& body) {
  const Call c(node, body, Form::plain);
  const ScanFacts facts = scan_facts(node);
  const size_t states = facts.states.size();
  std::vector<std::string> firsts, rows;
  std::vector<const Value*> results;
  std::vector<int64_t> axes;
  Step step(body, "step");
  for (size_t i = 0; i < states; ++i) {
    firsts.push_back(as_tensor(c.in(i)));
    step.add(facts.states[i].input);
    results.push_back(facts.states[i].result);
  }
  for (size_t i = 0; i < facts.inputs.size(); ++i) {
    const auto& [value, axis, is_backwards] = facts.inputs[i];
    std::string row = as_tensor(c.in(states + i));
    if (is_backwards) row = fmt::format("ops.flip({}, {})", row, axis);
    if (axis != 0) row = fmt::format("ops.moveaxis({}, {}, 0)", row, axis);
    rows.push_back(row);
    step.add(value);
  }
  for (const auto& output : facts.outputs) {
    results.push_back(output.value);
    axes.push_back(output.axis);
  }
  step.open();
  step.close(step.write(*facts.graph, results));
  auto names = declared(node, states, body);
  std::vector<std::string> turned;
  for (size_t i = 0; i < facts.outputs.size(); ++i) {
    const auto& [value, axis, is_backwards] = facts.outputs[i];
    const Value* output = node.output(states + i);
    const bool is_as_it_is = output && axis == 0 && !is_backwards;
    names.push_back(!output       ? "_"
                    : is_as_it_is ? body.declare(output, Form::plain)
                                  : body.variable({plain_name(output), true}));
    turned.push_back(is_as_it_is ? "" : names.back());
  }
  const std::string empty = facts.has_any ? "" : empty_results(c, states, axes);
  add_call(names,
           fmt::format("{}({}, [{}], [{}]{})", c.function("scanned"), step.name(),
                       fmt::join(firsts, ", "), fmt::join(rows, ", "), empty),
           body);
  for (size_t i = 0; i < turned.size(); ++i) {
    const Value* output = node.output(states + i);
    if (!output || turned[i].empty()) continue;
    const auto& [value, axis, is_backwards] = facts.outputs[i];
    std::string text = turned[i];
    if (is_backwards) text = fmt::format("ops.flip({}, 0)", text);
    if (axis != 0) text = fmt::format("ops.moveaxis({}, 0, {})", text, axis);
    body.add_line(fmt::format("{} = {}", body.declare(output, Form::plain), text));
  }
}

void sequence_map(const Node& node, Body& body) { python_sequence_map(node, body, kLoopWords); }

}  // namespace onward::emit::keras
