// Operators that run graphs.

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "eval/body_types.h"
#include "eval/families.h"
#include "eval/pieces.h"

namespace onward::eval {
namespace {

using Values = std::vector<RuntimeValue>;

Values if_(const ValueContext& c) {
  return c.run(c.subgraph(c.integer(0) != 0 ? "then_branch" : "else_branch"), {});
}

/// One result of every iteration, which becomes one tensor.
class ScanOutput {
 public:
  ScanOutput(const Value& of_body, int64_t axis, bool backwards)
      : of_body_(of_body), axis_(axis), backwards_(backwards) {}

  void add(const RuntimeValue& value) {
    const Tensor& tensor = value.tensor();
    if (!layers_.empty() &&
        (tensor.dims() != layers_[0].dims() || tensor.dtype() != layers_[0].dtype())) {
      throw Error(fmt::format("its result '{}' is {} in iteration {}, and {} before",
                              of_body_.name(), to_string(tensor.type()), layers_.size(),
                              to_string(layers_[0].type())));
    }
    bytes_ += static_cast<int64_t>(tensor.bytes().size());
    refuse_beyond_memory(bytes_, of_body_.name());
    layers_.push_back(tensor);
  }

  bool is_empty() const { return layers_.empty(); }

  Tensor finish() {
    if (backwards_) std::ranges::reverse(layers_);
    std::vector<const Tensor*> pointers;
    for (const Tensor& layer : layers_) pointers.push_back(&layer);
    return stacked(pointers, axis_);
  }

  /// Of no iteration: a dimension of its elements that even their type does not tell is 0.
  Tensor finish_empty(const Type& type) const {
    if (!type.is_tensor() || type.dtype == DType::undefined) {
      throw Error(fmt::format("there is no iteration that shows the type of its result '{}'",
                              of_body_.name()));
    }
    std::vector<int64_t> dims;
    for (const Dim& dim : type.shape.value_or(Shape{})) dims.push_back(dim.value.value_or(0));
    dims.insert(dims.begin() + checked_axis(axis_, static_cast<int64_t>(dims.size()) + 1), 0);
    if (type.dtype == DType::string) return Tensor::of_strings(std::move(dims), {});
    return Tensor::from_bytes(type.dtype, std::move(dims), std::make_shared<const std::string>());
  }

 private:
  const Value& of_body_;
  int64_t axis_;
  bool backwards_;
  int64_t bytes_ = 0;
  std::vector<Tensor> layers_;
};

/// A Loop may be written so that a body that would fail never runs: of that the graph's own types
/// must do.
std::vector<Type> types_of_none(const ValueContext& c, const Graph& body,
                                const std::vector<Type>& arguments) {
  try {
    return result_types(c, body, arguments);
  } catch (const Error&) {
    if (c.node().op != "Loop") throw;
    std::vector<Type> types;
    for (const Value* output : body.outputs()) types.push_back(output->type);
    return types;
  }
}

/// Adds the scan outputs to what was carried; `arguments` are the types that a first iteration
/// would have been given, and the scan outputs the last of the body's.
void finish(const ValueContext& c, const Graph& body, std::vector<ScanOutput>& scans,
            const std::vector<Type>& arguments, Values& results) {
  const bool is_empty = std::ranges::any_of(scans, &ScanOutput::is_empty);
  const auto types = is_empty ? types_of_none(c, body, arguments) : std::vector<Type>();
  for (size_t i = 0; i < scans.size(); ++i) {
    results.emplace_back(is_empty ? scans[i].finish_empty(types[types.size() - scans.size() + i])
                                  : scans[i].finish());
  }
}

/// A body must give what its node has, before anything runs.
void require(const Graph& body, size_t inputs, size_t outputs) {
  if (body.inputs().size() == inputs && body.outputs().size() >= outputs) return;
  throw Error(
      fmt::format("its body has {} inputs and {} outputs, but {} and at least {} are needed",
                  body.inputs().size(), body.outputs().size(), inputs, outputs));
}

Tensor truth(bool value) {
  return Tensor::from_bytes(DType::boolean, {},
                            std::make_shared<const std::string>(1, value ? '\1' : '\0'));
}

bool truth_of(const Tensor& tensor) {
  if (tensor.size() != 1) throw Error(fmt::format("a condition has {} elements", tensor.size()));
  return tensor.integer(0) != 0;
}

/// Iteration and condition are scalars. Some files declare vectors of one in the body, and then its
/// nodes rely on that: it is given what it asks for.
Tensor as_declared(const Tensor& scalar, const Value& input) {
  const bool is_vector = input.type.shape && input.type.shape->size() == 1;
  return is_vector ? scalar.reshaped({1}) : scalar;
}

// Without a condition at the beginning, the standard does not end the loop by those of the body.
Values loop(const ValueContext& c) {
  constexpr size_t kFirstState = 2;  // behind the trip count and the condition
  const Graph& body = c.subgraph("body");
  const size_t states = std::max(c.inputs(), kFirstState) - kFirstState;
  require(body, states + kFirstState, states + 1);
  const int64_t trips = c.has(0) ? c.integer(0) : std::numeric_limits<int64_t>::max();
  bool condition = !c.has(1) || c.integer(1) != 0;
  Values carried;
  std::vector<Type> types = {as_declared(Tensor::scalar<int64_t>(0), *body.inputs()[0]).type(),
                             as_declared(truth(condition), *body.inputs()[1]).type()};
  for (size_t i = 0; i < states; ++i) {
    carried.push_back(c.input(kFirstState + i));
    types.push_back(carried.back().type());
  }
  std::vector<ScanOutput> scans;
  for (size_t i = states + 1; i < body.outputs().size(); ++i) {
    scans.emplace_back(*body.outputs()[i], 0, false);
  }
  for (int64_t trip = 0; trip < trips && (condition || !c.has(1)); ++trip) {
    Values arguments = {as_declared(Tensor::scalar<int64_t>(trip), *body.inputs()[0]),
                        as_declared(truth(condition), *body.inputs()[1])};
    std::ranges::move(carried, std::back_inserter(arguments));
    Values results = c.run(body, std::move(arguments), trip);
    condition = truth_of(results.at(0).tensor());
    carried.assign(std::make_move_iterator(results.begin() + 1),
                   std::make_move_iterator(results.begin() + 1 + static_cast<ptrdiff_t>(states)));
    for (size_t i = 0; i < scans.size(); ++i) scans[i].add(results.at(states + 1 + i));
  }
  finish(c, body, scans, types, carried);
  return carried;
}

/// Axes and directions may be left out; directions are 0 or 1.
class ScanList {
 public:
  ScanList(const Node& node, std::string_view name, size_t count) : list_(count, 0) {
    const auto* given = node.get<std::vector<int64_t>>(name);
    if (!given) return;
    if (given->size() != count) {
      throw Error(fmt::format("{} has {} entries, not {}", name, given->size(), count));
    }
    list_ = *given;
  }
  int64_t at(size_t index) const { return list_[index]; }

