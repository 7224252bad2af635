// The update of one parameter as Python, from the nodes of the step. x is the parameter, g its
// gradient, lr the rate now, t the count of steps before this one. Numbers are Python's own, as
// they are in the frameworks' optimizers: what the graph casts to the parameter's type takes it
// there by meeting the tensor.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "emit/calls.h"
#include "emit/optimizer.h"
#include "onward/error.h"

namespace onward::emit {
namespace {

/// How tightly an expression holds together.
enum class Binds : uint8_t { choice, sum, product, sign, power, atom };

struct Text {
  std::string text;
  Binds binds = Binds::atom;
  std::optional<double> number = {};  // where it is a literal
};

std::string within(const Text& part, Binds least) {
  return part.binds < least ? fmt::format("({})", part.text) : part.text;
}

Binds tighter(Binds binds) { return static_cast<Binds>(static_cast<uint8_t>(binds) + 1); }

/// A longer part of an expression gets a line of its own.
constexpr size_t kMaxPart = 60;

struct Infix {
  std::string_view op;
  std::string_view sign;
  Binds binds;
};

constexpr Infix kInfix[] = {
    {"Add", "+", Binds::sum},     {"Sub", "-", Binds::sum},       {"Mul", "*", Binds::product},
    {"Div", "/", Binds::product}, {"Equal", "==", Binds::choice}, {"Greater", ">", Binds::choice},
    {"Less", "<", Binds::choice},
};

class UpdateWriter {
 public:
  UpdateWriter(const Job& job, const Dialect& dialect)
      : job_(job), dialect_(dialect), known_(known(job)) {
    std::unordered_map<std::string, const Value*> values;
    const Graph& graph = *job.step_graph.graph;
    for (const Value* value : graph.initializers()) values.emplace(value->name(), value);
    for (const auto& node : graph.nodes()) {
      for (const auto& output : node->outputs()) {
        if (output) values.emplace(output->name(), output.get());
      }
    }
    // A number in the widest type is that of the others too, once it is rounded.
    const TrainedParameter& each = *std::ranges::max_element(
        job.trained, {}, [](const TrainedParameter& p) { return bytes_of(*p.parameter); });
    add_argument(values.at(each.parameter->name()), "x", true);
    add_argument(values.at(each.gradient), "g", true);
    for (const JobSlot& slot : each.slots) {
      add_argument(values.at(slot.state.name), identifier(slot.slot), true);
      slots_.push_back(identifier(slot.slot));
    }
    add_argument(values.at(job.learning_rate.name), "lr", false);
    if (job.step) add_argument(values.at(job.step->name), "t", false);
    names_.reserve("t");
    results_.push_back(bound_to(values.at(each.parameter->name())));
    for (const JobSlot& slot : each.slots) results_.push_back(bound_to(values.at(slot.state.name)));
    for (const Binding& binding : job.step_graph.training[0].update_bindings) {
      const auto state = arguments_.find(binding.target);
      if (state != arguments_.end()) new_names_.emplace(binding.source, "new_" + state->second);
    }
    for (const Value* result : results_) count_uses(result);
  }

  std::string text() {
    std::vector<std::string> results;
    for (const Value* result : results_) results.push_back(named(result));
    std::string arguments;
    for (const std::string& slot : slots_) arguments += slot + ", ";
    std::string source = fmt::format(
        "def update(x, g, {}lr, t):\n"
        "    \"\"\"One step for a parameter x with the gradient g, after t steps: its new "
        "value{}.\"\"\"\n",
        arguments, slots_.empty() ? "" : " and slots");
    for (const std::string& line : lines_) source += "    " + line + "\n";
    // A single value is a tuple too, so that all optimizers are used alike.
    return source + fmt::format("    return {}{}\n", fmt::join(results, ", "),
                                results.size() == 1 ? "," : "");
  }

