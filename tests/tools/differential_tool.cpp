// Runs models for the differential fuzzer, request by request in one process. A request is a line
// of JSON on the standard input, {"verb", "threads", "runs", "opset", "model": bytes, "tensors":
// bytes}, then the bytes of a ModelProto and of a GraphProto whose initializers are the inputs:
//
//   infer            the inference graph, on the fast path
//   reference        the inference graph, on the reference interpreter
//   step             the first training info's step; a state comes out as NAME.next
//   reference-step   the same on the reference interpreter
//   lower            the step in plain operators, for `opset` (0: the smallest)
//
// The answer is a line {"refused" | "bug": text} or {"bytes": count, "same_bits": ...} and then the
// bytes of a GraphProto with the outputs as initializers, or of the lowered ModelProto. `same_bits`
// says whether all `runs` of the request gave the same.

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <new>
#include <nlohmann/json.hpp>

#include "eval/interpreter.h"
#include "format/load.h"
#include "format/save.h"
#include "grad/differentiate.h"
#include "grad/step.h"
#include "lower/lower.h"
#include "onward/error.h"
#include "proto/proto.h"
#include "train/step_parts.h"
#include "train/trainer.h"

namespace onward {
namespace {

struct Request {
  std::string verb;
  int threads = 1;
  int runs = 1;
  int64_t opset = 0;
  std::string model, tensors;
};

TensorMap read_tensors(const std::string& bytes) {
  onnx::GraphProto graph;
  if (!graph.ParseFromString(bytes)) throw Bug("the inputs are no GraphProto");
  TensorMap tensors;
  for (const auto& each : graph.initializer()) {
    tensors.emplace(each.name(), tensor_from_proto(each, {}));
  }
  return tensors;
}

std::string written(const TensorMap& tensors) {
  onnx::GraphProto graph;
  for (const auto& [name, tensor] : tensors) *graph.add_initializer() = to_proto(tensor, name);
  return graph.SerializeAsString();
}

TensorMap interpreted(const Model& model, const TensorMap& inputs) {
  const Graph& graph = *model.graph;
  eval::Environment values;
  for (const Value* input : graph.inputs()) {
    const auto given = inputs.find(input->name());
    if (given != inputs.end()) values.emplace(input, given->second);
  }
  eval::run_graph(graph, values);
  TensorMap outputs;
  for (const Value* output : graph.outputs())
    outputs.emplace(output->name(), values.at(output).tensor());
  if (model.training.empty()) return outputs;
  for (const Binding& binding : model.training[0].update_bindings) {
    outputs.erase(binding.source->name());
    outputs.emplace(binding.target->name() + ".next", values.at(binding.source).tensor());
  }
  return outputs;
}

TensorMap trained(const Request& request, const TensorMap& inputs) {
  Trainer trainer(load_bytes(request.model), {.threads = request.threads});
  TensorMap outputs = trainer.step(inputs);
  for (const std::string& name : trainer.state().names()) {
    outputs.emplace(name + ".next", trainer.state().get(name));
  }
  return outputs;
}

/// What the request's verb gives, as bytes; once for each run.
std::vector<std::string> results(const Request& request) {
  const TensorMap inputs = read_tensors(request.tensors);
  std::vector<std::string> all;
  if (request.verb == "infer") {
    Trainer trainer(load_bytes(request.model), {.threads = request.threads});
    for (int i = 0; i < request.runs; ++i) all.push_back(written(trainer.infer(inputs)));
  } else if (request.verb == "step") {
    for (int i = 0; i < request.runs; ++i) all.push_back(written(trained(request, inputs)));
  } else if (request.verb == "reference") {
    const Model model = load_bytes(request.model);
    all.push_back(written(interpreted(graph_alone(model, *model.graph), inputs)));
  } else if (request.verb == "reference-step") {
    Model step = join_step(load_bytes(request.model), 0);
    replace_gradients(step);
    all.push_back(written(interpreted(step, inputs)));
  } else if (request.verb == "lower") {
    LowerOptions options;
    if (request.opset > 0) options.opset = request.opset;
    all.push_back(to_bytes(lower_step(load_bytes(request.model), 0, options).model));
  } else {
    throw Bug("there is no verb " + request.verb);
  }
  return all;
}

void answer(const nlohmann::json& header, const std::string& bytes = {}) {
  std::cout << header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n'
            << bytes << std::flush;
}

void serve(const Request& request) {
  try {
    const auto all = results(request);
    const bool same = std::ranges::all_of(all, [&](const auto& each) { return each == all[0]; });
    answer({{"bytes", all[0].size()}, {"same_bits", same}}, all[0]);
  } catch (const Error& error) {
    answer({{"refused", error.what()}});
  } catch (const std::bad_alloc&) {
    answer({{"refused", "out of memory"}});
  } catch (const std::exception& error) {
    answer({{"bug", error.what()}});
  }
}

std::string read_bytes(size_t count) {
  std::string bytes(count, '\0');
  std::cin.read(bytes.data(), static_cast<std::streamsize>(count));
  return bytes;
}

void serve_all() {
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);) {
    const auto header = nlohmann::json::parse(line);
    Request request{.verb = header.at("verb"),
                    .threads = header.value("threads", 1),
                    .runs = header.value("runs", 1),
                    .opset = header.value("opset", int64_t{0})};
    request.model = read_bytes(header.at("model"));
    request.tensors = read_bytes(header.at("tensors"));
    serve(request);
  }
}

}  // namespace
}  // namespace onward

int main() { onward::serve_all(); }
