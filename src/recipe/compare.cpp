#include "recipe/compare.h"

#include <algorithm>
#include <set>

namespace onward {
namespace {

bool equal_tensors(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.dims() == b.dims() &&
         std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin(), b.bytes().end()) &&
         (a.dtype() != DType::string || a.strings() == b.strings());
}

class Matcher {
 public:
  Matcher(const TrainingPair& pair) : pair_(pair), map_(pair.around) {
    for (const Binding& binding : pair.ours.update_bindings) state_.insert(binding.target);
  }

  bool match() {
    const Graph& ours = *pair_.ours.algorithm;
    const Graph& other = *pair_.other.algorithm;
    return ours.inputs().size() == other.inputs().size() &&
           ours.initializers().size() == other.initializers().size() && nodes(ours, other) &&
           outputs(ours, other) && bindings();
  }

  ValueMap take() { return std::move(map_); }

 private:
  /// The same value, or a new pair of inputs or initializers. What nodes make is paired by them.
  bool same(const Value* ours, const Value* other) {
    if (!ours || !other) return ours == other;
    const auto known = map_.find(ours);
    if (known != map_.end()) return known->second == other;
    if (ours->producer() || other->producer()) return false;
    if (ours->is_input() != other->is_input() || conflict(ours->type, other->type)) return false;
    const Tensor* data = ours->tensor();
    const Tensor* other_data = other->tensor();
    if (!data != !other_data) return false;
    if (data && (data->dtype() != other_data->dtype() || data->dims() != other_data->dims())) {
      return false;
    }
    if (data && !state_.contains(ours) && !equal_tensors(*data, *other_data)) return false;
    return pair_up(ours, other);
  }

  bool pair_up(const Value* ours, const Value* other) {
    if (!taken_.insert(other).second) return false;
    map_[ours] = const_cast<Value*>(other);
    return true;
  }

  bool nodes(const Graph& ours, const Graph& other) {
    return std::equal(ours.nodes().begin(), ours.nodes().end(), other.nodes().begin(),
                      other.nodes().end(),
                      [&](const auto& a, const auto& b) { return node(*a, *b); });
  }

  bool node(const Node& a, const Node& b) {
    if (a.op != b.op || a.domain != b.domain || a.inputs().size() != b.inputs().size() ||
        a.outputs().size() != b.outputs().size() ||
        a.attributes().size() != b.attributes().size()) {
      return false;
    }
    for (size_t i = 0; i < a.inputs().size(); ++i) {
      if (!same(a.input(i), b.input(i))) return false;
    }
    for (const Attribute& attribute : a.attributes()) {
      const Attribute* twin = b.attribute(attribute.name);
      if (!twin || twin->value.index() != attribute.value.index()) return false;
      const bool equal = std::visit(
          [&](const auto& value) {
            return equal_values(value, std::get<std::decay_t<decltype(value)>>(twin->value));
          },
          attribute.value);
      if (!equal) return false;
    }
    for (size_t i = 0; i < a.outputs().size(); ++i) {
      const Value* output = a.output(i);
      if (!output != !b.output(i)) return false;
      if (output && !pair_up(output, b.output(i))) return false;
    }
    return true;
  }

  template <typename T>
  bool equal_values(const T& a, const T& b) {
    return a == b;
  }
  bool equal_values(const Tensor& a, const Tensor& b) { return equal_tensors(a, b); }
  bool equal_values(const SparseTensor& a, const SparseTensor& b) {
    return a.dims == b.dims && equal_tensors(a.values, b.values) &&
           equal_tensors(a.indices, b.indices);
  }
  bool equal_values(const References& a, const References& b) {
    return a.single == b.single &&
           std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(),
                      [&](const Value* x, const Value* y) { return same(x, y); });
  }
  bool equal_values(const std::unique_ptr<Graph>& a, const std::unique_ptr<Graph>& b) {
    return subgraph(*a, *b);
  }
  bool equal_values(const Attribute::Graphs& a, const Attribute::Graphs& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [&](const auto& x, const auto& y) { return subgraph(*x, *y); });
  }
  template <typename T>
  bool equal_lists(const std::vector<T>& a, const std::vector<T>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [&](const T& x, const T& y) { return equal_values(x, y); });
  }
  bool equal_values(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    return equal_lists(a, b);
  }
  bool equal_values(const std::vector<SparseTensor>& a, const std::vector<SparseTensor>& b) {
    return equal_lists(a, b);
  }

  bool subgraph(const Graph& a, const Graph& b) {
    if (a.inputs().size() != b.inputs().size()) return false;
    for (size_t i = 0; i < a.inputs().size(); ++i) {
      if (!pair_up(a.inputs()[i], b.inputs()[i])) return false;
    }
    return nodes(a, b) && outputs(a, b);
  }

  bool outputs(const Graph& a, const Graph& b) {
    return std::equal(a.outputs().begin(), a.outputs().end(), b.outputs().begin(),
                      b.outputs().end(),
                      [&](const Value* x, const Value* y) { return same(x, y); });
  }

  bool bindings() {
    using Pair = std::pair<const Value*, const Value*>;
    std::set<Pair> ours, other;
    for (const Binding& each : pair_.ours.update_bindings) {
      ours.emplace(mapped(map_, each.target), mapped(map_, each.source));
    }
    for (const Binding& each : pair_.other.update_bindings) other.emplace(each.target, each.source);
    return ours == other && !pair_.ours.initialization && !pair_.other.initialization;
  }

  const TrainingPair& pair_;
  ValueMap map_;
  std::set<const Value*> state_, taken_;
};

}  // namespace

std::optional<ValueMap> match(const TrainingPair& pair) {
  Matcher matcher(pair);
  if (!matcher.match()) return std::nullopt;
  return matcher.take();
}

}  // namespace onward
