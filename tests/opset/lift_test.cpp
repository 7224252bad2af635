// What lifting makes of old forms: graphs in ONNX's text syntax, before and after.

#include "opset/lift.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "format/load.h"
#include "text/text.h"

namespace onward {
namespace {

std::string text_of_nodes(const Graph& graph) {
  std::string text;
  for (const auto& node : graph.nodes()) {
    text += to_text(*node, {.max_elements = PrintOptions::kAllElements}) + "\n";
  }
  return text;
}

struct LiftCase {
  const char* name;
  int opset;
  const char* signature;
  const char* before;
  const char* after;
};

/// Results need no types here.
Model read(const std::string& text) {
  Problems ignored;
  return parse_text(text, {.problems = &ignored});
}

Model model_of(int64_t opset, const std::string& signature, const std::string& nodes) {
  return read(fmt::format("<ir_version: 8, opset_import: [\"\" : {}]> g {} {{ {} }}", opset,
                          signature, nodes));
}

constexpr LiftCase kCases[] = {
    // Elementwise operators
    {"consumed inputs", 1, "(float[2] x) => (float[2] y)", "y = Relu<consumed_inputs = [0]>(x)",
     "y = Relu(x)"},
    {"no broadcasting", 6, "(float[2,3] a, float[2,3] b) => (float[2,3] y)", "y = Add(a, b)",
     "y = Add(a, b)"},
    {"broadcasting of a suffix", 6, "(float[2,3] a, float[3] b) => (float[2,3] y)",
     "y = Mul<broadcast = 1>(a, b)", "y = Mul(a, b)"},
    {"broadcasting at an axis", 6, "(float[2,3,4,5] a, float[3] b) => (float[2,3,4,5] y)",
     "y = Sub<broadcast = 1, axis = 1>(a, b)",
     R"(y_b_axes = Constant<value = int64[2] {1, 2}>()
        y_b = Unsqueeze(b, y_b_axes)
        y = Sub(a, y_b))"},
    {"broadcasting at an axis that ends with A", 1,
     "(float[2,3,4] a, float[3,4] b) => (float[2,3,4] y)", "y = Pow<broadcast = 1, axis = 1>(a, b)",
     "y = Pow(a, b)"},
    {"broadcasting of a scalar at an axis", 6, "(float[2,3] a, float b) => (float[2,3] y)",
     "y = Div<broadcast = 1, axis = 0>(a, b)", "y = Div(a, b)"},
    {"an axis without broadcasting", 6, "(float[2,3] a, float[2,3] b) => (float[2,3] y)",
     "y = Add<axis = 0>(a, b)", "y = Add(a, b)"},
    {"broadcasting at an axis of an inferred rank", 6, "(float[2,3,4] a, float[2] b) => (y)",
     R"(r = Relu(a)
        y = Add<broadcast = 1, axis = 0>(r, b))",
     R"(r = Relu(a)
        y_b_axes = Constant<value = int64[2] {1, 2}>()
        y_b = Unsqueeze(b, y_b_axes)
        y = Add(r, y_b))"},
    {"comparison at an axis", 1, "(bool[2,3] a, bool[2] b) => (bool[2,3] y)",
     "y = And<broadcast = 1, axis = 0>(a, b)",
     R"(y_b_axes = Constant<value = int64[1] {1}>()
        y_b = Unsqueeze(b, y_b_axes)
        y = And(a, y_b))"},
    {"Clip with both bounds", 6, "(float[N] x) => (float[N] y)",
     "y = Clip<min = 0.0, max = 6.0>(x)",
     R"(y_min = Constant<value = float {0}>()
        y_max = Constant<value = float {6}>()
        y = Clip(x, y_min, y_max))"},
    {"Clip from above", 6, "(float[N] x) => (float[N] y)", "y = Clip<max = 6.0>(x)",
     R"(y_min = Constant<value = float {-3.4028235e38}>()
        y_max = Constant<value = float {6}>()
        y = Clip(x, y_min, y_max))"},
    {"Clip without bounds", 1, "(float[N] x) => (float[N] y)", "y = Clip(x)",
     R"(y_min = Constant<value = float {-3.4028235e38}>()
        y_max = Constant<value = float {3.4028235e38}>()
        y = Clip(x, y_min, y_max))"},
    {"Clip of doubles", 6, "(double[N] x) => (double[N] y)", "y = Clip<min = 0.1>(x)",
     R"(y_min = Constant<value = double {0.10000000149011612}>()
        y_max = Constant<value = double {3.4028234663852886e38}>()
        y = Clip(x, y_min, y_max))"},
    {"Clip of halves", 6, "(float16[N] x) => (float16[N] y)", "y = Clip<min = 0.1>(x)",
     R"(y_min_f32 = Constant<value = float {0.1}>()
        y_min = Cast<to = 10>(y_min_f32)
        y_max_f32 = Constant<value = float {3.4028235e38}>()
        y_max = Cast<to = 10>(y_max_f32)
        y = Clip(x, y_min, y_max))"},
    {"Selu has its old constants", 1, "(float[N] x) => (float[N] y)", "y = Selu(x)",
     "y = Selu<alpha = 1.6732, gamma = 1.0507>(x)"},
    {"PRelu with a slope for each channel", 6, "(float[N,3,4,5] x, float[3] s) => (y)",
     "y = PRelu(x, s)",
     R"(y_slope_axes = Constant<value = int64[2] {1, 2}>()
        y_slope = Unsqueeze(s, y_slope_axes)
        y = PRelu(x, y_slope))"},
    {"PRelu with one slope", 6, "(float[N,3,4,5] x, float[1] s) => (y)", "y = PRelu(x, s)",
     "y = PRelu(x, s)"},
    {"Erf of floats", 9, "(float[N] x) => (float[N] y)", "y = Erf(x)", "y = Erf(x)"},

