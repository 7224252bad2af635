#include "emit/numpy/calls.h"

#include "emit/shared_calls.h"

namespace onward::emit::numpy {
namespace {

// clang-format off
constexpr CallRow kCalls[] = {
    {"Abs",                "{np}.abs({0})"},
    {"Add",                "{~0} + {~1}"},
    {"And",                "{np}.logical_and({0}, {1})"},
    {"Cast",               cast},
    {"Clip",               clip},
    {"Concat",             "{np}.concatenate([{*}], axis={axis:0})"},
    {"Constant",           constant},
    {"ConstantOfShape",    constant_of_shape},
    {"Div",                div},
    {"Equal",              "{np}.equal({~0}, {~1})"},
    {"Exp",                "{np}.exp({0})"},
    {"Expand",             expand},
    {"Flatten",            flatten},
    {"Gather",             "{np}.take({0}, {1}, axis={axis:0})"},
    {"Gemm",               gemm},
    {"GlobalAveragePool",  global_average_pool},
    {"Greater",            "{np}.greater({~0}, {~1})"},
    {"GreaterOrEqual",     "{np}.greater_equal({~0}, {~1})"},
    {"Identity",           "{0}"},
    {"LeakyRelu",          "{nn}.leaky_relu({0}, {alpha:0.01})"},
    {"Less",               "{np}.less({~0}, {~1})"},
    {"LessOrEqual",        "{np}.less_equal({~0}, {~1})"},
    {"Log",                "{np}.log({0})"},
    {"LogSoftmax",         "{nn}.log_softmax({0}, axis={axis:-1})"},
    {"MatMul",             "{np}.matmul({0}, {1})"},
    {"Max",                max},
    {"Min",                min},
    {"Mul",                "{~0} * {~1}"},
    {"Neg",                "-{0}"},
    {"Not",                "{np}.logical_not({0})"},
    {"OneHot",             one_hot},
    {"Or",                 "{np}.logical_or({0}, {1})"},
    {"Pad",                pad},
    {"Pow",                pow},
    {"Reciprocal",         "{np}.reciprocal({0})"},
    {"ReduceMax",          reduce_max},
    {"ReduceMean",         reduce_mean},
    {"ReduceSum",          reduce_sum},
    {"Relu",               "{nn}.relu({0})"},
    {"Reshape",            reshape},
    {"Sigmoid",            "{nn}.sigmoid({0})"},
    {"Sign",               "{np}.sign({0})"},
    {"Slice",              sliced},
    {"Softmax",            "{nn}.softmax({0}, axis={axis:-1})"},
    {"Softplus",           "{nn}.softplus({0})"},
    {"Split",              split, 1U << 30},
    {"Sqrt",               "{np}.sqrt({0})"},
    {"Squeeze",            squeeze},
    {"Sub",                "{~0} - {~1}"},
    {"Sum",                sum},
    {"Tanh",               "{np}.tanh({0})"},
    {"Transpose",          transpose},
    {"Unsqueeze",          unsqueeze},
    {"Where",              where},
};
// clang-format on

}  // namespace

std::span<const CallRow> calls() { return kCalls; }

}  // namespace onward::emit::numpy
