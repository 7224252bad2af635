#include "format/save_model_proto.h"

#include <fmt/format.h>
#include <onnx/defs/schema.h>

#include <unordered_set>

#include "format/build_graph.h"
#include "ir/source.h"
#include "onward/error.h"
#include "proto/proto.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

using StringEntries = google::protobuf::RepeatedPtrField<onnx::StringStringEntryProto>;

void clear_data(onnx::TensorProto& proto) {
  proto.clear_float_data();
  proto.clear_int32_data();
  proto.clear_string_data();
  proto.clear_int64_data();
  proto.clear_double_data();
  proto.clear_uint64_data();
  proto.clear_raw_data();
  proto.clear_external_data();
  proto.clear_data_location();
}

bool same_folder(const fs::path& a, const fs::path& b) {
  std::error_code failure;
  return fs::equivalent(a.empty() ? "." : a, b.empty() ? "." : b, failure) && !failure;
}

template <typename List>
bool equal_entries(const List& list, const StringEntries& entries) {
  return std::equal(list.begin(), list.end(), entries.begin(), entries.end(),
                    [](const auto& pair, const auto& entry) {
                      return pair.first == entry.key() && pair.second == entry.value();
                    });
}

/// Rewrites entries only where they differ: an untouched file stays equal to the last field.
template <typename List>
void put_entries(const List& list, StringEntries* entries) {
  if (equal_entries(list, *entries)) return;
  entries->Clear();
  for (const auto& [key, value] : list) {
    auto* entry = entries->Add();
    entry->set_key(key);
    entry->set_value(value);
  }
}

Metadata as_pairs(const std::vector<Binding>& bindings) {
  Metadata pairs;
  for (const Binding& each : bindings) pairs.emplace_back(each.target->name(), each.source->name());
  return pairs;
}

int since_version(const std::string& op, int64_t opset, const std::string& domain) {
  const auto* schema = onnx::OpSchemaRegistry::Schema(op, static_cast<int>(opset), domain);
  return schema ? schema->since_version() : -1;
}

class Saver {
 public:
  Saver(const Model& model, const SaveOptions& options, const fs::path& folder)
      : model_(model),
        source_(options.use_source ? model.source.get() : nullptr),
        stays_in_folder_(source_ && !folder.empty() && !source_->folder.empty() &&
                         same_folder(folder, source_->folder)) {
    for (const OpsetImport& import : model.opsets) opsets_[import.domain] = import.version;
  }

  UnsavedModel prepare() {
    if (source_ && source_->inlined_functions && !all_graphs_unchanged()) source_ = nullptr;
    if (source_) result_.proto = source_->proto;
    put_graph(*model_.graph, result_.proto.mutable_graph());
    put_training_infos();
    put_header();
    return std::move(result_);
  }

 private:
  bool unchanged(const Graph& graph) const {
    if (!source_) return false;
    const auto read = source_->edits.find(&graph);
    return read != source_->edits.end() && read->second == graph.edits();
  }

  bool all_graphs_unchanged() const {
    bool all = true;
    for_each_top_level_graph(model_,
                             [&](const Graph& graph, GraphRole) { all = all && unchanged(graph); });
    return all;
  }

  void put_graph(const Graph& graph, onnx::GraphProto* proto) {
    if (!unchanged(graph)) {
      for_each_node(graph, [&](const Node& node) { import_opset_of(node); });
      *proto = to_proto(graph, InitializerData::left_out);
    }
    std::unordered_map<std::string_view, const Value*> by_name;
    for (const Value* value : graph.initializers()) by_name.emplace(value->name(), value);
    for (auto& tensor : *proto->mutable_initializer()) {
      const auto found = by_name.find(tensor.name());
      if (found != by_name.end() && found->second->tensor()) put_tensor(*found->second, tensor);
    }
  }

  void put_tensor(const Value& value, onnx::TensorProto& proto) {
    const Tensor& tensor = *value.tensor();
    const bool external = proto.data_location() == onnx::TensorProto::EXTERNAL;
    if (as_read(value)) {
      if (external && stays_in_folder_) return;
      // Numbers in typed fields and strings are in the message still; raw bytes were taken out of
      // it.
      const bool in_message = !external && !raw_bytes_were_taken(value, proto);
      if (in_message) return;
    }
    result_.had_external_data = result_.had_external_data || external;
    clear_data(proto);
    proto.clear_dims();
    for (const int64_t dim : tensor.dims()) proto.add_dims(dim);
    proto.set_data_type(static_cast<int32_t>(tensor.dtype()));
    if (tensor.dtype() == DType::string) {
      for (const std::string& text : tensor.strings()) proto.add_string_data(text);
    } else {
      result_.tensors.push_back({&proto, tensor});
    }
  }

  bool as_read(const Value& value) const {
    if (!source_) return false;
    const auto found = source_->as_read.find(&value);
    return found != source_->as_read.end() && found->second.dense() &&
           found->second.dense()->shares_bytes_with(*value.tensor()) && unchanged(value.graph());
  }