 private:
  static Known known(const Job& job) {
    std::unordered_set<const Value*> state;
    for (const Binding& binding : job.step_graph.training[0].update_bindings) {
      state.insert(binding.target);
    }
    return {*job.step_graph.graph, state};
  }

  static int64_t bytes_of(const Value& value) {
    return packed_bytes(value.type.dtype, 1).value_or(0);
  }

  void add_argument(const Value* value, const std::string& name, bool is_tensor) {
    arguments_.emplace(value, name);
    names_.reserve(name);
    if (is_tensor) tensors_.insert(value);
  }

  const Value* bound_to(const Value* target) const {
    for (const Binding& binding : job_.step_graph.training[0].update_bindings) {
      if (binding.target == target) return binding.source;
    }
    throw Bug(fmt::format("no step changes '{}'", target->name()));
  }

  /// The value that a cast or a copy stands for.
  const Value* behind_casts(const Value* value) const {
    while (!arguments_.contains(value) && value->producer() && value->producer()->domain.empty() &&
           (value->producer()->op == "Cast" || value->producer()->op == "Identity")) {
      value = value->producer()->input(0);
    }
    return value;
  }

  /// Counts readers, and finds what is computed from tensors rather than from numbers alone.
  void count_uses(const Value* given) {
    const Value* value = behind_casts(given);
    ++uses_[value];
    if (uses_[value] > 1 || arguments_.contains(value) || known_.find(value)) return;
    if (!value->producer()) throw Error(fmt::format("the update reads '{}'", value->name()));
    for (const Value* input : value->producer()->inputs()) {
      count_uses(input);
      if (tensors_.contains(behind_casts(input))) tensors_.insert(value);
    }
  }

  Text number(const Value* value, bool meets_tensor) const {
    const Tensor& tensor = *known_.find(value);
    if (tensor.size() != 1) throw Error("the update has a constant tensor");
    if (!is_float(tensor.dtype())) return {fmt::format("{}", tensor.integer(0))};
    const double exact = tensor.number(0);
    const Binds binds = exact < 0 ? Binds::sign : Binds::atom;
    // By itself a float32 is the exact number, next to a tensor any that rounds to it.
    if (meets_tensor && tensor.dtype() == DType::f32) {
      return {python_float(static_cast<float>(exact), DType::f32), binds, exact};
    }
    return {python_float(exact), binds, exact};
  }

  /// A value that has its own line.
  std::string named(const Value* given) {
    const Value* value = behind_casts(given);
    if (const auto done = done_.find(value); done != done_.end()) return done->second;
    if (const auto own = arguments_.find(value); own != arguments_.end()) return own->second;
    return line_of(value, expression(*value->producer()).text);
  }

  std::string line_of(const Value* value, const std::string& text) {
    const auto wanted = new_names_.find(value);
    const std::string name = names_.fresh(wanted == new_names_.end() ? "part" : wanted->second);
    lines_.push_back(fmt::format("{} = {}", name, text));
    return done_.emplace(value, name).first->second;
  }

  Text part(const Value* given, bool meets_tensor) {
    const Value* value = behind_casts(given);
    if (arguments_.contains(value) || done_.contains(value)) return {named(value)};
    if (known_.find(value)) return number(value, meets_tensor);
    if (uses_.at(value) > 1 || new_names_.contains(value)) return {named(value)};
    Text text = expression(*value->producer());
    if (text.text.size() <= kMaxPart || !tensors_.contains(value)) return text;
    return {line_of(value, text.text)};
  }

