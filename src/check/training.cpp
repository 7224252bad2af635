#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "check/check.h"
#include "ir/dependence.h"

namespace onward {
namespace {

constexpr int64_t kFirstVersionWithTraining = 7;

bool is_training_operator(const Node& node, std::string_view op) {
  return node.domain == kTrainingDomain && node.op == op;
}

class TrainingChecker {
 public:
  TrainingChecker(const Model& model, Problems& problems) : model_(model), problems_(problems) {}

  void check() {
    if (model_.training.empty()) return;
    if (model_.ir_version < kFirstVersionWithTraining) {
      problems_.add({.rule = "ir-version",
                     .message = fmt::format("training infos need IR version {}, the model has {}",
                                            kFirstVersionWithTraining, model_.ir_version)});
    }
    for (size_t i = 0; i < model_.training.size(); ++i) {
      const TrainingInfo& info = model_.training[i];
      const std::string where = fmt::format("training info {}", i);
      check_initialization(info, where);
      check_bindings(info.initialization_bindings, where + ", initialization_binding");
      check_bindings(info.update_bindings, where + ", update_binding");
      if (info.algorithm) check_algorithm(info, to_string(GraphRole{GraphRole::algorithm, i}));
    }
  }

 private:
  void check_initialization(const TrainingInfo& info, const std::string& where) {
    if (!info.initialization || info.initialization->inputs().empty()) return;
    for (const Value* input : info.initialization->inputs()) {
      problems_.add({.rule = "initialization-inputs",
                     .where = where + ", initialization",
                     .tensor = input->name(),
                     .message = "an initialization graph must not have inputs"});
    }
  }

  void check_bindings(const std::vector<Binding>& bindings, const std::string& where) {
    for (const Binding& binding : bindings) {
      const Type& target = binding.target->type;
      const Type& source = binding.source->type;
      if (const auto reason = conflict(target, source)) {
        problems_.add(
            {.rule = "binding-type",
             .where = where,
             .tensor = binding.target->name(),
             .message = fmt::format("it is {}, but the bound '{}' is {}: {}", to_string(target),
                                    binding.source->name(), to_string(source), *reason)});
      }
    }
  }

  void check_algorithm(const TrainingInfo& info, const std::string& where) {
    for_each_node(*info.algorithm, [&](const Node& node) {
      if (is_training_operator(node, "Gradient")) check_gradient(node, where);
      check_step_counter(node, info, where);
    });
  }

  void check_gradient(const Node& node, const std::string& where) {
    const auto report = [&](std::string rule, const std::string& tensor, std::string message) {
      problems_.add({.rule = std::move(rule),
                     .where = where,
                     .node = node.label(),
                     .op = node.op,
                     .tensor = tensor,
                     .message = std::move(message)});
    };
    const auto* xs = node.get<References>("xs");
    const auto* zs = node.get<References>("zs");
    const auto* y = node.get<References>("y");
    if (!xs || !y) return;  // the schema's check has said so
    std::vector<const Value*> named(xs->values.begin(), xs->values.end());
    if (zs) named.insert(named.end(), zs->values.begin(), zs->values.end());
    if (node.inputs().size() != named.size()) {
      report("gradient-inputs", "",
             fmt::format("it has {} inputs, but names {} values in xs and zs", node.inputs().size(),
                         named.size()));
    }
    check_stand_ins(node, named, report);
    check_independence(named, report);
    if (node.outputs().size() > xs->values.size()) {
      report("gradient-outputs", "",
             fmt::format("it has {} outputs for {} values in xs", node.outputs().size(),
                         xs->values.size()));
    }
    const Value* loss = y->values.at(0);
    check_gradient_type(*loss, "y", report);
    const ValueSet all = dependencies(loss);
    const ValueSet reach = gradient_reach(loss);
    for (const Value* x : xs->values) {
      if (x->is_missing() || loss->is_missing()) continue;  // reported when it was read
      check_gradient_type(*x, "xs", report);
      if (!all.contains(x)) {
        report("gradient-dependency", x->name(),
               fmt::format("'{}' does not depend on it, so it has no gradient", loss->name()));
      } else if (!reach.contains(x)) {
        report("gradient-path", x->name(),
               fmt::format("'{}' depends on it only through operators without a gradient: {}",
                           loss->name(), stops_between(loss, x)));
      }
    }
  }

