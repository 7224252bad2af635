#include "recipe/new_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "data/convert.h"
#include "eval/random_numbers.h"
#include "infer/infer.h"
#include "ir/dependence.h"
#include "ir/rewrite.h"
#include "onward/error.h"
#include "recipe/initializers.h"

namespace onward {
namespace {

constexpr int64_t kMostClasses = 1 << 24;

/// How a framework starts a layer.
struct Start {
  std::string_view framework;
  std::string reason;
  bool is_keras = false;
};

Start start_of(const Model& model) {
  const std::string& producer = model.producer_name;
  const bool is_keras = producer.starts_with("tf2onnx") || producer.starts_with("keras");
  if (is_keras || producer.starts_with("pytorch")) {
    return {is_keras ? "Keras" : "PyTorch", fmt::format("the model was written by {}", producer),
            is_keras};
  }
  return {"PyTorch", "the model does not say that Keras is where it comes from"};
}

std::vector<int64_t> dims_of(const Type& type) {
  std::vector<int64_t> dims;
  for (const Dim& dim : *type.shape) dims.push_back(dim.value.value());
  return dims;
}

/// Numbers from -bound to bound, the same for the same name and seed.
Tensor uniform(const std::vector<int64_t>& dims, double bound, const std::string& name,
               uint64_t seed) {
  const eval::RandomNumbers random({.seed = seed}, name);
  std::vector<double> numbers(static_cast<size_t>(checked_element_count(dims)));
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = (2 * random.uniform(i) - 1) * bound;
  }
  return Tensor::of<double>(dims, numbers);
}

/// Whether a value's only reader is that one.
bool is_read_once(const Value& value) {
  const auto outputs = value.graph().outputs();
  return value.uses().size() == 1 && std::ranges::find(outputs, &value) == outputs.end();
}

/// The classifier of a model while it is changed.
class Change {
 public:
  Change(Model& model, const Classifier& classifier, const NewClasses& wanted)
      : model_(model), graph_(*model.graph), classifier_(classifier), wanted_(wanted) {}

  NewHead run() {
    if (wanted_.count < 1 || wanted_.count > kMostClasses) {
      throw Error(fmt::format("the number of classes must be from 1 to {}, not {}", kMostClasses,
                              wanted_.count));
    }
    after_ = with_results(graph_, {classifier_.scores.front().value});
    require_no_class_constants();
    const Start start = start_of(model_);
    const Type old = classifier_.weight.value()->type;
    const double fan_out = static_cast<double>(wanted_.count) * receptive_field(old);
    const double fan_in = fan_in_of(old);
    const double weights = std::sqrt((start.is_keras ? 6 / (fan_in + fan_out) : 1 / fan_in));
    replace(classifier_.weight, weights, "weight");
    if (classifier_.bias) {
      replace(*classifier_.bias, start.is_keras ? 0 : 1 / std::sqrt(fan_in), "bias");
    }
    change_reshapes();
    infer_anew();
    tell(start, weights);
    model_.source.reset();  // other sizes of tensors are not patched into the old file
    return std::move(result_);
  }

 private:
  /// Elements of a filter for one channel.
  static double receptive_field(const Type& weight) {
    double field = 1;
    for (size_t i = 2; i < weight.shape->size(); ++i) {
      field *= static_cast<double>((*weight.shape)[i].value.value());
    }
    return field;
  }

  double fan_in_of(const Type& weight) const {
    const auto other = static_cast<size_t>(1 - classifier_.weight.axis);
    return static_cast<double>((*weight.shape)[other].value.value()) * receptive_field(weight);
  }

  bool is_on_the_way(const Node& node) const {
    return std::ranges::any_of(classifier_.scores, [&](const ClassPlace& place) {
      return place.value->producer() == &node;
    });
  }