  Text expression(const Node& node) {
    const bool meets_tensor = tensors_.contains(node.output(0));
    const auto operand = [&](size_t i) { return part(node.input(i), meets_tensor); };
    if (const auto* infix = std::ranges::find(kInfix, node.op, &Infix::op);
        infix != std::end(kInfix) && node.domain.empty()) {
      const Text a = operand(0), b = operand(1);
      if (auto plain = without_effect(node, a, b)) return *plain;
      return {fmt::format("{} {} {}", within(a, infix->binds), infix->sign,
                          within(b, tighter(infix->binds))),
              infix->binds};
    }
    if (node.op == "Neg") return {"-" + within(operand(0), Binds::sign), Binds::sign};
    if (node.op == "Sqrt") return power(operand(0), {"0.5"});
    if (node.op == "Pow") {
      const Text base = operand(0);
      return power(base, operand(1));
    }
    if (node.op == "Max" || node.op == "Min") {
      const std::string_view pattern = node.op == "Max" ? dialect_.larger : dialect_.smaller;
      if (pattern.empty() || node.inputs().size() != 2) throw_no_call(node);
      const Text a = operand(0), b = operand(1);
      return {fmt::format(fmt::runtime(pattern), a.text, b.text)};
    }
    if (node.op == "Where") {
      // Python's own choice is by one condition for all elements.
      if (dialect_.choice.empty() && tensors_.contains(behind_casts(node.input(0)))) {
        throw_no_call(node);
      }
      const Text condition = operand(0), yes = operand(1), no = operand(2);
      if (yes.number && yes.number == no.number) return yes;
      return choice(condition, yes, no);
    }
    return call(node);
  }

  /// What is left of an operation that attributes of 0 and 1 make idle.
  std::optional<Text> without_effect(const Node& node, const Text& a, const Text& b) const {
    if (node.op == "Mul" && a.number == 1) return b;
    if (node.op == "Mul" && b.number == 1) return a;
    if (node.op == "Div" && b.number == 1) return a;
    if (node.op == "Mul" && b.number == 0 && !tensors_.contains(node.output(0))) return b;
    if (node.op == "Add" && b.number == 0 && a.number) return a;
    return std::nullopt;
  }

  static Text power(const Text& base, const Text& exponent) {
    const bool simple = base.binds == Binds::atom && exponent.binds == Binds::atom;
    return {fmt::format("{}{}{}", within(base, Binds::atom), simple ? "**" : " ** ",
                        within(exponent, Binds::power)),
            Binds::power};
  }

  /// A choice by the step count, which is a number in torch and a tensor in Keras.
  Text choice(const Text& condition, const Text& yes, const Text& no) const {
    if (!dialect_.choice.empty()) {
      return {fmt::format(fmt::runtime(dialect_.choice), condition.text, yes.text, no.text)};
    }
    return {fmt::format("{} if {} else {}", within(yes, Binds::sum), condition.text,
                        within(no, Binds::sum)),
            Binds::choice};
  }

  /// Other operators as the table of calls has them.
  Text call(const Node& node) {
    const CallRow* row = find_call(dialect_, node);
    const std::string_view pattern = row ? row->cell.pattern : "";
    if (pattern.empty()) throw_no_call(node);
    return {filled_pattern(pattern, [&](std::string_view field) -> std::string {
      if (field == "np") return std::string(dialect_.np);
      const std::string_view index = field.substr(field.starts_with('~') ? 1 : 0);
      if (index.size() != 1 || index[0] < '0' || index[0] > '9') throw_no_call(node);
      return part(node.input(static_cast<size_t>(index[0] - '0')), true).text;
    })};
  }

  [[noreturn]] void throw_no_call(const Node& node) const {
    throw Error(fmt::format("the optimizer's {} can't be written for {}", node.op, dialect_.name));
  }

  const Job& job_;
  const Dialect& dialect_;
  Known known_;
  std::unordered_map<const Value*, std::string> arguments_, new_names_, done_;
  std::unordered_set<const Value*> tensors_;  // of the parameter's shape; all others are numbers
  std::unordered_map<const Value*, int> uses_;
  std::vector<const Value*> results_;
  std::vector<std::string> slots_, lines_;
  PythonNames names_;
};

}  // namespace

std::string update_function(const Job& job, const Dialect& dialect) {
  return UpdateWriter(job, dialect).text();
}

}  // namespace onward::emit
