#pragma once

#include <onnx/defs/schema.h>

#include <map>
#include <optional>
#include <span>
#include <string>

#include "infer/guards.h"
#include "ir/graph.h"

namespace onward {

/// The type constraints of an operator: which types each input and output may have, and which of
/// them must be the same. For nodes whose numbers of inputs and outputs are right.
class TypeConstraints {
 public:
  TypeConstraints(const Node& node, const onnx::OpSchema& schema) : node_(node), schema_(schema) {}

  /// Says which input does not fit. Inputs of unknown type fit.
  std::optional<Refusal> check_inputs();

  /// Completes output types that the constraints alone tell, and says which one does not fit.
  std::optional<Refusal> complete_outputs(std::span<Type> outputs);

 private:
  struct Bound {
    std::string name;    // of the type, in the schema's spelling
    Type type;           // without shapes
    const Value* value;  // that has it
    std::string what;    // "input 0"
  };
  using Parameter = onnx::OpSchema::FormalParameter;

  std::optional<Refusal> check(const Parameter& parameter, const Type& type, const Value* value,
                               const std::string& what);

  const Node& node_;
  const onnx::OpSchema& schema_;
  std::map<std::string, Bound> bound_;  // by the schema's type parameter, such as T
};

/// The schema's spelling of a type, such as seq(tensor(float)); nothing where a part is unknown.
std::optional<std::string> schema_type_name(const Type& type);

}  // namespace onward
