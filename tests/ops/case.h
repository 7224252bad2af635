#pragma once

// One table of operator cases, many verbs: value, gradient, second gradient, shapes known or not. A
// family of operators has its cases in cases_<family>.cpp.

#include <span>
#include <string>
#include <vector>

#include "ir/model.h"
#include "runtime/state.h"

namespace onward {

/// An input of a case: random numbers of a range, or given ones.
struct CaseInput {
  std::string name;
  DType dtype = DType::f64;
  std::vector<int64_t> dims;
  double low = -2, high = 2;
  std::vector<double> values;  // given; else random
};

CaseInput f64(std::string name, std::vector<int64_t> dims, double low = -2, double high = 2);
CaseInput i64(std::string name, std::vector<double> values);  // a vector
CaseInput i64(std::string name, std::vector<int64_t> dims, std::vector<double> values);
CaseInput boolean(std::string name, std::vector<int64_t> dims, std::vector<double> values);

struct Case {
  std::string name;
  std::string text;  // nodes in ONNX's text syntax, in the newest opset; the result is y
  std::vector<CaseInput> inputs;
  /// What is differentiated; by default all float inputs.
  std::vector<std::string> by = {};
  /// The results that a gradient is taken of.
  std::vector<std::string> outputs = {"y"};
  /// The second derivative exists and is checked too.
  bool smooth = true;
  bool has_gradient = true;
  /// Where given, the case must be refused with these words.
  std::string error = {};
  /// The type of the results, which all float inputs have too.
  DType float_type = DType::f64;

  // For rows of the tables: Case{...}.refused("...").
  Case refused(std::string words) const;
  Case differentiated_by(std::vector<std::string> names) const;
  Case giving(std::vector<std::string> names) const;
  Case not_smooth() const;
  Case without_gradient() const;
  /// The same in float32; not for cases that name a type in their text.
  Case in_f32() const;
};

// One function a family.
std::span<const Case> elementwise_cases();
std::span<const Case> activation_cases();
std::span<const Case> cumulative_cases();
std::span<const Case> matrix_cases();
std::span<const Case> shape_cases();
std::span<const Case> indexing_cases();
std::span<const Case> reduction_cases();
std::span<const Case> matmul_cases();
std::span<const Case> conv_cases();
std::span<const Case> pool_cases();
std::span<const Case> normalization_cases();
std::span<const Case> softmax_cases();
std::span<const Case> loss_cases();
std::span<const Case> random_cases();
std::span<const Case> control_flow_cases();
std::span<const Case> sequence_cases();
std::span<const Case> recurrent_cases();
std::span<const Case> quantization_cases();
std::span<const Case> attention_cases();
std::span<const Case> attention_state_cases();
std::span<const Case> image_cases();
std::span<const Case> resize_cases();
std::span<const Case> scatter_cases();
std::span<const Case> selection_cases();
std::span<const Case> signal_cases();
std::span<const Case> fourier_cases();
std::span<const Case> sampling_cases();
std::span<const Case> region_cases();

std::vector<Case> all_cases();

/// Operators of ai.onnx.ml. They are not among all cases either: they know no float64 results, and
/// no framework has them.
std::span<const Case> ml_cases();

/// Operators that have no case, since the inputs of cases are any numbers:
/// tests/python/text_test.py and image_decoder_test.py have texts and files.
bool is_tested_elsewhere(std::string_view op);

/// Operators that only rules and other cases' shapes use, and floats that the shapes of results
/// depend on. They are not among all cases, since frameworks are not asked for them.
std::span<const Case> helper_cases();

/// How much the model of a case says of its inputs' shapes.
enum class Shapes : uint8_t { fixed, symbolic, erased };

/// The case as an inference model: inputs as declared, outputs y (and others).
Model case_model(const Case& tested, Shapes shapes);

/// A model whose training info computes, for weights u of the outputs' shapes (inputs "u_y"), the
/// sum "loss" of u y^2 and its gradients "d_x" by the case's inputs; with `order` 2 also the sum
/// "loss2" of w (d_x)^2, for weights "w_d_x", and its gradients "dd_x".
Model gradient_model(const Case& tested, Shapes shapes, int order = 1);

/// The random tensors of a case, the same at each call.
Tensor case_tensor(const CaseInput& input, uint64_t seed);

/// All inputs of `gradient_model` by name, of either order: the case's own and the weights.
TensorMap case_tensors(const Case& tested);

/// The inputs that the case is differentiated by.
std::vector<std::string> differentiated(const Case& tested);

}  // namespace onward
