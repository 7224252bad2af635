#include "emit/keras/dialect.h"

#include "emit/coverage.h"
#include "emit/keras/calls.h"
#include "emit/keras/window.h"
#include "emit/numpy/calls.h"

namespace onward::emit::keras {
namespace {

// Attributes that a model of Keras or our own class has already.
constexpr std::string_view kReservedAttributes =
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

using When = Import::When;
using From = Import::From;

constexpr Import kImports[] = {
    {"itertools", "itertools", "", From::python},
    {"math", "math", "", From::python},
    {"os", "os", "", From::python, When::always},
    {"pathlib", "pathlib", "", From::python, When::always},
    {"uuid", "uuid", "", From::python},
    {"keras", "keras", "", From::packages, When::always},
    {"np", "numpy", "", From::packages, When::always},
    {"layers", "keras", "layers"},
    {"ops", "keras", "ops", From::packages, When::always},
    {"load_file", "safetensors.numpy", "load_file", From::packages, When::always},
    {"save_file", "safetensors.numpy", "save_file", From::packages, When::always},
};

constexpr EmitGap kGaps[] = {
    {"Split", "into equal parts of a dimension whose size is not declared",
     "Keras must know where parts begin"},
};

std::string padded(const Call& c, const WindowFacts& w) { return keras_padded(c, w); }

}  // namespace

const Dialect& dialect() {
  static const Dialect dialect = {
      .name = "keras",
      .framework = "Keras",
      .calls = calls(),
      .shared_calls = numpy::calls(),
      .gaps = kGaps,
      .shared_gaps = gaps_of_most(),
      .np = "ops",
      .nn = "ops",
      .dtype = "\"{}\"",
      .cast = "ops.cast({}, {})",
      .transpose = "ops.transpose({}, {})",
      .constant = "ops.convert_to_tensor({}, dtype={})",
      .size = "ops.shape({})[{}]",
      .size_tensor = "ops.cast(ops.convert_to_tensor({}), {})",
      .takes_sizes_as_tensors = true,
      .choice = "ops.where({}, {}, {})",
      .larger = "ops.maximum({}, {})",
      .smaller = "ops.minimum({}, {})",
      .imports = kImports,
      .names = "HERE Loss RuntimeError SLOTS load optimizer_tensors read save update write",
      .reserved_attributes = kReservedAttributes,
      .channels_last = true,
      .nests_modules = true,
      .keys_are_paths = true,
      .layer = keras_layer,
      .recurrent = keras_recurrent,
      .states_lack_directions = true,
      .plain_layer = keras_plain_layer,
      .activation = keras_activation,
      .patterns = keras_patterns,
      .numbered_modules = "net",
      .padded = padded,
      .about =
          "Needs keras with a backend, numpy and safetensors. Arguments and results have the "
          "order of dimensions of the ONNX model; inside, images\nhave their channels last.",
      .module = keras_classes,
      .load_and_save = load_and_save,
      .loss = loss,
      .optimizer = optimizer,
      .looks_through = looks_through,
      .load_and_save_job = load_and_save_job,
      .example = example,
  };
  return dialect;
}

}  // namespace onward::emit::keras