  static bool raw_bytes_were_taken(const Value& value, const onnx::TensorProto& proto) {
    const bool has_typed_data = proto.float_data_size() || proto.int32_data_size() ||
                                proto.string_data_size() || proto.int64_data_size() ||
                                proto.double_data_size() || proto.uint64_data_size();
    return value.tensor()->size() > 0 && !has_typed_data;
  }

  void put_training_infos() {
    auto* infos = result_.proto.mutable_training_info();
    if (infos->size() != static_cast<int>(model_.training.size())) infos->Clear();
    for (size_t i = 0; i < model_.training.size(); ++i) {
      const TrainingInfo& info = model_.training[i];
      auto* proto =
          static_cast<int>(i) < infos->size() ? infos->Mutable(static_cast<int>(i)) : infos->Add();
      put_optional_graph(
          info.initialization.get(), proto->has_initialization(),
          [&] { return proto->mutable_initialization(); }, [&] { proto->clear_initialization(); });
      put_optional_graph(
          info.algorithm.get(), proto->has_algorithm(), [&] { return proto->mutable_algorithm(); },
          [&] { proto->clear_algorithm(); });
      put_entries(as_pairs(info.initialization_bindings), proto->mutable_initialization_binding());
      put_entries(as_pairs(info.update_bindings), proto->mutable_update_binding());
    }
  }

  /// The message of an info can be patched only where the info that it came from still has its
  /// place.
  template <typename Mutable, typename Clear>
  void put_optional_graph(const Graph* graph, bool present, Mutable get, Clear clear) {
    if (!graph) return clear();
    if (unchanged(*graph) && !present) {
      throw Bug("training infos changed places since the file was read");
    }
    put_graph(*graph, get());
  }

  /// Nodes that came from functions, or were added by us, must mean the same in the model's opset.
  void import_opset_of(const Node& node) {
    const auto [import, added] = opsets_.emplace(node.domain, node.opset);
    if (added || import->second == node.opset) return;
    if (since_version(node.op, node.opset, node.domain) !=
        since_version(node.op, import->second, node.domain)) {
      throw Error(fmt::format(
          "node '{}' ({}) is written for version {} of its operator set, the model for version {}",
          node.label(), node.op, node.opset, import->second));
    }
  }

  bool opsets_as_in_message() const {
    const auto& imports = result_.proto.opset_import();
    if (imports.size() != static_cast<int>(opsets_.size())) return false;
    return std::all_of(imports.begin(), imports.end(), [&](const auto& import) {
      const auto found = opsets_.find(canonical_domain(import.domain()));
      return found != opsets_.end() && found->second == import.version();
    });
  }

  void put_header() {
    onnx::ModelProto& proto = result_.proto;
    const auto put = [](const auto& current, const auto& wanted, auto set) {
      if (current != wanted) set(wanted);
    };
    put(proto.ir_version(), model_.ir_version, [&](int64_t v) { proto.set_ir_version(v); });
    put(proto.producer_name(), model_.producer_name,
        [&](const auto& v) { proto.set_producer_name(v); });
    put(proto.producer_version(), model_.producer_version,
        [&](const auto& v) { proto.set_producer_version(v); });
    put(proto.domain(), model_.domain, [&](const auto& v) { proto.set_domain(v); });
    put(proto.model_version(), model_.version, [&](int64_t v) { proto.set_model_version(v); });
    put(proto.doc_string(), model_.doc, [&](const auto& v) { proto.set_doc_string(v); });
    put_entries(model_.metadata, proto.mutable_metadata_props());
    if (!opsets_as_in_message() && !same_imports_repeated()) {
      proto.clear_opset_import();
      for (const auto& [domain, version] : opsets_) {
        auto* import = proto.add_opset_import();
        import->set_domain(domain);
        import->set_version(version);
      }
    }
    if (!source_) {
      for (const std::string& configuration : model_.device_configurations) {
        if (!proto.add_configuration()->ParseFromString(configuration)) {
          throw Bug("a device configuration that was read can't be read again");
        }
      }
    }
  }

  /// Some files import a domain twice, in the same version: harmless, and kept as it is.
  bool same_imports_repeated() const {
    const auto& imports = result_.proto.opset_import();
    return source_ && imports.size() == static_cast<int>(model_.opsets.size()) &&
           std::equal(imports.begin(), imports.end(), model_.opsets.begin(),
                      [](const auto& import, const OpsetImport& ours) {
                        return canonical_domain(import.domain()) == ours.domain &&
                               import.version() == ours.version;
                      });
  }

  const Model& model_;
  const Source* source_;
  const bool stays_in_folder_;
  Opsets opsets_;
  UnsavedModel result_;
};

}  // namespace

UnsavedModel prepare_to_save(const Model& model, const SaveOptions& options,
                             const fs::path& folder) {
  return Saver(model, options, folder).prepare();
}

}  // namespace onward
