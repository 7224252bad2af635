#include "emit/keras/calls.h"

#include "emit/shared_calls.h"

namespace onward::emit::keras {
namespace {

// clang-format off
constexpr CallRow kCalls[] = {
    {"AveragePool",        average_pool},
    {"BatchNormalization", batch_norm, 3},
    {"Conv",               conv},
    {"ConvTranspose",      conv_transpose, 1, refuse_output_shape},
    {"Dropout",            dropout, 2},
    {"Erf",                "ops.erf({0})"},
    {"Gelu",               gelu},
    {"LayerNormalization", layer_norm},
    {"MaxPool",            max_pool},
    {"NegativeLogLikelihoodLoss", nll_loss},
    {"RandomNormal",       random_normal},
    {"RandomNormalLike",   random_normal},
    {"RandomUniform",      random_uniform},
    {"RandomUniformLike",  random_uniform},
    {"Shape",              shape},
    {"SoftmaxCrossEntropyLoss", cross_entropy, 2},
};
// clang-format on

}  // namespace

std::span<const CallRow> calls() { return kCalls; }

}  // namespace onward::emit::keras
