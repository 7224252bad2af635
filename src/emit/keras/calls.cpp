#include "emit/keras/calls.h"

#include "emit/control_flow.h"
#include "emit/helper_calls.h"
#include "emit/sequence_calls.h"
#include "emit/shared_calls.h"

namespace onward::emit::keras {
namespace {

// clang-format off
constexpr CallRow kCalls[] = {
    {"AveragePool",        average_pool},
    {"BatchNormalization", batch_norm, 3},
    {"BitCast",            {"", "Keras has no function that keeps the bits of elements"}},
    {"CenterCropPad",      center_crop_pad},
    {"Compress",           compress},
    {"ConcatFromSequence", concat_from_sequence},
    {"Conv",               conv},
    {"ConvTranspose",      conv_transpose, 1, refuse_output_shape},
    {"DepthToSpace",       depth_to_space},
    {"Dropout",            dropout, 2},
    {"Erf",                "ops.erf({0})"},
    {"Expand",             expand},
    {"Flatten",            flatten},
    {"GRU",                recurrent, 2, refuse_recurrent},
    {"Gather",             gather},
    {"GatherElements",     gather_elements},
    {"GatherND",           gathered_slices},
    {"Gelu",               gelu},
    {"GlobalMaxPool",      global_max_pool},
    {"If",                 "", 1, nullptr, if_},
    {"LSTM",               recurrent, 3, refuse_recurrent},
    {"LayerNormalization", layer_norm},
    {"Loop",               "", 1, nullptr, loop},
    {"MaxPool",            max_pool},
    {"MaxUnpool",          max_unpool},
    {"Multinomial",        multinomial},
    {"NegativeLogLikelihoodLoss", nll_loss},
    {"NonMaxSuppression",  {"", "Keras has no function for boxes that are suppressed one after the other"}},
    {"NonZero",            "ops.stack(ops.nonzero({0}))"},
    {"Optional",           optional},
    {"OptionalGetElement", "{0}"},
    {"OptionalHasElement", "", 1, nullptr, has_element},
    {"QuantizeLinear",     quantized},
    {"RNN",                recurrent, 2, refuse_recurrent},
    {"RandomNormal",       random_normal},
    {"RandomNormalLike",   random_normal},
    {"RandomUniform",      random_uniform},
    {"RandomUniformLike",  random_uniform},
    {"Range",              range},
    {"Reshape",            reshape},
    {"Resize",             resized},
    {"ReverseSequence",    reverse_sequence},
    {"Scan",               "", 1, nullptr, scan},
    {"ScatterElements",    scattered_elements},
    {"ScatterND",          scattered_slices},
    {"SequenceAt",         sequence_at},
    {"SequenceConstruct",  "[{*}]"},
    {"SequenceEmpty",      "[]"},
    {"SequenceErase",      sequence_erase},
    {"SequenceInsert",     sequence_insert},
    {"SequenceLength",     "", 1, nullptr, sequence_length},
    {"SequenceMap",        "", 1, nullptr, sequence_map},
    {"Shape",              shape},
    {"SoftmaxCrossEntropyLoss", cross_entropy, 2},
    {"SpaceToDepth",       space_to_depth},
    {"SplitToSequence",    split_to_sequence},
    {"TopK",               top_k, 2},
    {"Unique",             {"", "Keras has no function for elements that differ"}},
};
// clang-format on

}  // namespace

std::span<const CallRow> calls() { return kCalls; }

}  // namespace onward::emit::keras
