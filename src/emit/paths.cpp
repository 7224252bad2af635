#include "emit/paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace onward::emit {
namespace {

// Attributes that a module of torch, a ModuleDict, a model of Keras or our own class has already.
constexpr std::string_view kTorchWords =
    "T_destination add_module apply bfloat16 buffers call_super_init children clear compile cpu "
    "cuda double dump_patches eval extra_repr float forward get_buffer get_extra_state "
    "get_parameter get_submodule half ipu items keys load_state_dict modules mtia named_buffers "
    "named_children named_modules named_parameters parameters pop register_backward_hook "
    "register_buffer register_forward_hook register_forward_pre_hook register_full_backward_hook "
    "register_full_backward_pre_hook register_load_state_dict_post_hook "
    "register_load_state_dict_pre_hook register_module register_parameter "
    "register_state_dict_post_hook register_state_dict_pre_hook requires_grad_ set_extra_state "
    "set_submodule share_memory state_dict to to_empty train training type update values xpu "
    "zero_grad";
constexpr std::string_view kKerasWords =
    "activity_regularizer add_loss add_metric add_variable add_weight autocast build "
    "build_from_config built call call_signature_parameters compile compile_from_config compiled "
    "compiled_loss compiled_metrics compute_dtype compute_loss compute_mask compute_metrics "
    "compute_output_shape compute_output_spec count_params distribute_reduction_method "
    "distribute_strategy dtype dtype_policy evaluate export fit from_config get_build_config "
    "get_compile_config get_config get_layer get_metrics_result get_quantization_layer_structure "
    "get_state_tree get_weights in_step input input_dtype input_spec inputs jit_compile layers "
    "load_own_variables load_weights loss losses make_predict_function make_test_function "
    "make_train_function metrics metrics_names metrics_variables name non_trainable_variables "
    "non_trainable_weights optimizer output outputs path predict predict_function "
    "predict_on_batch predict_step quantization_mode quantize quantized_build quantized_call "
    "rematerialized_call reset_metrics results run_eagerly save save_own_variables save_weights "
    "set_state_tree set_weights state stateless_call stateless_compute_loss step "
    "steps_per_execution stop_training summary supports_jit supports_masking symbolic_call "
    "tensors test_function test_on_batch test_step to_json train_function train_on_batch "
    "train_step trainable trainable_variables trainable_weights unrolled_steps_per_execution "
    "variable_dtype variables weights";

bool has_word(std::string_view words, std::string_view word) {
  for (size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' '))
      return true;
  }
  return false;
}

bool is_reserved(Target target, std::string_view part) {
  return part.starts_with("_") ||
         has_word(target == Target::torch ? kTorchWords : kKerasWords, part);
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
  // "count/params" is one attribute in Keras, and a method there.
  if (is_reserved(target_, base)) base += '_';
  // Where "a" is a layer or a tensor, "a.b" has no place inside it.
  if (std::ranges::any_of(taken_, [&](const auto& each) { return base.starts_with(each + "."); })) {
    std::ranges::replace(base, '.', '_');
  }
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
