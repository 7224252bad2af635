// Ensembles of decision trees: each tree leads every row of x to one leaf, whose weights are
// gathered for the targets.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "eval/families.h"

namespace onward::eval {
namespace {

using Tensors = std::vector<Tensor>;
using Integers = std::vector<int64_t>;
using Texts = std::vector<std::string>;

constexpr int64_t kMaxTargets = std::numeric_limits<int32_t>::max();

enum class Mode : uint8_t { leq, lt, gte, gt, eq, neq, member };

/// A node that compares a feature; its branches are nodes, or leaves.
struct Branch {
  Mode mode = Mode::leq;
  int64_t feature = 0;
  double split = 0;
  std::set<double> members = {};
  bool missing_is_true = false;
  size_t where_true = 0, where_false = 0;
  bool true_is_leaf = false, false_is_leaf = false;

  bool holds(double x) const {
    if (std::isnan(x)) return missing_is_true;
    switch (mode) {
      case Mode::leq:
        return x <= split;
      case Mode::lt:
        return x < split;
      case Mode::gte:
        return x >= split;
      case Mode::gt:
        return x > split;
      case Mode::eq:
        return x == split;
      case Mode::neq:
        return x != split;
      case Mode::member:
        return members.contains(x);
    }
    return false;
  }
};

struct Vote {
  int64_t target;
  double weight;
};

/// Where a tree begins: at a node, or at a leaf if it has nothing else.
struct Root {
  size_t at;
  bool is_leaf;
};

struct Ensemble {
  std::vector<Branch> branches;
  std::vector<std::vector<Vote>> leaves;
  std::vector<Root> roots;

  /// Throws Error for branches that lead nowhere or back to themselves, and for features and
  /// targets that there are not.
  void check(int64_t features, int64_t targets) const {
    const auto expect = [](bool is_right, std::string_view what, auto number, auto count) {
      if (!is_right) throw Error(fmt::format("{} {} is out of range for {}", what, number, count));
    };
    std::vector<size_t> arrivals(branches.size(), 0);
    for (const Branch& each : branches) {
      expect(each.feature >= 0 && each.feature < features, "feature", each.feature, features);
      for (const auto& [at, is_leaf] : {std::pair{each.where_true, each.true_is_leaf},
                                        std::pair{each.where_false, each.false_is_leaf}}) {
        const size_t count = is_leaf ? leaves.size() : branches.size();
        expect(at < count, is_leaf ? "leaf" : "node", at, count);
        if (!is_leaf) ++arrivals[at];
      }
    }
    for (const Root& root : roots) {
      const size_t count = root.is_leaf ? leaves.size() : branches.size();
      expect(root.at < count, "root", root.at, count);
    }
    for (const auto& leaf : leaves) {
      for (const Vote& vote : leaf) {
        expect(vote.target >= 0 && vote.target < targets, "target", vote.target, targets);
      }
    }
    require_no_circle(std::move(arrivals));
  }

  /// What all branches lead away from is taken away until nothing is left.
  void require_no_circle(std::vector<size_t> arrivals) const {
    std::vector<size_t> open;
    for (size_t i = 0; i < branches.size(); ++i) {
      if (arrivals[i] == 0) open.push_back(i);
    }
    size_t seen = 0;
    for (; !open.empty(); ++seen) {
      const Branch& each = branches[open.back()];
      open.pop_back();
      if (!each.true_is_leaf && --arrivals[each.where_true] == 0) open.push_back(each.where_true);
      if (!each.false_is_leaf && --arrivals[each.where_false] == 0) {
        open.push_back(each.where_false);
      }
    }
    if (seen != branches.size()) throw Error("its nodes lead back to themselves");
  }

