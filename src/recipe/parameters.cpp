#include "recipe/parameters.h"

#include <fmt/format.h>

#include <algorithm>

#include "onward/error.h"
#include "recipe/initializers.h"
#include "recipe/parameter_roles.h"
#include "recipe/prepare_notes.h"

namespace onward {
namespace {

/// What could be trained: the graph's initializers, and the results of its Constant nodes.
std::vector<Value*> candidates(const Graph& graph) {
  std::vector<Value*> all(graph.initializers().begin(), graph.initializers().end());
  for (const auto& node : graph.nodes()) {
    if (is_constant_node(*node)) all.push_back(node->output(0));
  }
  return all;
}

Type type_of(const Value& value) {
  if (value.initializer()) return value.initializer()->type();
  return value.producer()->get<Tensor>("value")->type();
}

bool has_wildcard(std::string_view pattern) {
  return pattern.find_first_of("*?") != std::string_view::npos;
}

/// The first pattern that fits, or null.
const std::string* first_match(const std::vector<std::string>& patterns, const std::string& name) {
  const auto found = std::find_if(patterns.begin(), patterns.end(),
                                  [&](const std::string& each) { return matches(each, name); });
  return found == patterns.end() ? nullptr : &*found;
}

std::string some_names(const std::vector<Value*>& values) {
  constexpr size_t kMost = 12;
  std::vector<std::string> names;
  for (const Value* value : values) {
    if (is_float(type_of(*value).dtype)) names.push_back(fmt::format("'{}'", value->name()));
  }
  if (names.empty()) return "the model has no floating-point tensors";
  const size_t rest = names.size() > kMost ? names.size() - kMost : 0;
  names.resize(names.size() - rest);
  return fmt::format("there are {}{}", fmt::join(names, ", "),
                     rest ? fmt::format(" and {} more", rest) : "");
}

class Chooser {
 public:
  Chooser(const Model& model, std::span<Value* const> targets, const Recipe& recipe,
          const ValueSet& head)
      : recipe_(recipe), head_(head), all_(candidates(*model.graph)) {
    for (const Value* target : targets) {
      reached_.merge(gradient_reach(target));
      read_.merge(dependencies(target));
    }
  }

  ParameterChoice choose() {
    for (const auto* patterns : {&recipe_.train, &recipe_.freeze}) refuse_idle(*patterns);
    ParameterChoice choice;
    for (Value* value : all_) {
      const auto decision = decide(*value);
      if (!decision) continue;
      if (decision->trained) choice.trained.push_back(value);
      choice.decisions.push_back(*decision);
    }
    if (choice.trained.empty()) {
      throw Error(fmt::format("nothing would be trained: choose tensors with --train; {}",
                              some_names(all_)));
    }
    return choice;
  }

 private:
  void refuse_idle(const std::vector<std::string>& patterns) const {
    for (const std::string& pattern : patterns) {
      const bool fits = std::any_of(all_.begin(), all_.end(), [&](const Value* value) {
        return matches(pattern, value->name());
      });
      if (!fits) {
        throw Error(
            fmt::format("the pattern '{}' matches no tensor: {}", pattern, some_names(all_)));
      }
    }
  }

  /// Nothing for what nobody asks about: constants that are no floats, numbers in Constant nodes.
  std::optional<Decision> decide(const Value& value) const {
    Decision decision{value.name(), type_of(value), false, {}};
    const std::string* train = first_match(recipe_.train, value.name());
    const std::string* freeze = first_match(recipe_.freeze, value.name());
    const bool named = train && !has_wildcard(*train);
    const RoleOfTensor role = role_of(value);
    if (!is_float(decision.type.dtype)) {
      if (!named) return std::nullopt;
      throw Error(
          fmt::format("'{}' can't be trained: it is {}", value.name(), to_string(decision.type)));
    }
    if (!value.initializer() && !train && !freeze && role.role != TensorRole::parameter) {
      return std::nullopt;
    }
    if (role.role == TensorRole::statistic) {
      if (named) {
        throw Error(fmt::format("'{}' can't be trained: it is the {}", value.name(), role.reason));
      }
      decision.reason = role.reason + ", a statistic";
      return decision;
    }
    const std::string kind = torch_kind(value);
    if (train) {
      decision.trained = true;
      decision.reason = fmt::format("--train {}, {}", *train, role.reason);
    } else if (freeze) {
      decision.reason = fmt::format("--freeze {}, {}", *freeze, role.reason);
    } else if (std::string meaning = bins(value, role); !meaning.empty()) {
      decision.reason = fmt::format("{}; but {}", role.reason, meaning);
    } else if (recipe_.freeze_backbone && !head_.contains(&value)) {
      decision.reason = fmt::format("--freeze-backbone, {}", role.reason);
    } else if (!kind.empty()) {
      decision.trained = kind == "PARAMETER";
      decision.reason = fmt::format("{} in PyTorch's export, {}", kind, role.reason);
    } else {
      decision.trained = role.role == TensorRole::parameter;
      decision.reason = role.reason;
    }
    if (decision.trained && !reached_.contains(&value)) {
      const std::string why = read_.contains(&value) ? "no gradient of the loss reaches it"
                                                     : "the loss does not depend on it";
      if (named) throw Error(fmt::format("'{}' can't be trained: {}", value.name(), why));
      decision.trained = false;
      decision.reason += "; but " + why;
    }
    return decision;
  }

  static std::string bins(const Value& value, const RoleOfTensor& role) {
    const bool is_weight = role.role == TensorRole::parameter && !role.is_bias_or_scale;
    return is_weight ? fixed_meaning(value) : "";
  }

  const Recipe& recipe_;
  const ValueSet& head_;
  std::vector<Value*> all_;
  ValueSet reached_, read_;
};

}  // namespace

bool matches(std::string_view pattern, std::string_view name) {
  // Where a * was met last, and how much of the name it has taken: on a mismatch it takes more.
  size_t p = 0, n = 0, star = std::string_view::npos, taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n]) && pattern[p] != '*') {
      ++p;
      ++n;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

ParameterChoice choose_parameters(const Model& model, std::span<Value* const> targets,
                                  const Recipe& recipe, const ValueSet& head) {
  return Chooser(model, targets, recipe, head).choose();
}

}  // namespace onward
