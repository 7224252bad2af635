#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "format/scope.h"
#include "ir/model.h"
#include "ir/problems.h"
#include "proto/proto.h"

namespace onward {

/// Which version of each domain the nodes at hand are written for.
using Opsets = std::map<std::string, int64_t, std::less<>>;

/// "" is the name of the standard's own domain; "ai.onnx" is another spelling of it.
std::string canonical_domain(const std::string& domain);

/// The imports of a model or a function; says so where one is given twice or makes no sense.
Opsets read_opsets(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports,
                   const std::string& where, Problems& problems);

/// Builds graphs of the IR from messages. Whatever is wrong is added to `problems` and stood in
/// for, so that one pass finds all that is wrong with a file.
class GraphBuilder {
 public:
  GraphBuilder(const onnx::ModelProto& model, TensorOrigin origin, Problems& problems);

  /// Fills `graph`, whose place in the model is `role`, and defines its names in `scope`.
  void build(const onnx::GraphProto& proto, GraphRole role, Graph& graph, Scope& scope);

  /// True once a call of a model-local function was replaced by the function's nodes.
  bool inlined_functions() const { return inlined_nodes_ > 0; }

 private:
  /// How the nodes at hand are to be read: the model's own, or those of a function being inlined.
  struct Context {
    const Opsets* opsets;
    std::string where;     // for messages
    std::string function;  // "F > G" while inlining, else empty
    std::string prefix;    // put before names while inlining
    bool in_training = false;
    /// While inlining: the arguments that the function's attribute references stand for.
    const std::unordered_map<std::string, const onnx::AttributeProto*>* arguments = nullptr;
    /// How and where those arguments are to be read, since they were written by the caller.
    const Context* caller = nullptr;
    const Scope* caller_scope = nullptr;
    /// While inlining: names of the function's outputs -> the names that the caller gave them.
    const std::unordered_map<std::string, std::string>* output_names = nullptr;
    int depth = 0;
  };

  void build_graph(const onnx::GraphProto& proto, const Context& context, Graph& graph,
                   Scope& scope, bool top_level);
  void add_inputs(const onnx::GraphProto& proto, const Context& context, Graph& graph, Scope& scope,
                  bool top_level);
  void add_initializers(const onnx::GraphProto& proto, const Context& context, Graph& graph,
                        Scope& scope, bool top_level);
  void add_initializer(const std::string& name, Initializer data, const Context& context,
                       Graph& graph, Scope& scope, bool top_level);
  void add_outputs(const onnx::GraphProto& proto, const Context& context, Graph& graph,
                   Scope& scope, bool top_level);
  void add_declared_types(const onnx::GraphProto& proto, const Context& context, Scope& scope);

  using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
  void add_nodes(const Nodes& nodes, const Context& context, Graph& graph, Scope& scope);
  void add_node(const onnx::NodeProto& proto, const Context& context, Graph& graph, Scope& scope,
                const Nodes& all);
  Value* read_input(const std::string& name, const onnx::NodeProto& node, const Context& context,
                    Graph& graph, const Scope& scope, const Nodes& all);
  void define_output(const std::string& name, const onnx::NodeProto& node, const Context& context,
                     Node& built, Scope& scope);

  void add_attributes(const onnx::NodeProto& proto, const Context& context, Node& node,
                      const Scope& scope);
  Attribute::Payload read_attribute(const onnx::AttributeProto& proto, const Context& context,
                                    Node& node, const Scope& scope);
  std::unique_ptr<Graph> read_subgraph(const onnx::GraphProto& proto, const std::string& attribute,
                                       const Context& context, Node& node, const Scope& scope);
  void resolve_gradient_names(const Context& context, Node& node, const Scope& scope);

  const onnx::FunctionProto* find_function(const onnx::NodeProto& node) const;
  void inline_call(const onnx::NodeProto& call, const onnx::FunctionProto& function,
                   const Context& context, Graph& graph, Scope& scope, const Nodes& all);

  Type read_type(const onnx::ValueInfoProto& info, const Context& context);
  bool refuses(Value& value, const Type& type, std::string_view what, const Context& context);
  std::string unresolved_reason(const std::string& name, const Nodes& all, const Context& context);
  std::string fresh_prefix(const onnx::NodeProto& call);
  bool check_name(const std::string& name, std::string_view what, const Context& context,
                  const onnx::NodeProto* node = nullptr);
  void report(std::string rule, const Context& context, std::string tensor, std::string message,
              const onnx::NodeProto* node = nullptr, Severity severity = Severity::error);

  const onnx::ModelProto& model_;
  TensorOrigin origin_;
  Problems& problems_;
  Opsets model_opsets_;
  std::unordered_map<std::string, const onnx::FunctionProto*> functions_;
  std::unordered_map<const onnx::FunctionProto*, Opsets> function_opsets_;
  std::vector<const onnx::FunctionProto*> calls_;  // being inlined, outermost first
  std::unordered_map<std::string, int> prefixes_;
  int64_t inlined_nodes_ = 0;
};

}  // namespace onward
