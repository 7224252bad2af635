#include "proto/mapped_tensors.h"

#include <fmt/format.h>

#include "ir/source.h"
#include "onward/error.h"
#include "proto/external_data.h"

namespace onward {
namespace {

class MappedReader {
 public:
  void read(Graph& graph) {
    for (Value* initializer : graph.initializers()) {
      if (initializer->tensor()) read(graph, *initializer);
    }
    for (const auto& node : graph.nodes()) {
      for (Graph* subgraph : node->subgraphs()) read(*subgraph);
    }
  }

  /// The data as it was read, for those tensors that were still as read.
  std::unordered_map<const Value*, Initializer> with_copies(
      std::unordered_map<const Value*, Initializer> as_read) const {
    for (const auto& [value, mapped] : mapped_) {
      const auto found = as_read.find(value);
      if (found == as_read.end() || !found->second.dense()) continue;
      if (found->second.dense()->shares_bytes_with(mapped)) found->second.data = *value->tensor();
    }
    return as_read;
  }

  bool any() const { return !mapped_.empty(); }

 private:
  void read(Graph& graph, Value& value) {
    const Tensor mapped = *value.tensor();
    Tensor copy;
    try {
      copy = in_memory(mapped);
    } catch (Error& error) {
      throw error.add_context(fmt::format("in tensor '{}'", value.name()));
    }
    if (copy.shares_bytes_with(mapped)) return;
    graph.set_initializer(&value, std::move(copy));
    mapped_.emplace_back(&value, mapped);
  }

  std::vector<std::pair<const Value*, Tensor>> mapped_;
};

}  // namespace

Tensor in_memory(const Tensor& tensor) {
  const MappedFile* file = MappedFile::holding(tensor.bytes().data());
  if (!file) return tensor;
  auto bytes = std::make_shared<std::string>(tensor.bytes().size(), '\0');
  file->read(tensor.bytes().data(), std::as_writable_bytes(std::span(*bytes)));
  return Tensor::from_bytes(tensor.dtype(), tensor.dims(), std::move(bytes));
}

void read_mapped(Model& model) {
  MappedReader reader;
  for_each_top_level_graph(model, [&](Graph& graph, GraphRole) { reader.read(graph); });
  if (!model.source || !reader.any()) return;
  auto source = std::make_shared<Source>(*model.source);
  source->as_read = reader.with_copies(std::move(source->as_read));
  model.source = std::move(source);
}

}  // namespace onward