  /// Beside the way to the output too: what is sized by the old classes would be wrong, or be
  /// broadcast.
  void require_no_class_constants() const {
    for (const auto& node : graph_.nodes()) {
      const bool reads_scores = std::ranges::any_of(
          all_reads(*node), [&](const Value* read) { return after_.contains(read); });
      if (!reads_scores || is_on_the_way(*node)) continue;
      if (!node->subgraphs().empty()) {
        throw Error(
            fmt::format("{} '{}' reads the class scores in a graph of its own, which can't "
                        "be given other classes",
                        node->op, node->label()));
      }
      for (const Value* input : node->inputs()) {
        if (!input || after_.contains(input) || !input->type.shape) continue;
        const bool has_classes = std::ranges::any_of(*input->type.shape, [&](const Dim& dim) {
          return classifier_.classes > 1 && dim.value == classifier_.classes;
        });
        if (has_classes) {
          throw Error(fmt::format(
              "{} '{}' combines the class scores with '{}' {}, which is made "
              "for {} classes: remove that part of the model first",
              node->op, node->label(), input->name(), to_string(input->type), classifier_.classes));
        }
      }
    }
  }

  /// A tensor of its own for the classifier, in the form in which the layer reads it: what stands
  /// between (Transpose, Cast, DequantizeLinear) was for the old one, and so is what else reads it.
  void replace(const ClassTensor& old, double bound, std::string_view role) {
    Value* read = old.value();
    std::vector<int64_t> dims = dims_of(read->type);
    dims.at(static_cast<size_t>(old.axis)) = wanted_.count;
    Value* tensor = moved_tensor(read);
    const std::string name =
        tensor ? tensor->name() : fmt::format("{}.{}", old.reader->label(), role);
    const DType dtype = read->type.dtype;
    Tensor fresh = converted(uniform(dims, bound, name, wanted_.seed), dtype);
    Value* value = tensor == read && is_read_once(*read) ? in_place(*read, std::move(fresh))
                                                         : beside(old, name, std::move(fresh));
    result_.tensors.push_back(value);
  }

  Value* in_place(Value& value, Tensor fresh) {
    value.type = fresh.type();
    if (value.initializer()) {
      graph_.set_initializer(&value, std::move(fresh));
    } else {
      set_attribute(*value.producer(), "value", std::move(fresh));
    }
    return &value;
  }

  Value* beside(const ClassTensor& old, const std::string& name, Tensor fresh) {
    Value* before = old.value();
    Value* value = graph_.add_initializer("", std::move(fresh));
    if (const Value* tensor = moved_tensor(before)) value->metadata = tensor->metadata;
    old.reader->set_input(old.input, value);
    remove_unread(graph_, before);
    graph_.rename(value, Names(model_).fresh(name));
    return value;
  }

  /// Reshapes on the way that have the number of classes among the sizes.
  void change_reshapes() {
    for (const ClassPlace& place : classifier_.scores) {
      Node* node = place.value->producer();
      Value* shape = node->op == "Reshape" && node->domain.empty() ? node->input(1) : nullptr;
      const auto sizes = constant_integers(shape);
      if (!sizes) continue;
      std::vector<int64_t> numbers = *sizes;
      int64_t& classes = numbers.at(static_cast<size_t>(place.axis));
      if (classes != classifier_.classes) continue;  // -1 and 0 follow by themselves
      classes = wanted_.count;
      Value* fresh = graph_.add_initializer(Names(model_).fresh(shape->name()),
                                            Tensor::of<int64_t>({std::ssize(numbers)}, numbers));
      node->set_input(1, fresh);
      remove_unread(graph_, shape);
    }
  }