  const std::vector<Vote>& leaf_of(const Root& root, const Tensor& x, int64_t row) const {
    if (root.is_leaf) return leaves[root.at];
    const int64_t features = x.dims()[1];
    for (size_t at = root.at;;) {
      const Branch& branch = branches[at];
      const bool holds = branch.holds(x.number(row * features + branch.feature));
      at = holds ? branch.where_true : branch.where_false;
      if (holds ? branch.true_is_leaf : branch.false_is_leaf) return leaves[at];
    }
  }
};

// ---- what becomes of the weights

enum class Gathered : uint8_t { average, sum, min, max };

Array<double> gathered(const Ensemble& trees, const Tensor& x, int64_t targets, Gathered how) {
  Array<double> y({x.dims()[0], targets});
  std::vector<bool> has_any(y.data.size(), false);
  for (int64_t row = 0; row < x.dims()[0]; ++row) {
    for (const Root& root : trees.roots) {
      for (const auto& [target, weight] : trees.leaf_of(root, x, row)) {
        const auto at = static_cast<size_t>(row * targets + target);
        double& value = y.data[at];
        const bool is_first = !has_any[at];
        has_any[at] = true;
        if (how == Gathered::min) {
          value = is_first ? weight : std::min(value, weight);
        } else if (how == Gathered::max) {
          value = is_first ? weight : std::max(value, weight);
        } else {
          value += weight;
        }
      }
    }
  }
  if (how == Gathered::average && !trees.roots.empty()) {
    for (double& value : y.data) value /= static_cast<double>(trees.roots.size());
  }
  return y;
}

enum class Transform : uint8_t { none, softmax, logistic, softmax_zero, probit };

void softmax_row(std::span<double> row, bool keeps_zeros) {
  if (row.empty()) return;
  const double highest = *std::ranges::max_element(row);
  double total = 0;
  for (double& value : row) {
    const bool is_zero = keeps_zeros && std::fabs(value) <= 1e-7;
    value = is_zero ? value * std::exp(-highest) : std::exp(value - highest);
    total += value;
  }
  for (double& value : row) value = keeps_zeros && total == 0 ? 0.5 : value / total;
}

void transform(Array<double>& y, Transform how) {
  if (how == Transform::probit) {
    throw Error("post_transform PROBIT needs the inverse of erf, which has no kernel yet");
  }
  if (how == Transform::logistic) {
    for (double& value : y.data) value = 1 / (1 + std::exp(-value));
  }
  if (how != Transform::softmax && how != Transform::softmax_zero) return;
  const auto columns = static_cast<size_t>(y.dims[1]);
  for (int64_t row = 0; row < y.dims[0]; ++row) {
    softmax_row(std::span(y.data).subspan(static_cast<size_t>(row) * columns, columns),
                how == Transform::softmax_zero);
  }
}

template <typename Enum>
Enum named(const Node& node, const char* attribute, const std::string& fallback,
           std::initializer_list<std::string_view> names) {
  const std::string given = node.string_or(attribute, fallback);
  const auto found = std::ranges::find(names, given);
  if (found == names.end()) {
    throw Error(fmt::format("its {} '{}' is none of the standard's", attribute, given));
  }
  return static_cast<Enum>(found - names.begin());
}

template <typename Enum>
Enum numbered(const Node& node, const char* attribute, int64_t fallback, int64_t count) {
  const int64_t given = node.int_or(attribute, fallback);
  if (given < 0 || given >= count) {
    throw Error(fmt::format("its {} of {} is none of the standard's", attribute, given));
  }
  return static_cast<Enum>(given);
}

Transform transform_of(const Node& node) {
  return named<Transform>(node, "post_transform", "NONE",
                          {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"});
}

const Tensor& matrix_of(const Context& c) {
  const Tensor& x = c.input(0);
  if (x.dims().size() != 2) {
    throw Error(fmt::format("its input has rank {}, not 2", x.dims().size()));
  }
  return x;
}

int64_t checked_targets(int64_t count) {
  if (count >= 1 && count <= kMaxTargets) return count;
  throw Error(fmt::format("it has {} targets", count));
}

// ---- the form with leaves of their own

const Integers& integers_of(const Node& node, const char* name) {
  const auto* found = node.get<Integers>(name);
  if (!found) throw Error(fmt::format("its attribute '{}' is missing", name));
  return *found;
}

std::vector<double> numbers_of_tensor(const Node& node, const char* name) {
  const auto* found = node.get<Tensor>(name);
  if (!found) throw Error(fmt::format("its attribute '{}' is missing", name));
  std::vector<double> numbers;
  for (int64_t i = 0; i < found->size(); ++i) numbers.push_back(found->number(i));
  return numbers;
}

void require_length(size_t given, size_t wanted, std::string_view name) {
  if (given == wanted) return;
  throw Error(
      fmt::format("its attribute '{}' has {} entries, but {} are needed", name, given, wanted));
}

/// Sets of members, each with NaN behind it, in the order of the nodes that have one.
void read_members(const Node& node, std::vector<Branch>& branches) {
  std::vector<double> all;
  if (node.get<Tensor>("membership_values")) all = numbers_of_tensor(node, "membership_values");
  size_t at = 0;
  for (Branch& branch : branches) {
    if (branch.mode != Mode::member) continue;
    const auto begin = all.begin() + static_cast<ptrdiff_t>(at);
    const auto end = std::find_if(begin, all.end(), [](double x) { return std::isnan(x); });
    if (end == all.end()) throw Error("its membership_values have no set for each such node");
    branch.members.insert(begin, end);
    at = static_cast<size_t>(end - all.begin()) + 1;
  }
  if (at != all.size()) throw Error("its membership_values have more sets than there are nodes");
}

Ensemble ensemble_with_leaves(const Node& node) {
  const auto splits = numbers_of_tensor(node, "nodes_splits");
  const auto modes = numbers_of_tensor(node, "nodes_modes");
  const auto weights = numbers_of_tensor(node, "leaf_weights");
  const auto& features = integers_of(node, "nodes_featureids");
  const auto &true_ids = integers_of(node, "nodes_truenodeids"),
             &false_ids = integers_of(node, "nodes_falsenodeids"),
             &true_leafs = integers_of(node, "nodes_trueleafs"),
             &false_leafs = integers_of(node, "nodes_falseleafs"),
             &targets = integers_of(node, "leaf_targetids");
  const auto* missing = node.get<Integers>("nodes_missing_value_tracks_true");
  const size_t count = features.size();
  require_length(splits.size(), count, "nodes_splits");
  require_length(modes.size(), count, "nodes_modes");
  require_length(true_ids.size(), count, "nodes_truenodeids");
  require_length(false_ids.size(), count, "nodes_falsenodeids");
  require_length(true_leafs.size(), count, "nodes_trueleafs");
  require_length(false_leafs.size(), count, "nodes_falseleafs");
  require_length(targets.size(), weights.size(), "leaf_targetids");
  if (missing) require_length(missing->size(), count, "nodes_missing_value_tracks_true");
  Ensemble trees;
  for (size_t i = 0; i < count; ++i) {
    if (!(modes[i] >= 0 && modes[i] <= 6))
      throw Error(fmt::format("there is no mode {}", modes[i]));
    trees.branches.push_back({.mode = static_cast<Mode>(static_cast<int>(modes[i])),
                              .feature = features[i],
                              .split = splits[i],
                              .missing_is_true = missing && (*missing)[i] != 0,
                              .where_true = static_cast<size_t>(true_ids[i]),
                              .where_false = static_cast<size_t>(false_ids[i]),
                              .true_is_leaf = true_leafs[i] != 0,
                              .false_is_leaf = false_leafs[i] != 0});
  }
  read_members(node, trees.branches);
  for (size_t i = 0; i < weights.size(); ++i) {
    trees.leaves.push_back({{.target = targets[i], .weight = weights[i]}});
  }
  for (const int64_t root : integers_of(node, "tree_roots")) {
    trees.roots.push_back({static_cast<size_t>(root), false});
  }
  return trees;
}

Tensors tree_ensemble(const Context& c) {
  const Tensor& x = matrix_of(c);
  const int64_t targets = checked_targets(c.node().int_or("n_targets", 1));
  const Ensemble trees = ensemble_with_leaves(c.node());
  trees.check(x.dims()[1], targets);
  Array<double> y =
      gathered(trees, x, targets, numbered<Gathered>(c.node(), "aggregate_function", 1, 4));
  transform(y, numbered<Transform>(c.node(), "post_transform", 0, 5));
  return {to_tensor(y, x.dtype())};
}

// ---- the older form, in which leaves are nodes

/// Numbers in a list, or in a tensor whose name ends in _as_tensor.
std::vector<double> numbers_or_tensor(const Node& node, const std::string& name) {
  const auto* list = node.get<std::vector<float>>(name);
  if (list && !list->empty()) return {list->begin(), list->end()};
  const std::string other = name + "_as_tensor";
  return node.get<Tensor>(other) ? numbers_of_tensor(node, other.c_str()) : std::vector<double>{};
}

/// Reads the nodes; votes are the attributes <prefix>_ids, _nodeids, _treeids and _weights.
class OldForm {
 public:
  OldForm(const Node& node, const std::string& prefix) : node_(node) {
    const auto& tree_ids = integers_of(node, "nodes_treeids");
    const auto& node_ids = integers_of(node, "nodes_nodeids");
    require_length(node_ids.size(), tree_ids.size(), "nodes_nodeids");
    number_nodes(tree_ids, node_ids);
    read_votes(prefix);
    read_branches(tree_ids);
  }

  const Ensemble& ensemble() const { return ensemble_; }
  const Integers& voted() const { return voted_; }

 private:
  using Id = std::pair<int64_t, int64_t>;  // of the tree, and of the node in it

  /// Leaves and branches each have their own numbers.
  void number_nodes(const Integers& tree_ids, const Integers& node_ids) {
    const auto* modes = node_.get<Texts>("nodes_modes");
    if (!modes) throw Error("its attribute 'nodes_modes' is missing");
    modes_ = *modes;
    require_length(modes_.size(), tree_ids.size(), "nodes_modes");
    size_t branches = 0;
    for (size_t i = 0; i < tree_ids.size(); ++i) {
      const bool is_leaf = modes_[i] == "LEAF";
      const size_t number = is_leaf ? ensemble_.leaves.size() : branches++;
      if (is_leaf) ensemble_.leaves.emplace_back();
      if (!places_.emplace(Id{tree_ids[i], node_ids[i]}, Root{number, is_leaf}).second) {
        throw Error(fmt::format("node {} of tree {} is there twice", node_ids[i], tree_ids[i]));
      }
      if (roots_.insert(tree_ids[i]).second) ensemble_.roots.push_back({number, is_leaf});
    }
  }

  const Root& place(int64_t tree, int64_t id) const {
    const auto found = places_.find({tree, id});
    if (found == places_.end()) throw Error(fmt::format("tree {} has no node {}", tree, id));
    return found->second;
  }

  void read_votes(const std::string& prefix) {
    const auto& targets = integers_of(node_, (prefix + "_ids").c_str());
    const auto& nodes = integers_of(node_, (prefix + "_nodeids").c_str());
    const auto& trees = integers_of(node_, (prefix + "_treeids").c_str());
    const auto weights = numbers_or_tensor(node_, prefix + "_weights");
    require_length(nodes.size(), targets.size(), prefix + "_nodeids");
    require_length(trees.size(), targets.size(), prefix + "_treeids");
    require_length(weights.size(), targets.size(), prefix + "_weights");
    for (size_t i = 0; i < targets.size(); ++i) {
      const Root& leaf = place(trees[i], nodes[i]);
      if (!leaf.is_leaf) {
        throw Error(
            fmt::format("node {} of tree {} has a weight, but is no leaf", nodes[i], trees[i]));
      }
      ensemble_.leaves[leaf.at].push_back({targets[i], weights[i]});
    }
    voted_ = targets;
  }

  void read_branches(const Integers& tree_ids) {
    const auto& features = integers_of(node_, "nodes_featureids");
    const auto &true_ids = integers_of(node_, "nodes_truenodeids"),
               &false_ids = integers_of(node_, "nodes_falsenodeids");
    const auto splits = numbers_or_tensor(node_, "nodes_values");
    const auto* missing = node_.get<Integers>("nodes_missing_value_tracks_true");
    require_length(features.size(), modes_.size(), "nodes_featureids");
    require_length(true_ids.size(), modes_.size(), "nodes_truenodeids");
    require_length(false_ids.size(), modes_.size(), "nodes_falsenodeids");
    require_length(splits.size(), modes_.size(), "nodes_values");
    if (missing && !missing->empty()) {
      require_length(missing->size(), modes_.size(), "nodes_missing_value_tracks_true");
    }
    constexpr std::string_view kModes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                           "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
    for (size_t i = 0; i < modes_.size(); ++i) {
      if (modes_[i] == "LEAF") continue;
      const auto* mode = std::ranges::find(kModes, std::string_view(modes_[i]));
      if (mode == std::end(kModes)) throw Error(fmt::format("there is no mode '{}'", modes_[i]));
      const Root &yes = place(tree_ids[i], true_ids[i]), &no = place(tree_ids[i], false_ids[i]);
      ensemble_.branches.push_back(
          {.mode = static_cast<Mode>(mode - kModes),
           .feature = features[i],
           .split = splits[i],
           .missing_is_true = missing && !missing->empty() && (*missing)[i] != 0,
           .where_true = yes.at,
           .where_false = no.at,
           .true_is_leaf = yes.is_leaf,
           .false_is_leaf = no.is_leaf});
    }
  }

  const Node& node_;
  Texts modes_;
  std::map<Id, Root> places_;
  std::set<int64_t> roots_;
  Integers voted_;
  Ensemble ensemble_;
};

/// Adds one value for each of these targets.
void add_base_values(const Node& node, Array<double>& y, const Integers& targets) {
  const auto base = numbers_or_tensor(node, "base_values");
  if (base.empty()) return;
  require_length(base.size(), targets.size(), "base_values");
  for (int64_t row = 0; row < y.dims[0]; ++row) {
    for (size_t i = 0; i < base.size(); ++i) y[row * y.dims[1] + targets[i]] += base[i];
  }
}

Integers all_below(int64_t count) {
  Integers numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

Tensors tree_ensemble_regressor(const Context& c) {
  const Tensor& x = matrix_of(c);
  const int64_t targets = checked_targets(c.node().int_or("n_targets", 1));
  const OldForm form(c.node(), "target");
  form.ensemble().check(x.dims()[1], targets);
  const auto how =
      named<Gathered>(c.node(), "aggregate_function", "SUM", {"AVERAGE", "SUM", "MIN", "MAX"});
  Array<double> y = gathered(form.ensemble(), x, targets, how);
  add_base_values(c.node(), y, all_below(targets));
  transform(y, transform_of(c.node()));
  return {to_tensor(y, DType::f32)};
}

/// Votes for one class alone are those for the second of two: the first is its opposite.
void complete_binary(Array<double>& y, int64_t voted, Transform how) {
  for (int64_t row = 0; row < y.dims[0]; ++row) {
    const double score = y[row * 2 + voted];
    y[row * 2 + 1] = score;
    y[row * 2] = how == Transform::none ? 1 - score : -score;
  }
}

Tensors tree_ensemble_classifier(const Context& c) {
  const Tensor& x = matrix_of(c);
  const auto* integers = c.node().get<Integers>("classlabels_int64s");
  const auto* texts = c.node().get<Texts>("classlabels_strings");
  if ((integers && !integers->empty()) == (texts && !texts->empty())) {
    throw Error("it must have labels that are integers, or labels that are strings");
  }
  const bool of_texts = texts && !texts->empty();
  const auto count = static_cast<int64_t>(of_texts ? texts->size() : integers->size());
  if (count < 2) throw Error("it has one label alone");
  const OldForm form(c.node(), "class");
  form.ensemble().check(x.dims()[1], count);
  Array<double> scores = gathered(form.ensemble(), x, count, Gathered::sum);
  const Transform how = transform_of(c.node());
  const std::set<int64_t> voted(form.voted().begin(), form.voted().end());
  const bool has_one_score = voted.size() == 1 && count == 2;
  // The one score of two classes may have a base value of its own.
  const bool has_one_base = has_one_score && numbers_or_tensor(c.node(), "base_values").size() == 1;
  add_base_values(c.node(), scores, has_one_base ? Integers{*voted.begin()} : all_below(count));
  if (has_one_score) complete_binary(scores, *voted.begin(), how);
  std::vector<int64_t> winners;
  for (int64_t row = 0; row < x.dims()[0]; ++row) {
    const auto begin = scores.data.begin() + static_cast<ptrdiff_t>(row * count);
    winners.push_back(std::max_element(begin, begin + static_cast<ptrdiff_t>(count)) - begin);
  }
  transform(scores, how);  // after the winners are known: it may round several scores to one
  const Tensor labels =
      of_texts ? Tensor::of_strings({count}, *texts) : Tensor::of<int64_t>({count}, *integers);
  return {take_elements(labels, {x.dims()[0]}, winners), to_tensor(scores, DType::f32)};
}

constexpr KernelDef kMlTreeKernels[] = {
    {"TreeEnsemble", tree_ensemble, "ai.onnx.ml"},
    {"TreeEnsembleClassifier", tree_ensemble_classifier, "ai.onnx.ml"},
    {"TreeEnsembleRegressor", tree_ensemble_regressor, "ai.onnx.ml"},
};

}  // namespace

std::span<const KernelDef> ml_tree_kernels() { return kMlTreeKernels; }

}  // namespace onward::eval
