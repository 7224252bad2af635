#include "emit/torch/calls.h"

#include "emit/shared_calls.h"

namespace onward::emit::torch {
namespace {

// clang-format off
constexpr CallRow kCalls[] = {
    {"Abs",                "torch.abs({0})"},
    {"Add",                "{~0} + {~1}"},
    {"And",                "torch.logical_and({0}, {1})"},
    {"AveragePool",        average_pool},
    {"BatchNormalization", batch_norm, 3},
    {"Cast",               cast},
    {"Clip",               clip},
    {"Concat",             "torch.cat([{*}], dim={axis:0})"},
    {"Constant",           constant},
    {"ConstantOfShape",    constant_of_shape},
    {"Conv",               conv},
    {"ConvTranspose",      conv_transpose, 1, refuse_output_shape},
    {"Div",                div},
    {"Dropout",            dropout, 2},
    {"Equal",              "{~0} == {~1}"},
    {"Erf",                "torch.erf({0})"},
    {"Exp",                "torch.exp({0})"},
    {"Expand",             expand},
    {"Flatten",            flatten},
    {"Gather",             gather},
    {"Gelu",               gelu},
    {"Gemm",               gemm},
    {"GlobalAveragePool",  global_average_pool},
    {"Greater",            "{~0} > {~1}"},
    {"GreaterOrEqual",     "{~0} >= {~1}"},
    {"Identity",           "{0}"},
    {"LayerNormalization", layer_norm},
    {"LeakyRelu",          "{F}.leaky_relu({0}, {alpha:0.01})"},
    {"Less",               "{~0} < {~1}"},
    {"LessOrEqual",        "{~0} <= {~1}"},
    {"Log",                "torch.log({0})"},
    {"LogSoftmax",         "{F}.log_softmax({0}, dim={axis:-1})"},
    {"MatMul",             "{0} @ {1}"},
    {"Max",                max},
    {"MaxPool",            max_pool},
    {"Min",                min},
    {"Mul",                "{~0} * {~1}"},
    {"Neg",                "-{0}"},
    {"NegativeLogLikelihoodLoss", nll_loss},
    {"Not",                "torch.logical_not({0})"},
    {"OneHot",             one_hot},
    {"Or",                 "torch.logical_or({0}, {1})"},
    {"Pad",                pad},
    {"Pow",                pow},
    {"RandomNormal",       random_normal},
    {"RandomNormalLike",   random_normal},
    {"RandomUniform",      random_uniform},
    {"RandomUniformLike",  random_uniform},
    {"Range",              range},
    {"Reciprocal",         "torch.reciprocal({0})"},
    {"ReduceMax",          reduce_max},
    {"ReduceMean",         reduce_mean},
    {"ReduceSum",          reduce_sum},
    {"Relu",               "{F}.relu({0})"},
    {"Reshape",            reshape},
    {"Shape",              shape},
    {"Sigmoid",            "torch.sigmoid({0})"},
    // PyTorch's own gives 0 for NaN.
    {"Sign",               "torch.where(torch.isnan({0}), {0}, torch.sign({0}))"},
    {"Slice",              sliced},
    {"Softmax",            "{F}.softmax({0}, dim={axis:-1})"},
    {"SoftmaxCrossEntropyLoss", cross_entropy, 2},
    {"Softplus",           "-{F}.logsigmoid(-{0})"},
    {"Split",              split, 1U << 30},
    {"Sqrt",               "torch.sqrt({0})"},
    {"Squeeze",            squeeze},
    {"Sub",                "{~0} - {~1}"},
    {"Sum",                sum},
    {"Tanh",               "torch.tanh({0})"},
    {"Transpose",          transpose},
    {"Unsqueeze",          unsqueeze},
    {"Where",              where},
};
// clang-format on

}  // namespace

std::span<const CallRow> calls() { return kCalls; }

}  // namespace onward::emit::torch
