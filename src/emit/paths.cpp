#include "emit/paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace onward::emit {
namespace {

// Attributes that a module of torch, a ModuleDict or a model of Keras has already.
constexpr std::string_view kTorchWords[] = {"add_module",
                                            "apply",
                                            "bfloat16",
                                            "buffers",
                                            "call_super_init",
                                            "children",
                                            "clear",
                                            "compile",
                                            "cpu",
                                            "cuda",
                                            "double",
                                            "dump_patches",
                                            "eval",
                                            "extra_repr",
                                            "float",
                                            "forward",
                                            "half",
                                            "items",
                                            "keys",
                                            "modules",
                                            "parameters",
                                            "pop",
                                            "register_buffer",
                                            "register_module",
                                            "register_parameter",
                                            "requires_grad_",
                                            "share_memory",
                                            "state_dict",
                                            "T_destination",
                                            "to",
                                            "train",
                                            "training",
                                            "type",
                                            "update",
                                            "values",
                                            "xpu",
                                            "zero_grad"};
constexpr std::string_view kKerasWords[] = {"activity_regularizer",
                                            "add_loss",
                                            "add_metric",
                                            "add_weight",
                                            "autocast",
                                            "build",
                                            "built",
                                            "call",
                                            "compile",
                                            "compiled",
                                            "compute_dtype",
                                            "compute_loss",
                                            "count_params",
                                            "dtype",
                                            "dtype_policy",
                                            "evaluate",
                                            "export",
                                            "fit",
                                            "get_config",
                                            "get_layer",
                                            "get_weights",
                                            "input",
                                            "input_dtype",
                                            "input_spec",
                                            "inputs",
                                            "jit_compile",
                                            "layers",
                                            "load_weights",
                                            "loss",
                                            "losses",
                                            "metrics",
                                            "metrics_names",
                                            "name",
                                            "non_trainable_variables",
                                            "non_trainable_weights",
                                            "optimizer",
                                            "output",
                                            "outputs",
                                            "path",
                                            "predict",
                                            "quantize",
                                            "run_eagerly",
                                            "save",
                                            "save_weights",
                                            "state",
                                            "stop_training",
                                            "summary",
                                            "supports_jit",
                                            "supports_masking",
                                            "test_step",
                                            "to_json",
                                            "train_step",
                                            "trainable",
                                            "trainable_variables",
                                            "trainable_weights",
                                            "variable_dtype",
                                            "variables",
                                            "weights"};

bool is_reserved(Target target, std::string_view part) {
  const auto words = target == Target::torch ? std::span<const std::string_view>(kTorchWords)
                                             : std::span<const std::string_view>(kKerasWords);
  return part.starts_with("_") || std::ranges::find(words, part) != words.end();
}

}  // namespace

bool is_number(std::string_view part) {
  return !part.empty() && std::ranges::all_of(part, [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
}

std::vector<std::string> path_parts(std::string_view path) {
  std::vector<std::string> parts;
  std::string part;
  for (const char c : path) {
    if (c == '.' || c == '/') {
      if (!part.empty()) parts.push_back(part);
      part.clear();
    } else {
      part += c;
    }
  }
  if (!part.empty()) parts.push_back(part);
  return parts;
}

AttributePaths::AttributePaths(Target target) : target_(target) {}

bool AttributePaths::is_free(const std::string& path) const {
  if (taken_.contains(path) || containers_.contains(path)) return false;
  // A layer is no container of another.
  for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) {
    if (taken_.contains(path.substr(0, dot))) return false;
  }
  return true;
}

std::string AttributePaths::take(std::string_view wanted) {
  std::string base;
  const auto parts = path_parts(wanted);
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool inside = target_ == Target::torch && i > 0;
    std::string part =
        is_number(parts[i]) && (inside || !base.empty()) ? parts[i] : identifier(parts[i]);
    PythonNames words;
    if (words.has(part)) part += '_';
    if (is_reserved(target_, part)) part = (part.starts_with("_") ? "x" : "") + part + "_";
    if (!base.empty()) base += inside ? "." : "_";
    base += part;
  }
  if (base.empty()) base = "value";
  std::string path = base;
  for (int i = 2; !is_free(path); ++i) path = fmt::format("{}_{}", base, i);
  taken_.insert(path);
  for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) {
    containers_.insert(path.substr(0, dot));
  }
  return path;
}

std::string AttributePaths::expression(std::string_view path) {
  std::string text = "self";
  for (const std::string& part : path_parts(path)) {
    text += is_number(part) ? fmt::format("[\"{}\"]", part) : "." + part;
  }
  return text;
}

}  // namespace onward::emit
