#include "recipe/classifier.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/dependence.h"
#include "ir/rewrite.h"
#include "onward/error.h"
#include "ops/op_def.h"
#include "recipe/initializers.h"

namespace onward {
namespace {

std::string named(const Node& node) { return fmt::format("{} '{}'", node.op, node.label()); }

/// How far elements at neighbouring places of a dimension lie apart, where that is known.
std::optional<int64_t> stride(const Shape& shape, size_t axis) {
  return element_count(Shape(shape.begin() + static_cast<int64_t>(axis) + 1, shape.end()));
}

/// The dimension of `from` with the same elements at each of its places as dimension `axis` of
/// `to`, which has the elements in the same order.
std::optional<int64_t> same_dimension(const Shape& from, const Shape& to, size_t axis) {
  std::optional<int64_t> found;
  for (size_t i = 0; i < from.size(); ++i) {
    if (!from[i].value || from[i] != to[axis] || stride(from, i) != stride(to, axis) ||
        !stride(to, axis)) {
      continue;
    }
    if (i == axis) return static_cast<int64_t>(i);
    if (found) return std::nullopt;  // one class alone may be any dimension of 1
    found = static_cast<int64_t>(i);
  }
  return found;
}

/// What a reduction adds up, from the front; nothing where that is not known.
std::optional<std::vector<int64_t>> reduced_axes(const Node& node, int64_t rank) {
  std::vector<int64_t> axes;
  if (const auto* given = node.get<std::vector<int64_t>>("axes")) axes = *given;
  if (Value* input = node.input(1)) {
    const auto given = constant_integers(input);
    if (!given) return std::nullopt;
    axes = *given;
  }
  for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  if (axes.empty()) return std::nullopt;
  return axes;
}

class ClassifierSearch {
 public:
  ClassifierSearch(Value* output, int64_t class_axis) : output_(output), at_{output, class_axis} {}

  Classifier run() {
    for (;;) {
      if (!at_.value->type.is_tensor() || !at_.value->type.shape) {
        refuse(fmt::format("the shape of '{}' is not known", at_.value->name()));
      }
      found_.scores.insert(found_.scores.begin(), at_);
      Node* node = at_.value->producer();
      if (!node)
        refuse(fmt::format("no layer with weights is between it and '{}'", at_.value->name()));
      if (is_layer(*node)) {
        take(*node);
        return std::move(found_);
      }
      at_ = before(*node);
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& reason) const {
    throw Error(
        fmt::format("no classifier is found behind output '{}' {}: {}\n  replace the last "
                    "layer where the model comes from, or name another output with "
                    "--model-output or another dimension with --class-axis",
                    output_->name(), to_string(output_->type), reason));
  }

  static bool is_layer(const Node& node) {
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      if (node.input(i) && input_role(node, i) == InputRole::weight && is_fixed(node.input(i))) {
        return true;
      }
    }
    return false;
  }

  /// Whether all that a node takes but its first input are fixed settings.
  static bool has_settings_only(const Node& node) {
    for (size_t i = 1; i < node.inputs().size(); ++i) {
      const bool is_setting = input_role(node, i) == InputRole::setting;
      if (node.input(i) && !(is_setting && is_fixed(node.input(i)))) return false;
    }
    return true;
  }

  int64_t rank_at() const { return std::ssize(*at_.value->type.shape); }

  /// Where the classes are in what the node takes. What may stand between a layer and its bias is
  /// less than what may follow.
  ClassPlace before(Node& node) {
    Value* x = node.inputs().empty() ? nullptr : node.input(0);
    const bool has_shape = x && x->type.is_tensor() && x->type.shape;
    const auto place = has_shape ? moved(node) : std::nullopt;
    if (place) return *place;
    if (bias_) {
      refuse(fmt::format("{} adds a number for each class, but not to a layer's result",
                         named(*bias_->reader)));
    }
    if (has_traits(node, kElementwise)) return operand(node);
    if (!has_shape || node.output(0) != at_.value) refuse_node(node);
    const bool is_alone = has_settings_only(node) && node.subgraphs().empty();
    if (is_alone && has_traits(node, kImages)) {
      if (at_.axis == 1) return {x, 1};
      refuse(fmt::format("the classes would be dimension {} of {}, not its channels", at_.axis,
                         named(node)));
    }
    if (node.op.starts_with("Reduce") && node.domain.empty()) return reduced(node);
    // Softmax and the like: one value in, one of the same shape out. Symbols are only names.
    const bool keeps_shape = is_alone && node.domain.empty() && !has_traits(node, kRandom) &&
                             rank(x) == rank_at() && !conflict(x->type, at_.value->type) &&
                             x->type.shape->at(static_cast<size_t>(at_.axis)).value &&
                             node.outputs().size() == 1;
    if (keeps_shape && input_role(node, 0) == InputRole::data) return {x, at_.axis};
    refuse_node(node);
  }

