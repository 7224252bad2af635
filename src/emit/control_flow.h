#pragma once

// If, Loop, Scan and SequenceMap: what their graphs carry and gather, and how Python's own branches
// and loops say them. A dialect whose functions are traced takes these where numbers of the source
// decide, and functions of the framework where tensors do (keras/control_flow.cpp).

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "emit/call.h"

namespace onward::emit {

/// A graph of a node; throws Error where it has none of that name.
const Graph& graph_of(const Node& node, std::string_view attribute);
/// Some of a graph's results; throws Error where there are fewer.
std::vector<const Value*> outputs_of(const Graph& graph, size_t from, size_t to);
/// What a variable of its own is called that stands for a value: its name without a number.
std::string plain_name(const Value* value);
/// Whether results depend on a value.
bool any_reads(std::span<const Value* const> results, const Value* value);
/// Whether a value is a sequence, or optional: no tensor.
bool is_container(const Value* value);
/// Whether a graph, or one inside of it, computes with such.
bool has_containers(const Graph& graph);
/// The sizes of what is stacked along an axis of a result; nothing where the model does not say
/// them.
std::optional<std::vector<int64_t>> slice_dims(const Value& output, int64_t axis);

/// A state that an iteration begins with and ends with.
struct Carried {
  const Value *input, *result;
};

/// What a Loop does.
struct LoopFacts {
  const Graph* graph;
  const Value *number, *given, *next;  // of its graph: the iteration, the condition, the next one
  std::vector<Carried> states;
  std::vector<const Value*> gathered;
  bool may_end = false;        // before the number of trips is reached
  bool carries_truth = false;  // something reads the condition
  bool counts = false;         // something reads the iteration
};

/// Throws Error where the node's graph does not fit it.
LoopFacts loop_facts(const Node& node, const Known& known);

/// What a Scan does.
struct ScanFacts {
  struct Along {
    const Value* value;  // of its graph
    int64_t axis;
    bool is_backwards;
  };
  const Graph* graph;
  std::vector<Carried> states;
  std::vector<Along> inputs, outputs;
  bool has_any = false;  // it is known that there is an element
};

ScanFacts scan_facts(const Node& node);

/// What Python's own control flow is written with.
struct LoopWords {
  std::string_view truth;  // a condition that holds, as a tensor
  std::string_view stack;  // a list as a tensor: "torch.stack({})"
  std::string_view axis;   // an option of that: ", dim={}"
};

/// A loop in Python: what it goes on with, and what it gathers in lists.
class PythonLoop {
 public:
  PythonLoop(const Node& node, const Graph& graph, Body& body, const LoopWords& words)
      : node_(node), graph_(graph), body_(body), words_(words) {}

  /// A variable that begins as `first`.
  void carry(Carried state, const std::string& first);
  /// A list of what each iteration gives.
  void gather(const Value* result);
  /// "for step in range(3):"; the states have their names inside.
  void open(const std::string& line);
  /// Writes the graph, and what the next iteration begins with; ends the loop.
  void close();

  /// Behind the loop: what is carried, and what is gathered, as a tensor along an axis.
  void give_carried(size_t index, const Value* output);
  void give_gathered(size_t index, const Value* output, int64_t axis, bool is_backwards,
                     bool has_any);
  const std::string& list(size_t index) const { return lists_[index].second; }

 private:
  const Node& node_;
  const Graph& graph_;
  Body& body_;
  const LoopWords& words_;
  std::vector<std::pair<Carried, std::string>> states_;
  std::vector<std::pair<const Value*, std::string>> lists_;
};

/// "for row in rows:", or "for a, b in zip(rows, others, strict=True):".
std::string for_each(const std::vector<std::string>& names, const std::vector<std::string>& rows);

/// An If whose condition is known, as the branch that it takes; false where it is not.
bool write_known_branch(const Node& node, Body& body);
/// An If as Python's own, by a condition that it can read.
void python_if(const Node& node, Body& body, const std::string& condition);
/// A Loop as Python's own; `trips` are what it goes over: "range(3)".
void python_loop(const Node& node, const LoopFacts& facts, Body& body, const std::string& trips,
                 const LoopWords& words);
void python_sequence_map(const Node& node, Body& body, const LoopWords& words);

/// The result of a SequenceLength or OptionalHasElement, which Python computes.
void sequence_length(const Node& node, Body& body);
void has_element(const Node& node, Body& body);

}  // namespace onward::emit
