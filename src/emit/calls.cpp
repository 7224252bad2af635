#include "emit/calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "emit/emitters.h"
#include "onward/error.h"

namespace onward::emit {
namespace {

constexpr Cell kNoCaseYet = {"", "no case of the tests covers it yet"};
constexpr Cell kControlFlow = {"", "control flow is not exported yet"};
constexpr Cell kNoTensors = {"", "values that are no tensors are not exported yet"};

// clang-format off
constexpr CallRow kCalls[] = {
    // operator            torch                                Keras
    {"Abs",                "torch.abs({0})",                    "ops.abs({0})"},
    {"Add",                "{~0} + {~1}",                       "{~0} + {~1}"},
    {"And",                "torch.logical_and({0}, {1})",       "ops.logical_and({0}, {1})"},
    {"AveragePool",        torch_average_pool,                  keras_average_pool},
    {"BatchNormalization", torch_batch_norm,                    keras_batch_norm, 3},
    {"Cast",               torch_cast,                          keras_cast},
    {"Clip",               torch_clip,                          keras_clip},
    {"Concat",             "torch.cat([{*}], dim={axis:0})",    "ops.concatenate([{*}], axis={axis:0})"},
    {"ConcatFromSequence", kNoTensors,                          kNoTensors},
    {"Constant",           constant,                            constant},
    {"ConstantOfShape",    torch_constant_of_shape,             keras_constant_of_shape},
    {"Conv",               torch_conv,                          keras_conv},
    {"ConvTranspose",      torch_conv_transpose,                keras_conv_transpose},
    {"Div",                torch_div,                           keras_div},
    {"Dropout",            torch_dropout,                       keras_dropout, 2},
    {"Equal",              "{~0} == {~1}",                      "ops.equal({~0}, {~1})"},
    {"Erf",                "torch.erf({0})",                    "ops.erf({0})"},
    {"Exp",                "torch.exp({0})",                    "ops.exp({0})"},
    {"Expand",             torch_expand,                        keras_expand},
    {"Flatten",            torch_flatten,                       keras_flatten},
    {"GRU",                kControlFlow,                        kControlFlow},
    {"Gather",             torch_gather,                        "ops.take({0}, {1}, axis={axis:0})"},
    {"GatherElements",     kNoCaseYet,                          kNoCaseYet},
    {"Gelu",               torch_gelu,                          keras_gelu},
    {"Gemm",               torch_gemm,                          keras_gemm},
    {"GlobalAveragePool",  torch_global_average_pool,           keras_global_average_pool},
    {"Greater",            "{~0} > {~1}",                       "ops.greater({~0}, {~1})"},
    {"GreaterOrEqual",     "{~0} >= {~1}",                      "ops.greater_equal({~0}, {~1})"},
    {"Identity",           "{0}",                               "{0}"},
    {"If",                 kControlFlow,                        kControlFlow},
    {"LSTM",               kControlFlow,                        kControlFlow},
    {"LayerNormalization", torch_layer_norm,                    keras_layer_norm},
    {"LeakyRelu",          "F.leaky_relu({0}, {alpha:0.01})",   "ops.leaky_relu({0}, {alpha:0.01})"},
    {"Less",               "{~0} < {~1}",                       "ops.less({~0}, {~1})"},
    {"LessOrEqual",        "{~0} <= {~1}",                      "ops.less_equal({~0}, {~1})"},
    {"Log",                "torch.log({0})",                    "ops.log({0})"},
    {"LogSoftmax",         "F.log_softmax({0}, dim={axis:-1})", "ops.log_softmax({0}, axis={axis:-1})"},
    {"Loop",               kControlFlow,                        kControlFlow},
    {"MatMul",             "{0} @ {1}",                         "ops.matmul({0}, {1})"},
    {"Max",                torch_max,                           keras_max},
    {"MaxPool",            torch_max_pool,                      keras_max_pool},
    {"Min",                torch_min,                           keras_min},
    {"Mul",                "{~0} * {~1}",                       "{~0} * {~1}"},
    {"Neg",                "-{0}",                              "-{0}"},
    {"NegativeLogLikelihoodLoss", torch_nll_loss,               keras_nll_loss},
    {"NonZero",            kNoCaseYet,                          kNoCaseYet},
    {"Not",                "torch.logical_not({0})",            "ops.logical_not({0})"},
    {"OneHot",             torch_one_hot,                       keras_one_hot},
    {"Optional",           kNoTensors,                          kNoTensors},
    {"OptionalGetElement", kNoTensors,                          kNoTensors},
    {"OptionalHasElement", kNoTensors,                          kNoTensors},
    {"Or",                 "torch.logical_or({0}, {1})",        "ops.logical_or({0}, {1})"},
    {"Pad",                torch_pad,                           keras_pad},
    {"Pow",                torch_pow,                           keras_pow},
    {"RNN",                kControlFlow,                        kControlFlow},
    {"RandomNormal",       torch_random_normal,                 keras_random_normal},
    {"RandomNormalLike",   torch_random_normal,                 keras_random_normal},
    {"RandomUniform",      torch_random_uniform,                keras_random_uniform},
    {"RandomUniformLike",  torch_random_uniform,                keras_random_uniform},
    {"Range",              kNoCaseYet,                          kNoCaseYet},
    {"Reciprocal",         "torch.reciprocal({0})",             "ops.reciprocal({0})"},
    {"ReduceMax",          torch_reduce_max,                    keras_reduce_max},
    {"ReduceMean",         torch_reduce_mean,                   keras_reduce_mean},
    {"ReduceSum",          torch_reduce_sum,                    keras_reduce_sum},
    {"Relu",               "F.relu({0})",                       "ops.relu({0})"},
    {"Reshape",            torch_reshape,                       keras_reshape},
    {"Scan",               kControlFlow,                        kControlFlow},
    {"ScatterElements",    kNoCaseYet,                          kNoCaseYet},
    {"SequenceAt",         kNoTensors,                          kNoTensors},
    {"SequenceConstruct",  kNoTensors,                          kNoTensors},
    {"SequenceEmpty",      kNoTensors,                          kNoTensors},
    {"SequenceErase",      kNoTensors,                          kNoTensors},
    {"SequenceInsert",     kNoTensors,                          kNoTensors},
    {"SequenceLength",     kNoTensors,                          kNoTensors},
    {"SequenceMap",        kControlFlow,                        kControlFlow},
    {"Shape",              torch_shape,                         keras_shape},
    {"Sigmoid",            "torch.sigmoid({0})",                "ops.sigmoid({0})"},
    // PyTorch's own gives 0 for NaN.
    {"Sign",               "torch.where(torch.isnan({0}), {0}, torch.sign({0}))", "ops.sign({0})"},
    {"Size",               kNoCaseYet,                          kNoCaseYet},
    {"Slice",              torch_slice,                         keras_slice},
    {"Softmax",            "F.softmax({0}, dim={axis:-1})",     "ops.softmax({0}, axis={axis:-1})"},
    {"SoftmaxCrossEntropyLoss", torch_cross_entropy,            keras_cross_entropy, 2},
    {"Softplus",           "-F.logsigmoid(-{0})",               "ops.softplus({0})"},
    {"Split",              torch_split,                         keras_split, 1U << 30},
    {"SplitToSequence",    kNoTensors,                          kNoTensors},
    {"Sqrt",               "torch.sqrt({0})",                   "ops.sqrt({0})"},
    {"Squeeze",            torch_squeeze,                       keras_squeeze},
    {"Sub",                "{~0} - {~1}",                       "{~0} - {~1}"},
    {"Sum",                sum,                                 sum},
    {"Tanh",               "torch.tanh({0})",                   "ops.tanh({0})"},
    {"Transpose",          torch_transpose,                     keras_transpose},
    {"Unsqueeze",          torch_unsqueeze,                     keras_unsqueeze},
    {"Where",              torch_where,                         keras_where},
};
// clang-format on

std::string all_inputs(const Call& call) {
  std::vector<std::string> inputs;
  for (size_t i = 0; i < call.inputs(); ++i) inputs.push_back(call.in(i));
  return fmt::format("{}", fmt::join(inputs, ", "));
}

/// What stands for one {...} of a pattern.
std::string filled(std::string_view field, const Call& call) {
  if (field == "*") return all_inputs(call);
  const bool number_allowed = field.starts_with('~');
  if (number_allowed) field.remove_prefix(1);
  const size_t colon = field.find(':');
  if (colon == std::string_view::npos) {
    const auto index = static_cast<size_t>(field[0] - '0');
    return number_allowed ? call.operand(index) : call.in(index);
  }
  const std::string_view name = field.substr(0, colon), fallback = field.substr(colon + 1);
  if (fallback.find('.') != std::string_view::npos) {
    return call.float_attribute(name, std::stof(std::string(fallback)));
  }
  int64_t number = 0;
  std::from_chars(fallback.data(), fallback.data() + fallback.size(), number);
  number = call.int_attribute(name, number);
  return std::to_string(name == "axis" ? call.axis(number) : number);
}

std::string filled_pattern(std::string_view pattern, const Call& call) {
  std::string text;
  while (!pattern.empty()) {
    const size_t open = pattern.find('{');
    if (open == std::string_view::npos) break;
    const size_t close = pattern.find('}', open);
    text += pattern.substr(0, open);
    text += filled(pattern.substr(open + 1, close - open - 1), call);
    pattern.remove_prefix(close + 1);
  }
  return text.append(pattern);
}

}  // namespace

std::span<const CallRow> calls() { return kCalls; }

const CallRow* find_call(const Node& node) {
  if (!node.domain.empty()) return nullptr;
  const auto* found = std::ranges::find(kCalls, node.op, &CallRow::op);
  return found == std::end(kCalls) ? nullptr : found;
}

std::string emit_call(const CallRow& row, const Call& call) {
  const Cell& cell = row.cell(call.target());
  return cell.emitter ? cell.emitter(call) : filled_pattern(cell.pattern, call);
}

}  // namespace onward::emit
