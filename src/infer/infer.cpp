#include "infer/infer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <unordered_set>

#include "infer/attention_types.h"
#include "infer/constraints.h"
#include "infer/context.h"
#include "infer/guards.h"
#include "infer/ml_types.h"
#include "infer/propagate.h"
#include "onward/error.h"
#include "proto/proto.h"

namespace onward {
namespace {

/// A bound on what a hostile chain of nodes can make of one long shape.
constexpr size_t kMaxInferredBytes = size_t{256} << 20;

/// Operators that the standard gives a function body but no rule, or a rule for the type alone: the
/// rule of an operator with the same relation of output to input is run instead.
struct StandIn {
  std::string_view op;
  std::string_view rule_of;
};
constexpr StandIn kStandIns[] = {
    {"GreaterOrEqual", "Greater"},
    {"LessOrEqual", "Less"},
    {"MeanVarianceNormalization", "Identity"},
    {"GroupNormalization", "Identity"},
};

/// Operators whose rules take a dimension that is not known for one that is wrong.
constexpr std::string_view kNeedShapes[] = {"FlexAttention", "Resize", "StringNormalizer"};

/// A subgraph with another number of inputs than its operator gives it.
struct Misfit : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The gradient of y by each of xs has the type of that x; the standard has no rule for it.
void infer_gradient(const Node& node, std::span<Type> outputs) {
  const auto* xs = node.get<References>("xs");
  for (size_t i = 0; xs && i < std::min(xs->values.size(), outputs.size()); ++i) {
    outputs[i] = read_type(*xs->values[i]);
  }
}

/// False where a part of the type that is not a shape is unknown.
bool is_complete(const Type& type) {
  switch (type.kind) {
    case Type::Kind::unknown:
      return false;
    case Type::Kind::tensor:
    case Type::Kind::sparse_tensor:
      return type.dtype != DType::undefined;
    case Type::Kind::opaque:
      return true;
    default:
      return type.element && is_complete(*type.element);
  }
}

bool has_known_shape(const Type& type) {
  return type.shape &&
         std::ranges::all_of(*type.shape, [](const Dim& dim) { return dim.value.has_value(); });
}

/// ONNX's text without its tags, on one line.
std::string cleaned(std::string text) {
  for (const std::string_view tag : {"[ShapeInferenceError] ", "[TypeInferenceError] "}) {
    for (size_t at = text.find(tag); at != std::string::npos; at = text.find(tag)) {
      text.erase(at, tag.size());
    }
  }
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
  return text;
}

/// A rule may subtract more than there is: a window that is larger than what it moves over.
void refuse_negative_dims(const onnx::TypeProto& type) {
  if (type.has_sequence_type()) refuse_negative_dims(type.sequence_type().elem_type());
  if (type.has_optional_type()) refuse_negative_dims(type.optional_type().elem_type());
  for (const auto& dim : type.tensor_type().shape().dim()) {
    if (dim.dim_value() < 0) throw Error(fmt::format("dimension {} is negative", dim.dim_value()));
  }
}

size_t shape_bytes(const Type& type) {
  size_t bytes = type.element ? shape_bytes(*type.element) : 0;
  if (type.shape) {
    for (const Dim& dim : *type.shape) bytes += sizeof(Dim) + dim.symbol.size();
  }
  return bytes;
}

/// One walk over a model.
class Inference {
 public:
  Inference(Model& model, Problems& problems, const InferOptions& options)
      : ir_version_(model.ir_version), problems_(problems), options_(options), known_(model) {}

  void run(Graph& graph, GraphRole role) {
    role_ = role;
    walk(graph);
  }

 private:
  void walk(Graph& graph);
  void infer(Node& node);
  void infer_foreign(Node& node);
  std::optional<Refusal> infer_outputs(Node& node, const onnx::OpSchema& schema);
  std::optional<Refusal> run_rule(Node& node, const onnx::OpSchema& schema,
                                  std::vector<Type>& types);
  void enter(Node& node, Graph& subgraph, const std::vector<const onnx::TypeProto*>* input_types);
  void store(const Node& node, Value& value, const Type& type);
  void check_initializer(Value& value);
  void report(const Node& node, Refusal refusal, Severity severity = Severity::error);

  std::string where() const;
  const onnx::OpSchema* find_schema(const Node& node) const;
  bool knows_types(const Node& node) const;

