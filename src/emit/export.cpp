#include "emit/export.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "emit/calls.h"
#include "emit/coverage.h"
#include "emit/job.h"
#include "emit/layout.h"
#include "emit/safetensors.h"
#include "emit/source.h"
#include "format/atomic_file.h"
#include "ir/clone.h"
#include "onward/error.h"
#include "ops/infer_step.h"
#include "ops/legalize.h"
#include "opset/lift.h"

namespace onward::emit {
namespace {

namespace fs = std::filesystem;

/// The inference graph alone, lifted, with its types, in operators that the framework has.
Model inference_part(const Model& model, const Dialect& dialect) {
  Model part;
  part.ir_version = model.ir_version;
  part.opsets = model.opsets;
  part.graph->name = model.graph->name;
  ValueMap map;
  clone_into(*model.graph, *part.graph, map);
  for (Value* output : model.graph->outputs()) part.graph->add_output(mapped(map, output));
  lift(part);
  infer_step_types(part);
  legalize(part,
           {.failure = fmt::format("the model cannot be exported exactly to {}", dialect.framework),
            .refuses = [&](const Node& node) -> std::string {
              // What has no plainer form is refused where it is written, all of it at once,
              // and so is what the table has a reason for.
              const bool goes_on =
                  has_expansion(node) && (!find_call(dialect, node) || can_emit(node.op, dialect));
              return goes_on ? refused_by_framework(node, dialect) : "";
            },
            .advice = kDeclareShapes});
  return part;
}

void write_text(const fs::path& file, const std::string& text) {
  write_atomically(file, [&](int descriptor) { write_all(descriptor, text.data(), text.size()); });
}

using OrderedJson = nlohmann::ordered_json;

/// The tensors of one file, with the map that leads back to the model.
struct TensorFile {
  NamedTensors tensors;
  OrderedJson map = OrderedJson::array();
  OrderedJson own = OrderedJson::array();  // keys of what the source holds and the model does not

  void add(const std::string& name, const std::string& key, const Tensor& tensor,
           const std::vector<int64_t>& permutation) {
    tensors.emplace_back(key, permuted(tensor, permutation));
    add_entry(name);
    if (!permutation.empty()) map.back()["permutation"] = permutation;
  }
  void add_part(const std::string& name, const std::string& key, const Tensor& tensor,
                const Arrangement& arrangement) {
    tensors.emplace_back(key, arranged(tensor, arrangement));
    add_entry(name);
    map.back()["axis"] = arrangement.axis;
    for (const Block& block : arrangement.blocks) {
      map.back()["blocks"].push_back({{"begin", block.begin},
                                      {"count", block.count},
                                      {"offset", block.offset},
                                      {"strides", block.strides}});
    }
  }
  /// For a tensor of the model as the source holds it; `ending` is that of its keys.
  void add_held(const std::string& name, const HeldTensor& held, const Tensor& tensor,
                const std::string& ending = "") {
    if (held.parts.empty()) add(name, held.key + ending, tensor, held.permutation);
    for (const HeldPart& part : held.parts) {
      add_part(name, part.key + ending, tensor, part.arrangement);
    }
  }
  /// A constant that the model computes, or a counter of a layer.
  void add_own(const std::string& key, const Tensor& tensor) {
    tensors.emplace_back(key, tensor);
    own.push_back(key);
  }

 private:
  void add_entry(const std::string& name) {
    const auto& [key, tensor] = tensors.back();
    OrderedJson entry;
    entry["tensor"] = name;
    entry["key"] = key;
    entry["dtype"] = onward::name(tensor.dtype());
    entry["shape"] = tensor.dims();
    map.push_back(std::move(entry));
  }
};

TensorFile weights_of(Module& module) {
  TensorFile file;
  const auto add = [&](const Value* value) {
    const HeldTensor& held = module.context().held.at(value);
    if (value->tensor() && !value->graph().inside()) {
      file.add_held(value->name(), held, *value->tensor());
    } else {
      file.add_own(held.key, *module.context().known->find(value));
    }
  };
  for (const Layer& layer : module.layers()) {
    std::set<const Value*> added;
    for (const LayerTensor& tensor : layer.tensors) {
      if (added.insert(tensor.value).second) add(tensor.value);
    }
    for (const OwnTensor& own : layer.own) {
      file.add_own(fmt::format("{}.{}", layer.path, own.attribute), own.value);
    }
    if (!layer.counter.empty()) {
      file.add_own(layer.path + "." + layer.counter, Tensor::scalar<int64_t>(0));
    }
  }
  for (const Value* value : module.plain_tensors()) add(value);
  return file;
}

TensorFile optimizer_state(const Job& job, Module& module) {
  TensorFile file;
  for (const TrainedParameter& each : job.trained) {
    const auto found = module.context().held.find(each.parameter);
    if (found == module.context().held.end()) {
      throw Error(fmt::format("the job trains '{}', which the model does not read",
                              each.parameter->name()));
    }
    const HeldTensor& held = found->second;
    for (const JobSlot& slot : each.slots) {
      file.add_held(slot.state.name, held, slot.state.value, "." + slot.slot);
    }
  }
  // Frameworks keep these two as numbers of their own types.
  file.add(job.learning_rate.name, "learning_rate",
           Tensor::scalar<double>(job.learning_rate.value.number(0)), {});
  file.map.back()["number"] = true;
  if (job.step) {
    file.add(job.step->name, "step",
             Tensor::scalar<int64_t>(static_cast<int64_t>(job.step->value.number(0))), {});
    file.map.back()["number"] = true;
  }
  return file;
}

void make_folder(const fs::path& folder) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) {
    throw Error(fmt::format("folder '{}' can't be made: {}", folder.string(), failure.message()));
  }
}

}  // namespace

void export_model(const Model& model, const fs::path& folder, const ExportOptions& options) {
  const Dialect& dialect = find_dialect(options.to);
  if (options.info && !dialect.load_and_save_job) {
    throw Error(fmt::format(
        "training jobs are not exported to {} yet; export the model alone with --inference",
        dialect.framework));
  }
  const Model part = inference_part(model, dialect);
  std::optional<Job> job;
  if (options.info) job = read_job(model, *options.info, *part.graph);
  if (job && dialect.looks_through && dialect.looks_through(*job)) job->facts.loss_reads.clear();
  Module module(*part.graph, dialect, job ? job->facts : TrainingFacts{});
  const SourceParts parts{part.graph.get(), &module, job ? &*job : nullptr, options.model_file};
  // Everything that may be refused comes before the first file.
  const std::string source = write_source(dialect, parts);
  const auto example = job ? dialect.example(parts) : std::nullopt;
  const TensorFile weights = weights_of(module);
  OrderedJson map;
  map["target"] = dialect.name;
  map["weights"] = weights.map;
  map["own"] = weights.own;
  std::optional<TensorFile> state;
  if (job) {
    state = optimizer_state(*job, module);
    map["optimizer"] = state->map;
  }
  make_folder(folder);
  write_safetensors(folder / "weights.safetensors", weights.tensors);
  if (state) write_safetensors(folder / "optimizer.safetensors", state->tensors);
  write_text(folder / "onward.json", map.dump(2) + "\n");
  if (example) write_text(folder / "example.py", *example);
  write_text(folder / "model.py", source);
}

}  // namespace onward::emit