    // Conversions
    {"Cast to a type by name", 1, "(float[N] x) => (int64[N] y)", "y = Cast<to = \"INT64\">(x)",
     "y = Cast<to = 7>(x)"},
    {"Cast to a small float", 19, "(float[N] x) => (y)", "y = Cast<to = 17>(x)",
     "y = Cast<to = 17>(x)"},

    // Shapes
    {"Concat has an axis", 1, "(float[2,3] a, float[2,3] b) => (y)", "y = Concat(a, b)",
     "y = Concat<axis = 1>(a, b)"},
    {"Tile along one axis", 1, "(float[2,3] x, float t, float a) => (y)", "y = Tile(x, t, a)",
     R"(y_tiles_i64 = Cast<to = 7>(t)
        y_tiles_shape = Constant<value = int64[1] {-1}>()
        y_tiles = Reshape(y_tiles_i64, y_tiles_shape)
        y_axis_i64 = Cast<to = 7>(a)
        y_axis_shape = Constant<value = int64[1] {-1}>()
        y_axis = Reshape(y_axis_i64, y_axis_shape)
        y_shape = Shape(x)
        y_rank = Shape(y_shape)
        y_one = Constant<value = int64[1] {1}>()
        y_ones = Expand(y_one, y_rank)
        y_repeats = ScatterElements(y_ones, y_axis, y_tiles)
        y = Tile(x, y_repeats))"},
    {"GroupNormalization of groups", 18, "(float[2,4,3] x, float[2] s, float[2] b) => (y)",
     "y = GroupNormalization<num_groups = 2>(x, s, b)",
     R"(y_shape = Shape(x)
        y_place = Constant<value = int64[1] {1}>()
        y_channels = Gather(y_shape, y_place)
        y_groups = Constant<value = int64[1] {2}>()
        y_one = Constant<value = int64[1] {1}>()
        y_channels_of_group = Div(y_channels, y_groups)
        y_columns = Concat<axis = 0>(y_one, y_channels_of_group)
        y_flat = Constant<value = int64[1] {-1}>()
        y_scale_of_groups = Unsqueeze(s, y_one)
        y_scale_spread = Expand(y_scale_of_groups, y_columns)
        y_scale = Reshape(y_scale_spread, y_flat)
        y_bias_of_groups = Unsqueeze(b, y_one)
        y_bias_spread = Expand(y_bias_of_groups, y_columns)
        y_bias = Reshape(y_bias_spread, y_flat)
        y = GroupNormalization<num_groups = 2>(x, y_scale, y_bias))"},
    {"Reshape by an attribute", 1, "(float[2,3] x) => (float[3,2] y)",
     "y = Reshape<shape = [3, -1]>(x)",
     R"(y_shape = Constant<value = int64[2] {3, -1}>()
        y = Reshape(x, y_shape))"},
    {"Slice by attributes", 1, "(float[4,5] x) => (y)",
     "y = Slice<starts = [1], ends = [-1], axes = [1]>(x)",
     R"(y_starts = Constant<value = int64[1] {1}>()
        y_ends = Constant<value = int64[1] {-1}>()
        y_axes = Constant<value = int64[1] {1}>()
        y = Slice(x, y_starts, y_ends, y_axes))"},
    {"Slice of all axes", 9, "(float[4] x) => (y)", "y = Slice<starts = [1], ends = [3]>(x)",
     R"(y_starts = Constant<value = int64[1] {1}>()
        y_ends = Constant<value = int64[1] {3}>()
        y = Slice(x, y_starts, y_ends))"},
    {"Split in equal parts", 2, "(float[4,5] x) => (a, b)", "a, b = Split(x)",
     "a, b = Split<num_outputs = 2>(x)"},
    {"Split by sizes", 11, "(float[4,5] x) => (a, b)", "a, b = Split<axis = 1, split = [2, 3]>(x)",
     R"(a_split = Constant<value = int64[2] {2, 3}>()
        a, b = Split<axis = 1>(x, a_split))"},
    {"Split by an input", 13, "(float[4] x, int64[2] s) => (a, b)", "a, b = Split(x, s)",
     "a, b = Split(x, s)"},
    {"Squeeze", 1, "(float[1,5,1] x) => (y)", "y = Squeeze<axes = [0, 2]>(x)",
     R"(y_axes = Constant<value = int64[2] {0, 2}>()
        y = Squeeze(x, y_axes))"},
    {"Squeeze of all", 1, "(float[1,5,1] x) => (y)", "y = Squeeze(x)", "y = Squeeze(x)"},
    {"Unsqueeze", 12, "(float[5] x) => (y)", "y = Unsqueeze<axes = [-1]>(x)",
     R"(y_axes = Constant<value = int64[1] {-1}>()
        y = Unsqueeze(x, y_axes))"},
    {"Pad in the first form", 1, "(float[4] x) => (y)",
     "y = Pad<paddings = [1, 2], mode = \"edge\", value = 3.0>(x)",
     R"(y_pads = Constant<value = int64[2] {1, 2}>()
        y = Pad<mode = "edge">(x, y_pads))"},
    {"Pad with a value", 2, "(float[4,5] x) => (y)", "y = Pad<pads = [0, 1, 0, 2], value = 3.0>(x)",
     R"(y_pads = Constant<value = int64[4] {0, 1, 0, 2}>()
        y_value = Constant<value = float {3}>()
        y = Pad(x, y_pads, y_value))"},
    {"TopK", 1, "(float[4,5] x) => (v, i)", "v, i = TopK<k = 3>(x)",
     R"(v_k = Constant<value = int64[1] {3}>()
        v, i = TopK(x, v_k))"},
    {"OneHot of indices that may be negative", 9, "(int32[N] i, int64 d, float[2] v) => (y)",
     "y = OneHot(i, d, v)",
     R"(y_indices_i64 = Cast<to = 7>(i)
        y_zero = Constant<value = int64 {0}>()
        y_nowhere = Constant<value = int64 {9223372036854775807}>()
        y_negative = Less(y_indices_i64, y_zero)
        y_indices = Where(y_negative, y_nowhere, y_indices_i64)
        y = OneHot(y_indices, d, v))"},
    {"OneHot of indices that can't be negative", 9, "(uint8[N] i, int64 d, float[2] v) => (y)",
     "y = OneHot(i, d, v)", "y = OneHot(i, d, v)"},
    {"Scatter", 9, "(float[4] x, int64[2] i, float[2] u) => (y)", "y = Scatter<axis = 0>(x, i, u)",
     "y = ScatterElements<axis = 0>(x, i, u)"},
    {"DFT", 17, "(float[1,8,1] x) => (y)", "y = DFT(x)",
     R"(y_axis = Constant<value = int64 {1}>()
        y = DFT(x, "", y_axis))"},