  int64_t ir_version_;
  Problems& problems_;
  InferOptions options_;
  KnownData known_;
  std::unordered_set<const Graph*> visited_;
  GraphRole role_;
  std::vector<const Node*> owners_;  // of the subgraphs that we are in, outermost first
  size_t inferred_bytes_ = 0;
};

std::string Inference::where() const {
  const std::string top = to_string(role_);
  if (owners_.empty()) return top;
  return fmt::format("{}{}subgraph of node '{}'", top, top.empty() ? "" : ", ",
                     owners_.back()->label());
}

void Inference::report(const Node& node, Refusal refusal, Severity severity) {
  // A branch may be written for shapes that this model does not have, and is then never taken.
  const bool about_shapes = refusal.rule == "shape" || refusal.rule == "inference";
  const bool in_branch = std::ranges::any_of(owners_, [](const Node* n) { return n->op == "If"; });
  problems_.add({.severity = about_shapes && in_branch ? Severity::warning : severity,
                 .rule = std::move(refusal.rule),
                 .where = where(),
                 .node = node.label(),
                 .op = node.op,
                 .tensor = std::move(refusal.tensor),
                 .message = std::move(refusal.message)});
}

const onnx::OpSchema* Inference::find_schema(const Node& node) const {
  if (node.opset < 1 || node.opset > std::numeric_limits<int>::max()) return nullptr;
  return onnx::OpSchemaRegistry::Schema(node.op, static_cast<int>(node.opset), node.domain);
}

/// Rules fail where types are unknown, which is then no fault of this node.
bool Inference::knows_types(const Node& node) const {
  const bool needs_shapes = std::ranges::count(kNeedShapes, std::string_view(node.op)) > 0;
  for (const Value* input : node.inputs()) {
    if (input && !is_complete(input->type)) return false;
    if (input && needs_shapes && !has_known_shape(input->type)) return false;
  }
  for (const Graph* subgraph : node.subgraphs()) {
    if (!visited_.contains(subgraph)) continue;  // the rule failed before it asked
    for (const Value* output : subgraph->outputs()) {
      if (!is_complete(output->type)) return false;
    }
  }
  return true;
}

void Inference::check_initializer(Value& value) {
  const Type type = value.initializer()->type();
  Type declared = value.type;
  if (value.initializer()->sparse() && declared.is_tensor()) declared.kind = type.kind;
  if (const auto reason = conflict(declared, type)) {
    const bool only_shapes = !conflict(without_shapes(declared), without_shapes(type));
    // Who feeds an input relies on what it declares; of others the data is what is read.
    const bool harmless = only_shapes && !value.is_input();
    problems_.add({.severity = harmless ? Severity::warning : Severity::error,
                   .rule = only_shapes ? "shape" : "type",
                   .where = where(),
                   .node = {},
                   .op = {},
                   .tensor = value.name(),
                   .message = fmt::format("declared {}, but its data is {}: {}",
                                          to_string(declared), to_string(type), *reason)});
    if (!harmless) return;
    declared = without_shapes(declared);
  }
  // An input may be given another size than its default has.
  const bool fixed = !value.is_input() || ir_version_ < 4;
  if (fixed && value.tensor()) value.type = merge(declared, type);
}

void Inference::walk(Graph& graph) {
  if (!visited_.insert(&graph).second) return;
  for (Value* value : graph.initializers()) check_initializer(*value);
  for (const auto& node : graph.nodes()) infer(*node);
}

void Inference::infer(Node& node) {
  if (const onnx::OpSchema* schema = find_schema(node)) {
    if (auto refusal = infer_outputs(node, *schema)) report(node, std::move(*refusal));
    known_.follow(node);
  } else if (options_.foreign) {
    infer_foreign(node);
  }
  // What no rule has asked for is checked with the types that the file declares.
  for (Graph* subgraph : node.subgraphs()) enter(node, *subgraph, nullptr);
}

void Inference::infer_foreign(Node& node) {
  std::vector<InferredOutput> found;
  try {
    found = options_.foreign(node, known_);
  } catch (const Error& error) {
    report(node, {"inference", "", error.what()});
    return;
  }
  for (size_t i = 0; i < found.size(); ++i) {
    Value* output = node.output(i);
    if (!output) continue;
    store(node, *output, found[i].type);
    if (found[i].elements) known_.keep(*output, std::move(*found[i].elements));
  }
}

std::optional<Refusal> Inference::infer_outputs(Node& node, const onnx::OpSchema& schema) {
  if (auto refusal = guard(node, schema, known_)) return refusal;
  TypeConstraints constraints(node, schema);
  if (auto refusal = constraints.check_inputs()) return refusal;

  std::vector<Type> types(node.outputs().size());
  if (auto refusal = run_rule(node, schema, types)) {
    if (refusal->rule == "arity" || knows_types(node)) return refusal;
    types.assign(types.size(), Type::unknown());
  }
  if (auto refusal = constraints.complete_outputs(types)) return refusal;
  add_ml_shapes(node, types);
  for (size_t i = 0; i < types.size(); ++i) {
    if (Value* output = node.output(i)) store(node, *output, types[i]);
  }
  return std::nullopt;
}

std::optional<Refusal> Inference::run_rule(Node& node, const onnx::OpSchema& schema,
                                           std::vector<Type>& types) {
  if (node.op == "Gradient") {
    infer_gradient(node, types);
    return std::nullopt;
  }
  if (node.op == "Attention" && node.domain.empty()) {
    infer_attention(node, types);
    return std::nullopt;
  }
  const onnx::OpSchema* rule = &schema;
  // Older rules count a last window that begins in the padding at the end; nothing that runs does.
  if (node.domain.empty() && node.int_or("ceil_mode", 0) != 0) {
    rule = onnx::OpSchemaRegistry::Schema(node.op);
  }
  // The first forms' rules overlook axes that are negative or out of order; those of opset 11 do
  // not.
  if (node.domain.empty() && node.opset < 11 && node.attribute("axes")) {
    const onnx::OpSchema* next = onnx::OpSchemaRegistry::Schema(node.op, 11);
    if (next && next->attributes().contains("axes")) rule = next;
  }
  if (!schema.has_type_and_shape_inference_function()) {
    const auto found = std::ranges::find(kStandIns, std::string_view(node.op), &StandIn::op);
    if (found == std::end(kStandIns) || !node.domain.empty()) return std::nullopt;
    rule = onnx::OpSchemaRegistry::Schema(std::string(found->rule_of), 13);
  }
  NodeContext context(node, schema, known_,
                      [&](Graph& graph, const std::vector<const onnx::TypeProto*>& input_types) {
                        enter(node, graph, &input_types);
                      });
  try {
    rule->GetTypeAndShapeInferenceFunction()(context);
    for (size_t i = 0; i < types.size(); ++i) {
      refuse_negative_dims(context.output_type(i));
      types[i] = type_from_proto(context.output_type(i));
    }
  } catch (const Misfit& error) {
    return Refusal{"arity", "", error.what()};
  } catch (const Error& error) {
    return Refusal{"shape", "", fmt::format("the inferred output is impossible: {}", error.what())};
  } catch (const Bug&) {
    throw;
  } catch (const std::out_of_range&) {  // of a container: the rule relied on what is not so
    return Refusal{"inference", "", "its inputs, outputs and attributes do not fit together"};
  } catch (const std::exception& error) {
    return Refusal{"inference", "", cleaned(error.what())};
  }
  return std::nullopt;
}

void Inference::enter(Node& node, Graph& subgraph,
                      const std::vector<const onnx::TypeProto*>* input_types) {
  if (visited_.contains(&subgraph)) return;
  if (owners_.size() == size_t{kDeepestSubgraph}) {
    visited_.insert(&subgraph);
    report(node, {"attribute", "",
                  fmt::format("subgraphs are nested more than {} deep", kDeepestSubgraph)});
    return;
  }
  if (input_types) {
    // Before IR 4 initializers are inputs too, after those that the node gives.
    size_t expected = subgraph.inputs().size();
    while (ir_version_ < 4 && expected > 0 && subgraph.inputs()[expected - 1]->initializer()) {
      --expected;
    }
    if (input_types->size() < expected || input_types->size() > subgraph.inputs().size()) {
      throw Misfit(fmt::format("its subgraph '{}' has {} inputs, but is given {}", subgraph.name,
                               expected, input_types->size()));
    }
    for (size_t i = 0; i < input_types->size(); ++i) {
      if (const onnx::TypeProto* type = (*input_types)[i]) {
        store(node, *subgraph.inputs()[i], type_from_proto(*type));
      }
    }
  }
  owners_.push_back(&node);
  walk(subgraph);
  owners_.pop_back();
}

void Inference::store(const Node& node, Value& value, const Type& type) {
  if (!type.known()) return;
  if (const auto reason = conflict(value.type, type)) {
    const bool only_shapes = !conflict(without_shapes(value.type), without_shapes(type));
    report(node,
           {only_shapes ? "shape" : "type", value.name(),
            fmt::format("declared {}, but inferred {}: {}", to_string(value.type), to_string(type),
                        *reason)},
           only_shapes ? Severity::warning : Severity::error);
    if (!only_shapes) return;
    // Files in the wild declare shapes that are not so; what follows from the inputs is.
    value.type = without_shapes(value.type);
  }
  inferred_bytes_ += shape_bytes(type);
  const bool too_much = inferred_bytes_ > kMaxInferredBytes;
  value.type = merge(value.type, too_much ? without_shapes(type) : type);
}

}  // namespace

Type without_shapes(Type type) {
  type.shape.reset();
  if (type.element) type.element = std::make_shared<const Type>(without_shapes(*type.element));
  return type;
}

void infer_types(Model& model, Problems& problems, const InferOptions& options) {
  Inference inference(model, problems, options);
  for_each_top_level_graph(model,
                           [&](Graph& graph, GraphRole role) { inference.run(graph, role); });
}

}  // namespace onward