  [[noreturn]] void refuse_node(const Node& node) const {
    refuse(fmt::format("it is computed by {}, and not by a layer with weights for each class",
                       named(node)));
  }

  /// Through what moves elements or converts them.
  std::optional<ClassPlace> moved(const Node& node) const {
    Value* x = node.input(0);
    const Shape &from = *x->type.shape, &to = *at_.value->type.shape;
    if (has_traits(node, kPermutes)) {
      const auto* order = node.get<std::vector<int64_t>>("perm");
      const int64_t last = rank_at() - 1;
      return ClassPlace{x, order ? order->at(static_cast<size_t>(at_.axis)) : last - at_.axis};
    }
    const bool only_converts =
        has_traits(node, kKeepsSameType | kMovesData) && input_role(node, 0) == InputRole::data;
    if (!only_converts || (!has_traits(node, kView) && !has_traits(node, kElementwise))) {
      return std::nullopt;
    }
    if (has_traits(node, kElementwise)) return ClassPlace{x, at_.axis};  // Cast, Identity
    const auto axis = same_dimension(from, to, static_cast<size_t>(at_.axis));
    if (!axis) {
      refuse(
          fmt::format("{} turns {} into {}, where the classes can't be told from other "
                      "dimensions",
                      named(node), to_string(x->type), to_string(at_.value->type)));
    }
    return ClassPlace{x, *axis};
  }

  /// Through elementwise functions: one operand is computed, the others are constants, which may
  /// have a number for each class only where that is a bias.
  ClassPlace operand(Node& node) {
    std::vector<size_t> computed;
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      if (!node.input(i)) continue;
      if (is_fixed(node.input(i))) {
        take_constant(node, i);
      } else if (!is_setting(*node.input(i))) {
        computed.push_back(i);
      }
    }
    if (computed.empty()) refuse_node(node);
    Value* x = node.input(computed[0]);
    for (const size_t each : computed) {
      Value* other = node.input(each);
      if (other == x || follows_from(x, other)) continue;
      if (!follows_from(other, x)) {
        refuse(fmt::format("{} joins '{}' and '{}', which are both computed", named(node),
                           x->name(), other->name()));
      }
      x = other;
    }
    if (!x->type.shape || std::ssize(*x->type.shape) != rank_at()) refuse_node(node);
    return {x, at_.axis};
  }

  /// Whether a value is the same for all classes, and depends on what is fed by its type or its
  /// sizes alone, as what CastLike makes of a limit.
  bool is_setting(const Value& value) const {
    if (!value.type.shape || element_count(*value.type.shape) != 1) return false;
    return std::ranges::none_of(gradient_reach(&value), [](const Value* each) {
      return each->is_input() && !each->initializer();
    });
  }

  /// Whether a value is computed from another one, sizes and constants alone, as the sum is by
  /// which a softmax that was written out divides.
  static bool follows_from(const Value* from, const Value* value) {
    std::vector<const Value*> open = {value};
    ValueSet seen = {value};
    bool reads = false;
    while (!open.empty()) {
      const Value* each = open.back();
      open.pop_back();
      if (each == from) {
        reads = true;
        continue;
      }
      if (each->initializer()) continue;
      if (!each->producer()) return false;
      const std::vector<Value*> reads_of = all_reads(*each->producer());
      for (size_t i = 0; i < reads_of.size(); ++i) {
        if (stops_gradient(*each->producer(), i)) continue;
        if (seen.insert(reads_of[i]).second) open.push_back(reads_of[i]);
      }
    }
    return reads;
  }

  void take_constant(Node& node, size_t input) {
    const Value* constant = node.input(input);
    if (!constant->type.shape) refuse_node(node);
    const Shape& shape = *constant->type.shape;
    const int64_t axis = at_.axis - (rank_at() - std::ssize(shape));
    if (axis < 0) return;  // the same for all classes
    const auto count = shape[static_cast<size_t>(axis)].value;
    const auto classes = (*at_.value->type.shape)[static_cast<size_t>(at_.axis)].value;
    if (count == 1 && classes != 1) return;
    if (node.op != "Add" || element_count(shape) != count) {
      refuse(
          fmt::format("{} has a constant '{}' {} with a number for each class, which is not a "
                      "bias",
                      named(node), constant->name(), to_string(constant->type)));
    }
    bias_ = ClassTensor{&node, input, axis};
  }