    // Reductions
    {"ReduceSum over axes", 1, "(float[4,5] x) => (y)",
     "y = ReduceSum<axes = [1], keepdims = 0>(x)",
     R"(y_axes = Constant<value = int64[1] {1}>()
        y = ReduceSum<keepdims = 0>(x, y_axes))"},
    {"ReduceMean over axes", 17, "(float[4,5] x) => (y)", "y = ReduceMean<axes = [-1]>(x)",
     R"(y_axes = Constant<value = int64[1] {-1}>()
        y = ReduceMean(x, y_axes))"},
    {"ReduceMax over all", 11, "(float[4,5] x) => (y)", "y = ReduceMax(x)", "y = ReduceMax(x)"},
    {"ReduceSum with axes as input", 13, "(float[4,5] x, int64[1] a) => (y)",
     "y = ReduceSum<noop_with_empty_axes = 1>(x, a)",
     "y = ReduceSum<noop_with_empty_axes = 1>(x, a)"},
    {"Softmax of a matrix", 1, "(float[N,10] x) => (y)", "y = Softmax(x)",
     "y = Softmax<axis = 1>(x)"},
    {"Softmax along the last axis", 11, "(float[a,b,c] x) => (y)", "y = Softmax<axis = -1>(x)",
     "y = Softmax<axis = -1>(x)"},
    {"Softmax over several axes", 11, "(float[N,3,4] x) => (y)", "[soft] y = Softmax(x)",
     R"(y_shape = Shape(x)
        y_matrix = Flatten<axis = 1>(x)
        [soft] y_normalized = Softmax<axis = -1>(y_matrix)
        y = Reshape<allowzero = 1>(y_normalized, y_shape))"},
    {"LogSoftmax of an unknown rank", 12, "(float[] x) => (y)", "y = LogSoftmax(x)",
     R"(y_shape = Shape(x)
        y_matrix = Flatten<axis = 1>(x)
        y_normalized = LogSoftmax<axis = -1>(y_matrix)
        y = Reshape<allowzero = 1>(y_normalized, y_shape))"},
    {"Softmax of today", 13, "(float[N,3,4] x) => (y)", "y = Softmax(x)", "y = Softmax(x)"},

