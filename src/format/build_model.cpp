#include <fmt/format.h>

#include "format/build_graph.h"
#include "format/draft/draft.h"
#include "format/load.h"
#include "ir/source.h"
#include "onward/error.h"

namespace onward {
namespace {

using StringEntries = google::protobuf::RepeatedPtrField<onnx::StringStringEntryProto>;

/// Moves the raw bytes of top-level initializers out of the message, so that the IR's tensors can
/// own them and nothing is held twice.
void take_raw_bytes(onnx::GraphProto& graph, TensorOrigin& origin) {
  for (auto& tensor : *graph.mutable_initializer()) {
    if (!tensor.raw_data().empty()) {
      origin.taken[&tensor] = std::shared_ptr<const std::string>(tensor.release_raw_data());
    }
  }
}

class ModelBuilder {
 public:
  ModelBuilder(Source& source, TensorOrigin origin, Problems& problems)
      : source_(source), problems_(problems), graphs_(source.proto, std::move(origin), problems) {}

  Model build() {
    read_header();
    Scope names;
    graphs_.build(source_.proto.graph(), {}, *model_.graph, names);
    for (int i = 0; i < source_.proto.training_info_size(); ++i) {
      add_training_info(source_.proto.training_info(i), static_cast<size_t>(i), names);
    }
    source_.inlined_functions = graphs_.inlined_functions();
    for_each_top_level_graph(model_, [&](const Graph& graph, GraphRole) {
      source_.edits[&graph] = graph.edits();
      for (const Value* value : graph.initializers()) {
        source_.as_read.emplace(value, *value->initializer());
      }
    });
    return std::move(model_);
  }

 private:
  void read_header() {
    const onnx::ModelProto& proto = source_.proto;
    model_.ir_version = proto.ir_version();
    model_.producer_name = proto.producer_name();
    model_.producer_version = proto.producer_version();
    model_.domain = proto.domain();
    model_.doc = proto.doc_string();
    model_.version = proto.model_version();
    for (const auto& entry : proto.metadata_props()) {
      model_.metadata.emplace_back(entry.key(), entry.value());
    }
    for (const auto& import : proto.opset_import()) {
      model_.opsets.push_back({canonical_domain(import.domain()), import.version()});
    }
    for (const auto& configuration : proto.configuration()) {
      model_.device_configurations.push_back(configuration.SerializeAsString());
    }
    const auto wrong = [&](std::string rule, std::string message) {
      problems_.add({.rule = std::move(rule), .message = std::move(message)});
    };
    if (proto.ir_version() < 1 || proto.ir_version() > onnx::Version::IR_VERSION) {
      wrong("ir-version", fmt::format("IR version {} is not one of 1 to {}", proto.ir_version(),
                                      static_cast<int>(onnx::Version::IR_VERSION)));
    } else if (proto.ir_version() >= 3 && proto.opset_import().empty()) {
      wrong("opset", "the model imports no operator set");
    }
  }

  void add_training_info(const onnx::TrainingInfoProto& proto, size_t index, const Scope& names) {
    // Its place must be stable while graphs and bindings refer to each other.
    model_.training.emplace_back();
    TrainingInfo& info = model_.training.back();
    Scope initialization_names;
    if (proto.has_initialization()) {
      info.initialization = std::make_unique<Graph>();
      graphs_.build(proto.initialization(), {GraphRole::initialization, index},
                    *info.initialization, initialization_names);
    }
    Scope algorithm_names(&names);
    if (proto.has_algorithm()) {
      info.algorithm = std::make_unique<Graph>(model_.graph.get());
      graphs_.build(proto.algorithm(), {GraphRole::algorithm, index}, *info.algorithm,
                    algorithm_names);
    }
    const std::string where = fmt::format("training info {}", index);
    if (!info.initialization && proto.initialization_binding_size() > 0) {
      problems_.add({.rule = "initialization-missing",
                     .where = where,
                     .message = "it has initialization bindings, but no initialization graph"});
    } else if (info.initialization) {
      info.initialization_bindings =
          read_bindings(proto.initialization_binding(), where + ", initialization_binding",
                        {info.initialization.get()}, algorithm_names, initialized_);
    }
    std::vector<const Graph*> sources = {model_.graph.get()};
    if (info.algorithm) sources.insert(sources.begin(), info.algorithm.get());
    info.update_bindings = read_bindings(proto.update_binding(), where + ", update_binding",
                                         sources, algorithm_names, updated_);
  }

  /// `seen` holds the keys of all infos so far: two that write one tensor would race.
  std::vector<Binding> read_bindings(const StringEntries& entries, const std::string& where,
                                     const std::vector<const Graph*>& sources, const Scope& names,
                                     std::unordered_set<std::string>& seen) {
    std::unordered_map<std::string_view, Value*> outputs;
    for (const Graph* graph : sources) {
      for (Value* output : graph->outputs()) outputs.emplace(output->name(), output);
    }
    std::vector<Binding> bindings;
    for (const auto& entry : entries) {
      const auto wrong = [&](std::string rule, const std::string& tensor, std::string message) {
        problems_.add({.rule = std::move(rule),
                       .where = where,
                       .tensor = tensor,
                       .message = std::move(message)});
      };
      if (!seen.insert(entry.key()).second) {
        wrong("binding-twice", entry.key(), "two bindings write this initializer");
      }
      Value* target = names.find(entry.key());
      if (!target || (!target->tensor() && !target->is_missing())) {
        wrong("binding-key", entry.key(), refusal_of_key(target));
        target = nullptr;
      }
      const auto source = outputs.find(entry.value());
      if (source == outputs.end()) {
        wrong("binding-value", entry.value(),
              sources.size() > 1 || sources[0] == model_.graph.get()
                  ? "a binding reads it, but it is not an output of the algorithm or of the "
                    "inference graph"
                  : "a binding reads it, but it is not an output of the initialization graph");
      }
      if (target && source != outputs.end()) bindings.push_back({target, source->second});
    }
    return bindings;
  }

  static std::string refusal_of_key(const Value* target) {
    if (!target) return "a binding writes it, but there is no such initializer";
    if (target->initializer()) return "a binding writes it, but it is a sparse initializer";
    if (target->is_input()) return "a binding writes it, but it is an input without a default";
    return "a binding writes it, but it is computed by a node, not an initializer";
  }

  Source& source_;
  Problems& problems_;
  GraphBuilder graphs_;
  Model model_;
  std::unordered_set<std::string> initialized_, updated_;
};

}  // namespace

Model build_model(onnx::ModelProto proto, const LoadOptions& options,
                  const std::filesystem::path& folder) {
  const bool draft = is_draft(proto);
  if (draft) proto = draft_to_standard(proto);
  if (!proto.has_graph()) throw Error("it has no graph: it is not an ONNX model");

  auto source = std::make_shared<Source>();
  source->proto = std::move(proto);
  source->folder = folder;
  TensorOrigin origin;
  origin.owner = source;
  if (!folder.empty()) origin.files = std::make_shared<ExternalFiles>(folder);
  take_raw_bytes(*source->proto.mutable_graph(), origin);
  for (auto& info : *source->proto.mutable_training_info()) {
    if (info.has_initialization()) take_raw_bytes(*info.mutable_initialization(), origin);
    if (info.has_algorithm()) take_raw_bytes(*info.mutable_algorithm(), origin);
  }

  Problems own;
  Problems& problems = options.problems ? *options.problems : own;
  Model model = ModelBuilder(*source, std::move(origin), problems).build();
  own.throw_if_errors();
  model.from_draft = draft;
  if (options.keep_source) model.source = std::move(source);
  return model;
}

}  // namespace onward
