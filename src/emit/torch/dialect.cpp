#include "emit/torch/dialect.h"

#include "emit/coverage.h"
#include "emit/torch/calls.h"
#include "emit/torch/window.h"

namespace onward::emit::torch {
namespace {

// Attributes that a module, a ModuleDict or our own class has already.
constexpr std::string_view kReservedAttributes =
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

using When = Import::When;
using From = Import::From;

constexpr Import kImports[] = {
    {"itertools", "itertools", "", From::python},
    {"math", "math", "", From::python},
    {"os", "os", "", From::python, When::always},
    {"pathlib", "pathlib", "", From::python, When::always},
    {"uuid", "uuid", "", From::python},
    {"torch", "torch", "", From::packages, When::always},
    {"F", "torch.nn.functional"},
    {"load_file", "safetensors.torch", "load_file", From::packages, When::always},
    {"save_file", "safetensors.torch", "save_file", From::packages, When::always},
    {"nn", "torch", "nn", From::packages, When::always},
};

std::string padded(const Call& c, const WindowFacts& w) { return torch_padded(c, w); }

}  // namespace

const Dialect& dialect() {
  static const Dialect dialect = {
      .name = "torch",
      .framework = "PyTorch",
      .calls = calls(),
      .shared_gaps = gaps_of_most(),
      .dtype = "torch.{}",
      .cast = "{}.to({})",
      .transpose = "torch.permute({}, {})",
      .constant = "torch.tensor({}, dtype={})",
      .numbers = "{}.tolist()",
      .number = "{}.item()",
      .size = "{}.shape[{}]",
      .size_tensor = "torch.tensor({}, dtype={})",
      .larger = "torch.maximum({}, {})",
      .smaller = "torch.minimum({}, {})",
      .imports = kImports,
      .names = "HERE SLOTS count_step load loss_function save update write",
      .reserved_attributes = kReservedAttributes,
      .nests_modules = true,
      .keys_are_paths = true,
      .layer = torch_layer,
      .recurrent = torch_recurrent,
      .plain_layer = torch_plain_layer,
      .padded = padded,
      .idiom = idiom,
      .about = "Needs torch and safetensors.",
      .module = torch_classes,
      .load_and_save = load_and_save,
      .loss = loss,
      .optimizer = optimizer,
      .load_and_save_job = load_and_save_job,
      .example = example,
  };
  return dialect;
}

}  // namespace onward::emit::torch