    // Layers
    {"Gemm", 6, "(float[2,3] a, float[3,4] b, float[4] c) => (y)",
     "y = Gemm<broadcast = 1, alpha = 2.0>(a, b, c)", "y = Gemm<alpha = 2.0>(a, b, c)"},
    {"MaxPool whose windows begin before the padding", 10, "(float[N,C,H,W] x) => (y)",
     "y = MaxPool<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], ceil_mode = 1>(x)",
     "y = MaxPool<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], ceil_mode = 1>(x)"},
    {"MaxPool whose last window would begin in the padding", 10, "(float[1,1,4] x) => (y)",
     "y = MaxPool<kernel_shape = [1], strides = [2], ceil_mode = 1>(x)",
     "y = MaxPool<kernel_shape = [1], strides = [2], ceil_mode = 1>(x)"},
    {"AveragePool whose last window may begin in the padding", 19, "(float[1,1,W] x) => (y)",
     "y = AveragePool<kernel_shape = [2], strides = [2], pads = [0, 1], ceil_mode = 1>(x)",
     "y = AveragePool<kernel_shape = [2], strides = [2], pads = [0, 1], ceil_mode = 1>(x)"},
    {"AveragePool with wide strides on a size that fits", 10, "(float[1,1,7] x) => (y)",
     "y = AveragePool<kernel_shape = [1], strides = [3], ceil_mode = 1>(x)",
     "y = AveragePool<kernel_shape = [1], strides = [3], ceil_mode = 1>(x)"},
    {"BatchNormalization of opset 1", 1,
     "(float[N,3,4,4] x, float[3] s, float[3] b, float[3] m, float[3] v) => (y)",
     "y = BatchNormalization<is_test = 1, consumed_inputs = [0, 0, 0, 1, 1], spatial = 1>"
     "(x, s, b, m, v)",
     "y = BatchNormalization(x, s, b, m, v)"},
    {"BatchNormalization of every place", 7,
     "(float[N,3,4] x, float[3,4] s, float[3,4] b, float[3,4] m, float[3,4] v) => (y)",
     "y = BatchNormalization<spatial = 0, epsilon = 0.5>(x, s, b, m, v)",
     R"(y_shape = Shape(x)
        y_matrix = Flatten(x)
        y_flat = Constant<value = int64[1] {-1}>()
        y_scale = Reshape(s, y_flat)
        y_bias = Reshape(b, y_flat)
        y_mean = Reshape(m, y_flat)
        y_variance = Reshape(v, y_flat)
        y_normalized = BatchNormalization<epsilon = 0.5>
            (y_matrix, y_scale, y_bias, y_mean, y_variance)
        y = Reshape<allowzero = 1>(y_normalized, y_shape))"},
    {"BatchNormalization of opset 14 that trains", 14,
     "(float[N,3] x, float[3] s, float[3] b, float[3] m, float[3] v) => (y)",
     "y, m1, v1 = BatchNormalization<training_mode = 1>(x, s, b, m, v)",
     "y, m1, v1 = BatchNormalization<training_mode = 1>(x, s, b, m, v)"},
    {"Dropout that does nothing", 7, "(float[N] x) => (y)", "y = Dropout<ratio = 0.25>(x)",
     R"(y_ratio = Constant<value = float {0.25}>()
        y = Dropout(x, y_ratio))"},
    {"Dropout in test mode", 6, "(float[N] x) => (y)", "y, mask = Dropout<is_test = 1>(x)",
     "y, mask = Dropout(x)"},
    {"Dropout that drops", 6, "(float[N] x) => (y)", "y = Dropout<ratio = 0.25>(x)",
     R"(y_ratio = Constant<value = float {0.25}>()
        y_training_mode = Constant<value = bool {1}>()
        y = Dropout(x, y_ratio, y_training_mode))"},
    {"ConvTranspose with given padding", 1, "(float[1,1,4] x, float[1,1,3] w) => (y)",
     "y = ConvTranspose<pads = [1, 1]>(x, w)", "y = ConvTranspose<pads = [1, 1]>(x, w)"},
    {"LpPool", 1, "(float[1,1,4] x) => (y)", "y = LpPool<kernel_shape = [2], p = 3.0>(x)",
     "y = LpPool<kernel_shape = [2], p = 3>(x)"},
    {"GridSample", 16, "(float[1,1,4,4] x, float[1,2,2,2] g) => (y)",
     "y = GridSample<mode = \"bicubic\">(x, g)", "y = GridSample<mode = \"cubic\">(x, g)"},
    {"RoiAlign", 10, "(float[1,1,4,4] x, float[1,4] r, int64[1] b) => (y)",
     "y = RoiAlign<output_height = 2>(x, r, b)",
     "y = RoiAlign<output_height = 2, coordinate_transformation_mode = \"output_half_pixel\">"
     "(x, r, b)"},
    {"Resize to sizes", 11, "(float[1,1,4,4] x, float[0] e, int64[4] s) => (y)",
     "y = Resize(x, e, e, s)", "y = Resize(x, e, \"\", s)"},
    {"Resize up", 10, "(float[4] x) => (y)",
     "s = Constant<value = float[1] {2.5}>() y = Resize(x, s)",
     R"(s = Constant<value = float[1] {2.5}>()
        y = Resize<coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">
            (x, "", s))"},
    {"Resize down", 10, "(float[4] x) => (y)",
     "s = Constant<value = float[1] {0.5}>() y = Resize(x, s)",
     R"(s = Constant<value = float[1] {0.5}>()
        y = Resize<coordinate_transformation_mode = "asymmetric", nearest_mode = "ceil">
            (x, "", s))"},
    {"Resize by lines", 10, "(float[4] x, float[1] s) => (y)",
     "y = Resize<mode = \"linear\">(x, s)",
     R"(y = Resize<mode = "linear", coordinate_transformation_mode = "asymmetric">(x, "", s))"},
    {"DequantizeLinear of a vector by one scale", 13, "(uint8[4] x, float[1] s, uint8[1] z) => (y)",
     "y = DequantizeLinear(x, s, z)",
     R"(y_no_dims = Constant<value = int64[0] {}>()
        y_scale = Reshape(s, y_no_dims)
        y_no_dims_2 = Constant<value = int64[0] {}>()
        y_zero_point = Reshape(z, y_no_dims_2)
        y = DequantizeLinear(x, y_scale, y_zero_point))"},
    {"DequantizeLinear of a vector by scales", 13, "(int32[4] x, float[4] s) => (y)",
     "y = DequantizeLinear<axis = 0>(x, s)", "y = DequantizeLinear<axis = 0>(x, s)"},
    {"QuantizeLinear of a vector by one scale", 13, "(float[4] x, float[1] s) => (y)",
     "y = QuantizeLinear(x, s)",
     R"(y_no_dims = Constant<value = int64[0] {}>()
        y_scale = Reshape(s, y_no_dims)
        y = QuantizeLinear(x, y_scale))"},
    {"Upsample of images", 1, "(float[1,1,4,4] x) => (y)",
     "y = Upsample<mode = \"bilinear\", height_scale = 2.0, width_scale = 3.0>(x)",
     R"(y_scales = Constant<value = float[4] {1, 1, 2, 3}>()
        y = Resize<mode = "linear", coordinate_transformation_mode = "asymmetric">
            (x, "", y_scales))"},
    {"Upsample by an attribute", 7, "(float[2,4] x) => (y)",
     "y = Upsample<mode = \"linear\", scales = [1.0, 2.0]>(x)",
     R"(y_scales = Constant<value = float[2] {1, 2}>()
        y = Resize<mode = "linear", coordinate_transformation_mode = "asymmetric">
            (x, "", y_scales))"},
    {"Upsample by an input", 9, "(float[2,4] x, float[2] s) => (y)", "y = Upsample(x, s)",
     R"(y = Resize<coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">
            (x, "", s))"},
};

constexpr LiftCase kRecurrentCases[] = {
    {"GRU", 1, "(float[5,2,3] x, float[1,12,3] w, float[1,12,4] r) => (y)",
     "y, h = GRU<hidden_size = 4, output_sequence = 1>(x, w, r)",
     "y, h = GRU<hidden_size = 4>(x, w, r)"},
    {"GRU that is linear before its reset", 3,
     "(float[5,2,3] x, float[1,12,3] w, float[1,12,4] r) => (h)",
     "\"\", h = GRU<linear_before_reset = 1>(x, w, r)",
     "\"\", h = GRU<linear_before_reset = 1>(x, w, r)"},
    {"LSTM", 1, "(float[5,2,3] x, float[1,16,3] w, float[1,16,4] r) => (y)",
     "y = LSTM<hidden_size = 4, output_sequence = 1>(x, w, r)",
     "y = LSTM<hidden_size = 4>(x, w, r)"},
    {"RNN", 1, "(float[5,2,3] x, float[1,4,3] w, float[1,4,4] r) => (y)",
     "y = RNN<output_sequence = 0>(x, w, r)", "y = RNN(x, w, r)"},
    {"Scan of a batch", 8, "(float[2,3] s, float[2,5,3] x) => (l, y)",
     R"(l, y = Scan<num_scan_inputs = 1, directions = [1],
            body = step (float[3] a, float[3] e) => (float[3] b, float[3] o)
                { b = Add(a, e) o = Identity(b) }>("", s, x))",
     R"(l, y = Scan<num_scan_inputs = 2,
            body = l_of_batch (float[3] l_state, float[5,3] l_sequence) => (l_last, l_results) {
                l_last, l_results = Scan<num_scan_inputs = 1, scan_input_directions = [1],
                    body = step (float[3] a, float[3] e) => (float[3] b, float[3] o)
                        { b = Add(a, e) o = Identity(b) }>(l_state, l_sequence)
            }>(s, x))"},
};

