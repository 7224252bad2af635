#include "train/preprocess.h"

#include <fmt/format.h>

#include <algorithm>

#include "format/load.h"
#include "onward/error.h"
#include "runtime/parallel.h"
#include "runtime/program.h"
#include "train/pool.h"
#include "train/step_parts.h"

namespace onward {
namespace {

struct Preparing {
  explicit Preparing(const Model& model)
      : state(model), program(graph_alone(model, *model.graph)) {}

  State state;
  Program program;
};

Preprocess::Takes taken_by(const Type& type) {
  const size_t rank = type.is_tensor() && type.shape ? type.shape->size() : 0;
  if (type.dtype == DType::u8 && rank == 1) return Preprocess::Takes::file;
  if (type.dtype == DType::f32 && rank == 1) return Preprocess::Takes::row;
  if (type.dtype == DType::u8 && rank == 3 && type.shape->back().value.value_or(3) == 3) {
    return Preprocess::Takes::pixels;
  }
  throw Error(
      fmt::format("its input is {}: a preprocessing model takes pixels u8[H,W,3], the bytes "
                  "of a file u8[length], or the features of a row f32[K]",
                  to_string(type)));
}

/// The bytes of what it gives, where its type says them.
int64_t bytes_of(const Type& type, int64_t otherwise) {
  if (!type.is_tensor() || !type.shape) return otherwise;
  int64_t bytes = 8;  // no element has more
  for (const Dim& dim : *type.shape) {
    if (!dim.value || *dim.value < 1 || *dim.value > otherwise) return otherwise;
    bytes = std::min<int64_t>(bytes * *dim.value, int64_t{1} << 32);
  }
  return bytes;
}

}  // namespace

Preprocess preprocess_of(const std::string& bytes) {
  if (bytes.size() > kMaxPreprocessBytes) {
    throw Error(
        fmt::format("it has {} bytes, but is kept with the trained model, which may have {}: "
                    "leave out large constants, or prepare the data beforehand",
                    bytes.size(), kMaxPreprocessBytes));
  }
  const auto model = std::make_shared<const Model>(load_bytes(bytes));
  std::vector<const Value*> inputs;
  for (const Value* input : model->graph->inputs()) {
    if (!input->initializer()) inputs.push_back(input);
  }
  const auto& outputs = model->graph->outputs();
  if (inputs.size() != 1 || outputs.size() != 1) {
    throw Error(
        fmt::format("it has {} inputs and {} outputs: a preprocessing model has one of each",
                    inputs.size(), outputs.size()));
  }
  Preprocess preprocess{.takes = taken_by(inputs[0]->type), .model = bytes};
  preprocess.bytes = bytes_of(outputs[0]->type, preprocess.bytes);
  const auto pool = std::make_shared<Pool<Preparing>>();
  preprocess.run = [model, pool, input = inputs[0]->name(),
                    output = outputs[0]->name()](const Tensor& given) {
    const Threads one(1);  // there is one thread for each image
    auto preparing = pool->take([&] { return std::make_unique<Preparing>(*model); });
    const TensorMap found = preparing->program.run({{input, given}}, preparing->state);
    Tensor result = found.at(output);
    pool->give_back(std::move(preparing));
    return result;
  };
  return preprocess;
}

}  // namespace onward