  /// Types behind the classifier, from nothing but what the nodes say: a declared one may have the
  /// old number.
  void infer_anew() {
    std::unordered_map<const Value*, Type> before;
    for (const auto& node : graph_.nodes()) {
      for (const auto& output : node->outputs()) {
        if (!output || !after_.contains(output.get())) continue;
        before.emplace(output.get(), output->type);
        output->type = without_shapes(output->type);
      }
    }
    Problems problems;
    infer_types(model_, problems);
    for (const Problem& each : problems.list()) {
      const bool is_behind = std::ranges::any_of(
          before, [&](const auto& entry) { return entry.first->producer()->label() == each.node; });
      if (is_behind)
        throw Error(fmt::format("{} classes do not fit: {}", wanted_.count, to_string(each)));
    }
    for (const ClassPlace& place : classifier_.scores) require_classes(place);
    for (const auto& node : graph_.nodes()) {
      for (const auto& output : node->outputs()) {
        const auto old = output ? before.find(output.get()) : before.end();
        if (old != before.end()) keep_symbols(*output, old->second);
      }
    }
  }

  void require_classes(const ClassPlace& place) const {
    const Type& type = place.value->type;
    const auto axis = static_cast<size_t>(place.axis);
    if (type.shape && axis < type.shape->size() && (*type.shape)[axis].value == wanted_.count) {
      return;
    }
    const Node& node = *place.value->producer();
    throw Error(
        fmt::format("{} '{}' can't be given {} classes in place of {}: it would make '{}' "
                    "{}, since its shape is computed or fixed",
                    node.op, node.label(), wanted_.count, classifier_.classes, place.value->name(),
                    to_string(type)));
  }

  /// What the file calls dimensions that no number is known for.
  static void keep_symbols(Value& value, const Type& before) {
    if (!value.type.shape || !before.shape || value.type.shape->size() != before.shape->size()) {
      return;
    }
    for (size_t i = 0; i < before.shape->size(); ++i) {
      Dim& dim = (*value.type.shape)[i];
      if (!dim.value && dim.symbol.empty()) dim.symbol = (*before.shape)[i].symbol;
    }
  }

  void tell(const Start& start, double bound) {
    const auto count = [](int64_t n) { return fmt::format("{} class{}", n, n == 1 ? "" : "es"); };
    std::vector<std::string> tensors;
    for (const Value* value : result_.tensors) {
      tensors.push_back(fmt::format("{} {}", value->name(), to_string(value->type)));
    }
    result_.notes.push_back(fmt::format(
        "{} '{}' has {} in place of {}: {} start{} anew as {} starts a layer (uniform up to "
        "{:.3g}{}, seed {}), since {}",
        classifier_.layer->op, classifier_.layer->label(), count(wanted_.count),
        classifier_.classes, fmt::join(tensors, " and "), tensors.size() == 1 ? "s" : "",
        start.framework, bound, start.is_keras && tensors.size() > 1 ? ", biases 0" : "",
        wanted_.seed, start.reason));
  }

  Model& model_;
  Graph& graph_;
  const Classifier& classifier_;
  const NewClasses& wanted_;
  ValueSet after_;
  NewHead result_;
};

}  // namespace

void remove_unread(Graph& graph, Value* value) {
  const ValueSet made_of = dependencies(value);
  std::vector<Node*> nodes;  // from the last one backwards
  for (const auto& node : graph.nodes()) {
    const bool is_part = std::ranges::any_of(
        node->outputs(), [&](const auto& output) { return made_of.contains(output.get()); });
    if (is_part) nodes.insert(nodes.begin(), node.get());
  }
  std::vector<Value*> initializers;
  for (Value* each : graph.initializers()) {
    if (made_of.contains(each) && !each->is_input()) initializers.push_back(each);
  }
  for (Node* node : nodes) {
    const bool is_read = std::ranges::any_of(
        node->outputs(), [](const auto& output) { return output && is_needed(*output); });
    if (!is_read) graph.remove_node(node);
  }
  for (Value* each : initializers) {
    if (!is_needed(*each)) graph.remove_initializer(each);
  }
}

NewHead set_classes(Model& model, const Classifier& classifier, const NewClasses& wanted) {
  return Change(model, classifier, wanted).run();
}

}  // namespace onward
