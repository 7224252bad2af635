#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "onward/tensor.h"

namespace onward::api {

struct ModelData;  // of the implementation

/// An input or output of a graph.
struct ValueInfo {
  std::string name;
  std::string type;  // "f32[N,784]"
};

/// One thing that is wrong with a model.
struct Problem {
  bool is_error = true;  // else a warning
  std::string rule;      // a stable name for programs, such as "binding-key"
  std::string message;   // one sentence: where, and why
};

/// An ONNX model with its training infos. It never changes, and copies share it.
class ONWARD_API Model {
 public:
  std::string name() const;
  /// The inputs of the inference graph that have no default.
  std::vector<ValueInfo> inputs() const;
  std::vector<ValueInfo> outputs() const;

  /// The number of training infos, and what a step of one takes besides the inputs of the model.
  size_t training_infos() const;
  std::vector<ValueInfo> training_inputs(size_t info = 0) const;
  std::vector<ValueInfo> training_outputs(size_t info = 0) const;

  /// The tensors that are trained, by name.
  Tensors parameters() const;
  /// All tensors that the model holds: parameters, other state and constants.
  Tensors initializers() const;
  /// A copy in which some initializers have other values of the same type and shape.
  Model with_tensors(const Tensors& tensors) const;

  /// The imported version of each operator set, "" for ai.onnx.
  std::map<std::string, int64_t> opsets() const;

  /// The bytes of the model's file, all data inside.
  std::string to_bytes() const;
  /// The model in ONNX's text syntax, with its training infos; long tensors are shortened.
  std::string to_text() const;

 private:
  friend struct ModelData;
  explicit Model(std::shared_ptr<const ModelData> data);

  std::shared_ptr<const ModelData> data_;
};

struct SaveOptions {
  /// Put the data of initializers of at least 1 KB into a file beside the model.
  bool external_data = false;
};

/// Reads a model: an .onnx file (standard or 2019 draft form) or an .onnxtxt text.
ONWARD_API Model load(const std::filesystem::path& file);
/// Reads a model from memory; external data is looked for in `folder`, or refused where it is
/// empty.
ONWARD_API Model load_bytes(std::string bytes, const std::filesystem::path& folder = {});
/// Reads a model in ONNX's text syntax.
ONWARD_API Model parse(std::string_view text);

/// Writes a model. The file appears whole or not at all.
ONWARD_API void save(const Model& model, const std::filesystem::path& file,
                     const SaveOptions& options = {});

/// Everything that is wrong with a file, however damaged it is, or with a model.
ONWARD_API std::vector<Problem> check(const std::filesystem::path& file);
ONWARD_API std::vector<Problem> check(const Model& model);

}  // namespace onward::api
