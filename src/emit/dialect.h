#pragma once

// A dialect is what source for one framework is written in. Each has a folder (torch/, jax/) with
// one value of this type and a helpers.py, the functions that calls may need, and a place in the
// list of dialects.cpp. What is the same for all dialects asks the value.

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emit/calls.h"

namespace onward::emit {

class Body;
class Known;
struct Job;
struct Layer;
struct LossText;
struct OptimizerText;
struct Pattern;
struct SourceContext;
struct SourceParts;
struct TrainingFacts;
struct WindowFacts;

/// What a source may import: "import math", "import numpy as np", "from torch import nn".
struct Import {
  enum class From : uint8_t { packages, python };  // the standard library stands first
  enum class When : uint8_t { used, always };

  std::string_view name;       // in the source: "math", "np", "nn"
  std::string_view module;     // "math", "numpy", "torch"
  std::string_view part = {};  // "nn": what is imported from the module
  From from = From::packages;
  When when = When::used;
};

/// Something about an operator that a framework cannot express, though it expresses the operator;
/// exports that need it are refused.
struct EmitGap {
  std::string_view op;
  std::string_view part;  // "its result Indices"
  std::string_view reason;
};

/// Several nodes that a framework has one call for.
struct Idiom {
  std::vector<const Value*> reads;
  std::function<std::string(Body&)> text;
};

struct Dialect {
  std::string_view name;       // "torch": of `--to`, and of its column in `onward ops`
  std::string_view framework;  // "PyTorch": in messages

  // Calls: its own, in alphabetical order, then those that it shares with others.
  std::span<const CallRow> calls;
  std::span<const CallRow> shared_calls = {};
  std::span<const EmitGap> gaps = {};  // both in alphabetical order
  std::span<const EmitGap> shared_gaps = {};
  /// Why it has no call for operators that have no row; empty where every operator must have one.
  std::string_view unwritten = {};

  // Patterns of expressions, as fmt has them.
  std::string_view np = {};    // what {np} stands for in the rows that are shared: "ops"
  std::string_view nn = {};    // the same for {nn}, where activations are
  std::string_view dtype;      // "torch.{}"
  std::string_view cast;       // "{}.to({})"
  std::string_view transpose;  // "torch.permute({}, {})"
  std::string_view constant;   // of a nested list and a type: "torch.tensor({}, dtype={})"
  /// The numbers of a tensor while the source runs: "{}.tolist()", "{}.item()". Empty where the
  /// framework traces functions, in which tensors have no numbers yet.
  std::string_view numbers = {};
  std::string_view number = {};
  /// The size of a tensor's dimension as an integer, "{}.shape[{}]", and a tensor of a list of
  /// such.
  std::string_view size = {};
  std::string_view size_tensor = {};
  bool takes_sizes_as_tensors = false;  // of shapes that functions give their results
  /// One of two numbers by a condition; empty where Python's own conditional expression does it.
  std::string_view choice = {};
  /// The larger and the smaller of two tensors, in an optimizer.
  std::string_view larger = {}, smaller = {};

  // Names
  std::span<const Import> imports;
  /// What functions and constants of every source are called, apart from helpers: "load save HERE".
  std::string_view names;
  /// Variables that functions of the model have besides its values: "params".
  std::string_view reserved_variables = {};
  /// Attributes that a module has already, with spaces between.
  std::string_view reserved_attributes = {};

  // Modules
  /// Layers of images have their channels last; values that pass through them do as well.
  bool channels_last = false;
  /// "layer1.0.conv1" is a module in a module; else its name is layer1_0_conv1.
  bool nests_modules = false;
  /// Weights are found by their attributes ("conv1.weight"); else by their names in the model.
  bool keys_are_paths = false;
  /// How the source reads a tensor that it holds; null for an attribute of self.
  std::string (*held_tensor)(std::string_view key) = nullptr;
  /// A layer for a pattern; its path is left open. Throws Error where the framework has none. Null
  /// where there are no layers.
  Layer (*layer)(const Pattern&, const TrainingFacts&, SourceContext&) = nullptr;
  /// Writes the call of a recurrent layer.
  void (*recurrent)(const Pattern&, const Layer&, Body&) = nullptr;
  /// Its last states have no dimension for directions.
  bool states_lack_directions = false;
  /// A layer for what a node does without weights, "nn.ReLU()", where it is a module of that kind
  /// of torch's, or of any for an empty one; else nothing.
  std::optional<Layer> (*plain_layer)(const Node&, std::string_view kind, SourceContext&) = nullptr;
  /// What a layer calls the activation that a node is, to apply it itself: "relu"; else empty. Null
  /// where layers have none.
  std::string_view (*activation)(const Node&) = nullptr;
  /// More patterns than frameworks have in common, which come before those.
  std::vector<Pattern> (*patterns)(const Graph&, const Known&) = nullptr;
  /// What holds the modules of a model where all of these are numbered; empty where that is the
  /// model itself.
  std::string_view numbered_modules = {};
  /// The first input of a convolution with its pads put around it, by zeros.
  std::string (*padded)(const Call&, const WindowFacts&) = nullptr;
  std::optional<Idiom> (*idiom)(const Node&, const Known&) = nullptr;

  // Source
  /// More about a source, for its first lines: what it needs.
  std::string_view about;
  /// The class, or the function, that computes the model.
  std::string (*module)(const SourceParts&, const std::string& name);
  /// Functions that read and write the weights.
  std::string (*load_and_save)(const SourceParts&, const std::string& name);

  // Training. Null where jobs are not exported.
  LossText (*loss)(const Job&, SourceContext&) = nullptr;
  OptimizerText (*optimizer)(const Job&) = nullptr;
  /// Whether the framework's loss is given the model's results, and reads itself what the job's
  /// loss does. Null where none does.
  bool (*looks_through)(const Job&) = nullptr;
  std::string (*load_and_save_job)(const SourceParts&, const std::string& name, const LossText&,
                                   const OptimizerText&) = nullptr;
  /// example.py: one training step on made-up data.
  std::optional<std::string> (*example)(const SourceParts&) = nullptr;
};

/// All of them; `--to`, the columns of `onward ops` and the tests go by this list.
std::span<const Dialect* const> dialects();

/// By its name; throws Error for one that there is not.
const Dialect& find_dialect(std::string_view name);

/// An element type as an argument of a call: "torch.float64".
std::string dtype_text(const Dialect& dialect, DType dtype);

}  // namespace onward::emit
