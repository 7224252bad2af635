#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/model.h"

namespace onward {

/// A node whose operator form could not be lifted.
struct Unliftable {
  const Node* node;
  std::string reason;  // "Upsample of opset 10 has been withdrawn: ..."
};

/// Rewrites every node into its operator's newest form, so that no kernel, gradient rule or emitter
/// asks for a version, and sets the model's opset imports to the newest. A node that can't be
/// lifted is left in the newest form that says the same and returned; the imports then stay as they
/// were, and Node::opset alone tells what each node is written in.
std::vector<Unliftable> lift_where_possible(Model& model);

/// The same, for models that are to be run or differentiated: their sparse initializers become
/// dense too. Throws an Error that names every operator, version and node that could not be lifted.
void lift(Model& model);

/// Rewrites every node of ai.onnx of an older opset into the form that `opset` has, and sets the
/// import; throws an Error that names every node for which that can't be done.
void lift_to(Model& model, int64_t opset);

/// The newest version of a domain of the standard, or nothing for a domain that is not one.
std::optional<int64_t> newest_opset(std::string_view domain);

/// One version of an operator of the standard.
struct OperatorForm {
  std::string domain;
  std::string op;
  int since_version;
  std::string reason;  // why it can't be lifted
};

/// Every version of every operator of the standard that no rule can lift, in alphabetical order.
std::vector<OperatorForm> unliftable_forms();

}  // namespace onward