  ClassPlace reduced(const Node& node) const {
    Value* x = node.input(0);
    const int64_t rank = std::ssize(*x->type.shape);
    const auto axes = reduced_axes(node, rank);
    if (!axes || std::ranges::find(*axes, -1) != axes->end()) refuse_node(node);
    const bool keeps = node.int_or("keepdims", 1) != 0;
    int64_t left = 0;
    for (int64_t axis = 0; axis < rank; ++axis) {
      const bool is_reduced = std::ranges::find(*axes, axis) != axes->end();
      if (!is_reduced && (keeps ? axis : left) == at_.axis) return {x, axis};
      left += is_reduced ? 0 : 1;
    }
    refuse(fmt::format("{} adds up the classes", named(node)));
  }

  void take(Node& node) {
    const std::string_view op = node.domain.empty() ? std::string_view(node.op) : "";
    int64_t class_axis = 0, output_axis = rank_at() - 1;
    if (op == "Conv") {
      output_axis = 1;
      if (node.int_or("group", 1) != 1) {
        refuse(fmt::format("{} has groups, so that each class sees a part of the channels",
                           named(node)));
      }
    } else if (op == "Gemm") {
      class_axis = node.int_or("transB", 0) != 0 ? 0 : 1;
    } else if (op == "MatMul" && rank(node.input(1)) == 2) {
      class_axis = 1;
    } else {
      refuse(
          fmt::format("it is made by {}; only Gemm, MatMul with a matrix and Conv can be given "
                      "other classes",
                      named(node)));
    }
    constexpr size_t weight = 1;
    if (at_.axis != output_axis || !is_fixed(node.input(weight))) {
      refuse(fmt::format("dimension {} of '{}' {} is not the one for which {} has weights",
                         at_.axis, at_.value->name(), to_string(at_.value->type), named(node)));
    }
    found_.layer = &node;
    found_.features = node.input(0);
    found_.weight = {&node, weight, class_axis};
    const Type& type = node.input(weight)->type;
    const auto count =
        type.shape ? (*type.shape)[static_cast<size_t>(class_axis)].value : std::nullopt;
    if (!count || !is_float(type.dtype) || !element_count(*type.shape)) {
      refuse(fmt::format("the weight '{}' of {} is {}", node.input(weight)->name(), named(node),
                         to_string(type)));
    }
    found_.classes = *count;
    take_bias(node);
  }

  void take_bias(Node& node) {
    if (Value* own = node.input(2)) {
      const bool per_class = own->type.shape && !own->type.shape->empty() &&
                             (own->type.shape->back().value != 1 || found_.classes == 1);
      if (per_class && bias_) {
        refuse(fmt::format("{} adds a second number for each class behind the bias of {}",
                           named(*bias_->reader), named(node)));
      }
      if (per_class) {
        if (!is_fixed(own) || element_count(*own->type.shape) != found_.classes) {
          refuse(fmt::format("the bias '{}' of {} is {}, not a number for each class", own->name(),
                             named(node), to_string(own->type)));
        }
        bias_ = ClassTensor{&node, 2, std::ssize(*own->type.shape) - 1};
      }
    }
    found_.bias = bias_;
  }

  Value* output_;
  ClassPlace at_;
  Classifier found_;
  std::optional<ClassTensor> bias_;
};

}  // namespace

bool is_fixed(const Value* value) {
  const ValueSet all = dependencies(value);
  return std::ranges::all_of(all, [](const Value* each) {
    if (each->initializer()) return true;
    return !each->is_input() && each->producer() && !has_traits(*each->producer(), kRandom);
  });
}

Value* moved_tensor(Value* value) {
  while (value && !value->initializer()) {
    Node* node = value->producer();
    if (!node) return nullptr;
    if (is_constant_node(*node)) return value;
    if (!has_traits(*node, kMovesData) || node->inputs().empty()) return nullptr;
    if (input_role(*node, 0) != InputRole::data || (node->input(1) && !is_fixed(node->input(1)))) {
      return nullptr;
    }
    value = node->input(0);
  }
  return value;
}

Classifier find_classifier(Value* output, int64_t class_axis) {
  const auto dimensions = rank(output);
  if (!dimensions || class_axis < 1 || class_axis >= *dimensions) {
    throw Error(
        fmt::format("output '{}' {} has no dimension {} for classes: choose it with "
                    "--class-axis",
                    output->name(), to_string(output->type), class_axis));
  }
  return ClassifierSearch(output, class_axis).run();
}

}  // namespace onward