  /// An input is the value that y is a function of, in place of the one that is named.
  template <typename Report>
  static void check_stand_ins(const Node& node, const std::vector<const Value*>& named,
                              Report report) {
    for (size_t i = 0; i < named.size() && i < node.inputs().size(); ++i) {
      const Value* input = node.input(i);
      if (!input || input == named[i]) continue;
      const auto reason = conflict(named[i]->type, input->type);
      if (!reason) continue;
      report("gradient-inputs", input->name(),
             fmt::format("it stands for '{}', which is {}, but is {}: {}", named[i]->name(),
                         to_string(named[i]->type), to_string(input->type), *reason));
    }
  }

  /// y is a function of xs and zs: none of them can follow from the others.
  template <typename Report>
  static void check_independence(const std::vector<const Value*>& named, Report report) {
    for (const Value* value : named) {
      if (!value->producer()) continue;
      const ValueSet sources = dependencies(value);
      for (const Value* other : named) {
        if (other == value || !sources.contains(other)) continue;
        report("gradient-independence", value->name(),
               fmt::format("xs and zs must be independent, but it is computed from '{}'",
                           other->name()));
        break;
      }
    }
  }

  template <typename Report>
  static void check_gradient_type(const Value& value, std::string_view role, Report report) {
    if (value.type.known() && !(value.type.is_tensor() && is_float(value.type.dtype))) {
      report("gradient-type", value.name(),
             fmt::format("{} is {}, but only floating-point tensors have gradients", role,
                         to_string(value.type)));
    }
  }

  static std::string stops_between(const Value* loss, const Value* x) {
    std::set<std::string> names;
    for (const Node* node : gradient_stops(loss, x)) {
      names.insert(fmt::format("{} (node '{}')", node->op, node->label()));
    }
    return fmt::format("{}", fmt::join(names, ", "));
  }

  /// Whether what the optimizer does depends on its step count T at all.
  static bool uses_step_count(const Node& node) {
    if (is_training_operator(node, "Adam")) return true;
    if (is_training_operator(node, "Momentum")) return node.float_or("beta", 1.0F) != 1.0F;
    if (is_training_operator(node, "Adagrad")) return node.float_or("decay_factor", 0.0F) != 0.0F;
    return false;
  }

  /// T is an input of the optimizers: nobody but the algorithm itself can count the steps.
  void check_step_counter(const Node& node, const TrainingInfo& info, const std::string& where) {
    if (!uses_step_count(node)) return;
    const Value* count = node.input(1);
    if (!count || count->is_missing()) return;
    const ValueSet sources = dependencies(count);
    const bool advances = std::any_of(sources.begin(), sources.end(), [&](const Value* value) {
      if (value->is_input() && !value->initializer()) return true;  // the user feeds it
      return std::any_of(info.update_bindings.begin(), info.update_bindings.end(),
                         [&](const Binding& binding) {
                           return binding.target == value && binding.source != value &&
                                  dependencies(binding.source).contains(value);
                         });
    });
    if (advances) return;
    problems_.add({.severity = Severity::warning,
                   .rule = "step-counter",
                   .where = where,
                   .node = node.label(),
                   .op = node.op,
                   .tensor = count->name(),
                   .message = "the step counter never changes: add one to it and bind the result"});
  }

  const Model& model_;
  Problems& problems_;
};

}  // namespace

void check_training(const Model& model, Problems& problems) {
  TrainingChecker(model, problems).check();
}

}  // namespace onward