 private:
  std::vector<int64_t> list_;
};

Values scan(const ValueContext& c) {
  const Graph& body = c.subgraph("body");
  const int64_t given = c.node().int_or("num_scan_inputs", 0);
  if (given < 1 || given > static_cast<int64_t>(c.inputs())) {
    throw Error(fmt::format("num_scan_inputs is {}, of {} inputs", given, c.inputs()));
  }
  const auto sequences = static_cast<size_t>(given);
  const size_t states = c.inputs() - sequences;
  require(body, c.inputs(), states);
  const size_t results = body.outputs().size() - states;
  const ScanList axes(c.node(), "scan_input_axes", sequences);
  const ScanList directions(c.node(), "scan_input_directions", sequences);
  const ScanList output_axes(c.node(), "scan_output_axes", results);
  const ScanList output_directions(c.node(), "scan_output_directions", results);
  std::optional<int64_t> length;
  for (size_t i = 0; i < sequences; ++i) {
    const auto& dims = c.input(states + i).tensor().dims();
    const int64_t axis = checked_axis(axes.at(i), static_cast<int64_t>(dims.size()));
    const int64_t size = dims[static_cast<size_t>(axis)];
    if (length.value_or(size) != size) {
      throw Error(fmt::format("it is given sequences of {} and of {} elements", *length, size));
    }
    length = size;
  }
  Values carried;
  std::vector<Type> types;
  for (size_t i = 0; i < states; ++i) {
    carried.push_back(c.input(i));
    types.push_back(carried.back().type());
  }
  for (size_t i = 0; i < sequences; ++i) {
    Type type = c.input(states + i).type();
    const auto rank = static_cast<int64_t>(type.shape->size());
    type.shape->erase(type.shape->begin() + checked_axis(axes.at(i), rank));
    types.push_back(std::move(type));
  }
  std::vector<ScanOutput> scans;
  for (size_t i = 0; i < results; ++i) {
    scans.emplace_back(*body.outputs()[states + i], output_axes.at(i),
                       output_directions.at(i) != 0);
  }
  for (int64_t t = 0; t < *length; ++t) {
    Values arguments = std::move(carried);
    for (size_t i = 0; i < sequences; ++i) {
      const int64_t at = directions.at(i) != 0 ? *length - 1 - t : t;
      arguments.emplace_back(at_index(c.input(states + i).tensor(), axes.at(i), at));
    }
    Values all = c.run(body, std::move(arguments), t);
    carried.assign(std::make_move_iterator(all.begin()),
                   std::make_move_iterator(all.begin() + static_cast<ptrdiff_t>(states)));
    for (size_t i = 0; i < results; ++i) scans[i].add(all.at(states + i));
  }
  finish(c, body, scans, types, carried);
  return carried;
}

constexpr KernelDef kControlFlowKernels[] = {
    {.op = "If", .of_values = if_},
    {.op = "Loop", .of_values = loop},
    {.op = "Scan", .of_values = scan},
};

}  // namespace

std::span<const KernelDef> control_flow_kernels() { return kControlFlowKernels; }

}  // namespace onward::eval