class LiftForm : public testing::TestWithParam<LiftCase> {};

TEST_P(LiftForm, IsRewritten) {
  const LiftCase& given = GetParam();
  Model model = model_of(given.opset, given.signature, given.before);
  const Value* result = model.graph->outputs()[0];
  EXPECT_EQ(lift_where_possible(model).size(), 0u);

  const int64_t newest = newest_opset("").value();
  EXPECT_EQ(text_of_nodes(*model.graph),
            text_of_nodes(*model_of(newest, given.signature, given.after).graph));
  EXPECT_EQ(model.opset(""), newest);
  EXPECT_EQ(model.graph->outputs()[0], result);
  for (const auto& node : model.graph->nodes()) EXPECT_EQ(node->opset, newest) << node->op;
}

INSTANTIATE_TEST_SUITE_P(All, LiftForm, testing::ValuesIn(kCases), [](const auto& each) {
  std::string name = each.param.name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

INSTANTIATE_TEST_SUITE_P(Recurrent, LiftForm, testing::ValuesIn(kRecurrentCases),
                         [](const auto& each) {
                           std::string name = each.param.name;
                           for (char& c : name) c = c == ' ' ? '_' : c;
                           return name;
                         });

TEST(Lift, LabelEncoderHasKeysAndValues) {
  const struct {
    const char* signature;
    const char* before;
    const char* after;
  } cases[] = {
      {"(string[N] x) => (y)", "classes_strings = [\"a\", \"b\"], default_int64 = 7",
       "y = ai.onnx.ml.LabelEncoder<default_int64 = 7, keys_strings = [\"a\", \"b\"], "
       "values_int64s = [0, 1]>(x)\n"},
      {"(int64[N] x) => (y)", "classes_strings = [\"a\", \"b\"], default_string = \"?\"",
       "y = ai.onnx.ml.LabelEncoder<default_string = \"?\", keys_int64s = [0, 1], "
       "values_strings = [\"a\", \"b\"]>(x)\n"},
  };
  for (const auto& [signature, before, after] : cases) {
    Model model =
        read(fmt::format("<ir_version: 8, opset_import: [\"\" : 7, \"ai.onnx.ml\" : 1]> g {} {{ "
                         "y = ai.onnx.ml.LabelEncoder<{}>(x) }}",
                         signature, before));
    EXPECT_EQ(lift_where_possible(model).size(), 0u);
    EXPECT_EQ(text_of_nodes(*model.graph), after);
    EXPECT_EQ(model.opset("ai.onnx.ml"), newest_opset("ai.onnx.ml"));
  }
}

TEST(Lift, NamesOfNewValuesAreUniqueInTheWholeModel) {
  Model model = read(R"(
    <ir_version: 8, opset_import: ["" : 10, "ai.onnx.preview.training" : 1]>
    g (float[2] x, bool c) => (float[2] y) <float[2] w = {1, 1}> {
      y_min = Mul(x, w)
      y = Clip<min = 0.0>(y_min)
    }
    training_info {
      algorithm a (float[2] y_min_2) => (float[2] v) { v = Add(y, y_min_2) }
      update_binding { w <- v }
    })");
  EXPECT_EQ(lift_where_possible(model).size(), 0u);
  EXPECT_EQ(text_of_nodes(*model.graph),
            "y_min = Mul(x, w)\n"
            "y_min_3 = Constant<value = float {0}>()\n"
            "y_max = Constant<value = float {3.4028235e+38}>()\n"
            "y = Clip(y_min, y_min_3, y_max)\n");
}

TEST(Lift, ReachesSubgraphsAndTrainingInfos) {
  Model model = read(R"(
    <ir_version: 8, opset_import: ["" : 12, "ai.onnx.preview.training" : 1]>
    g (float[2,2] x, bool c) => (y) <float[2] w = {1, 1}> {
      y = If (c) <
        then_branch = t () => (a) { a = ReduceSum<axes = [0]>(x) },
        else_branch = e () => (b) { b = Squeeze<axes = [0]>(x) }
      >
    }
    training_info {
      initialization i () => (float[2] w0) { z = RandomNormal<shape = [1, 2]>() w0 = Squeeze(z) }
      initialization_binding { w <- w0 }
      algorithm a () => (float[2] w1) { w1 = Unsqueeze<axes = [0]>(w) }
      update_binding { w <- w1 }
    })");
  EXPECT_EQ(lift_where_possible(model).size(), 0u);
  const auto branches = model.graph->nodes().front()->subgraphs();
  EXPECT_EQ(text_of_nodes(*branches[0]),
            "a_axes = Constant<value = int64[1] {0}>()\na = ReduceSum(x, a_axes)\n");
  EXPECT_EQ(text_of_nodes(*branches[1]),
            "b_axes = Constant<value = int64[1] {0}>()\nb = Squeeze(x, b_axes)\n");
  EXPECT_EQ(text_of_nodes(*model.training[0].algorithm),
            "w1_axes = Constant<value = int64[1] {0}>()\nw1 = Unsqueeze(w, w1_axes)\n");
  EXPECT_EQ(model.training[0].initialization->nodes().front()->opset, newest_opset(""));
}

TEST(Lift, LeavesOtherDomainsAlone) {
  Model model = read(R"(
    <ir_version: 8, opset_import: ["" : 7, "my.own" : 3]>
    g (float[2] x) => (y) { a = my.own.Thing(x) y = Relu(a) })");
  EXPECT_EQ(lift_where_possible(model).size(), 0u);
  EXPECT_EQ(model.opset("my.own"), 3);
  EXPECT_EQ(model.opset(""), newest_opset(""));
  EXPECT_EQ(model.graph->nodes().front()->opset, 3);
}

// Saving patches the file that a model came from where nothing was edited, and takes over the
// imports.
TEST(Lift, CountsAsAnEditWhereANodeChanges) {
  const struct {
    const char* signature;
    const char* nodes;
    bool edited;
  } cases[] = {
      {"(float[4] x) => (y)", "y = Relu(x)", false},
      {"(float[4] x) => (y)", "y = Clip<min = 0.0>(x)", true},
      {"(float[4] x, int64[2] i, float[2] u) => (y)", "y = Scatter(x, i, u)", true},
      {"(float[4] x) => (y)", "y, mask = Dropout(x)", true},
  };
  for (const auto& [signature, nodes, edited] : cases) {
    Model model = model_of(9, signature, nodes);
    const int64_t edits = model.graph->edits();
    lift(model);
    EXPECT_EQ(model.graph->edits() > edits, edited) << nodes;
  }
}

TEST(Lift, IsDoneOnlyOnce) {
  Model model = model_of(1, "(float[N,3,4] x) => (y)", "y = Softmax(x)");
  lift(model);
  const std::string once = text_of_nodes(*model.graph);
  lift(model);
  EXPECT_EQ(text_of_nodes(*model.graph), once);
}

}  // namespace
}  // namespace onward
