// Operators on images, their samples and their regions.

#include <gtest/gtest.h>

#include <cmath>

#include "infer/infer.h"
#include "tests/infer/guard_cases.h"

namespace onward {
namespace {

const GuardCase kRefused[] = {
    {"an image in other channels", 20,
     "g (uint8[N] x) => (y) { y = ImageDecoder<pixel_format = \"RGBA\">(x) }", "attribute",
     "attribute 'pixel_format' is 'RGBA', but must be one of RGB, BGR, Grayscale"},
    {"no neighbours", 13, "g (float[2,4,3] x) => (y) { y = LRN<size = 0>(x) }", "attribute",
     "attribute 'size' is 0, but must be positive"},
    {"neighbours among no channels", 13, "g (float[2,0,3] x) => (y) { y = LRN<size = 3>(x) }",
     "shape", "dimension 1 is empty: there are no channels to average"},
    {"neighbours in an empty image", 13, "g (float[2,4,0] x) => (y) { y = LRN<size = 3>(x) }",
     "shape", "dimension 2 is empty: there are no channels to average"},
    {"neighbours of a vector", 13, "g (float[4] x) => (y) { y = LRN<size = 3>(x) }", "shape",
     "input 0 has rank 1, but images at least 2"},
    {"a scale beyond all numbers", 13,
     "g (float[2] x) => (y) <float[1] s = {1e30}> { y = Resize(x, , s) }", "shape",
     "a scale is 1.0000000150474662e+30, but must be positive and finite"},
    {"a scale of 0", 10, "g (float[2] x) => (y) <float[1] s = {0}> { y = Resize(x, s) }", "shape",
     "a scale is 0, but must be positive and finite"},
    {"a scale in an attribute", 7, "g (float[2] x) => (y) { y = Upsample<scales = [1e30]>(x) }",
     "shape", "a scale is 1.0000000150474662e+30, but must be positive and finite"},
    {"a mode that is none", 19,
     "g (float[2] x) => (y) <float[1] s = {2}> { y = Resize<mode = \"area\">(x, , s) }",
     "attribute", "attribute 'mode' is 'area', but must be one of nearest, linear, cubic"},
    {"an axis twice", 19,
     "g (float[2,2] x) => (y) <float[2] s = {2, 2}> { y = Resize<axes = [1, -1]>(x, , s) }",
     "attribute", "axis -1 is given twice"},
    {"an axis beyond the rank", 19,
     "g (float[2,2] x) => (y) <float[1] s = {2}> { y = Resize<axes = [2]>(x, , s) }", "attribute",
     "axis 2 is out of range for rank 2"},
    {"scales for other axes", 13, "g (float[2,2] x, float[3] s) => (y) { y = Resize(x, , s) }",
     "shape", "input 2 (scales): it has 3 elements for 2 axes"},
    {"half a region", 13, "g (float[2,2] x, float[2] r, float[2] s) => (y) { y = Resize(x, r, s) }",
     "shape", "input 1 (roi): it has 2 elements for 2 axes"},
    {"scales and sizes", 13,
     "g (float[2] x, float[1] s, int64[1] n) => (y) { y = Resize(x, , s, n) }", "arity",
     "it has both scales and sizes"},
    {"neither scales nor sizes", 13, "g (float[2] x) => (y) { y = Resize(x) }", "arity",
     "it has neither scales nor sizes"},
    {"no region to crop", 13,
     "g (float[2] x, float[1] s) => (y) {\n"
     "y = Resize<coordinate_transformation_mode = \"tf_crop_and_resize\">(x, , s) }",
     "arity", "it has no region (roi) to crop"},
    {"nearest elements without aliases", 18,
     "g (float[2] x, float[1] s) => (y) { y = Resize<antialias = 1>(x, , s) }", "attribute",
     "attribute 'antialias' is set, but the mode is 'nearest'"},
    {"samples of another mode", 20,
     "g (float[1,1,2,2] x, float[1,2,2,2] g) => (y) { y = GridSample<mode = \"bilinear\">(x, g) }",
     "attribute", "attribute 'mode' is 'bilinear', but must be one of linear, nearest, cubic"},
    {"samples of an old form's other mode", 16,
     "g (float[1,1,2,2] x, float[1,2,2,2] g) => (y) { y = GridSample<mode = \"linear\">(x, g) }",
     "attribute", "attribute 'mode' is 'linear', but must be one of bilinear, nearest, bicubic"},
    {"samples of nothing", 20,
     "g (float[1,1,0,2] x, float[1,2,2,2] g) => (y) { y = GridSample(x, g) }", "shape",
     "input 0 (X): an image without elements can't be sampled"},
    {"samples at positions of three dimensions", 20,
     "g (float[1,1,2,2] x, float[1,2,2,3] g) => (y) { y = GridSample(x, g) }", "shape",
     "input 1 (grid): its dimension 3 is 3, not 2"},
    {"regions of nothing", 22,
     "g (float[1,1,0,2] x, float[1,4] r, int64[1] b) => (y) { y = RoiAlign(x, r, b) }", "shape",
     "input 0 (X): an image without elements can't be sampled"},
    {"regions of five numbers", 22,
     "g (float[1,1,2,2] x, float[1,5] r, int64[1] b) => (y) { y = RoiAlign(x, r, b) }", "shape",
     "input 1 (rois): its dimension 1 is 5, not 4"},
    {"regions of no points", 22,
     "g (float[1,1,2,2] x, float[1,4] r, int64[1] b) => (y) {\n"
     "y = RoiAlign<sampling_ratio = -1>(x, r, b) }",
     "attribute", "attribute 'sampling_ratio' is -1, which is out of range"},
    {"regions pooled to no size", 22,
     "g (float[1,1,2,2] x, float[1,5] r) => (y) { y = MaxRoiPool<pooled_shape = [0, 1]>(x, r) }",
     "attribute", "attribute 'pooled_shape' holds 0, which is out of range"},
    {"regions of an image that is not there", 22,
     "g (float[2,1,2,2] x) => (y) <float[2,5] r = {1, 0, 0, 1, 1, 2, 0, 0, 1, 1}> {\n"
     "y = MaxRoiPool<pooled_shape = [1, 1]>(x, r) }",
     "shape", "input 1 (rois): there is no image 2"},
    {"offsets for half of the taps", 22,
     "g (float[1,1,3,3] x, float[1,1,2,2] w, float[1,4,2,2] o) => (y) { y = DeformConv(x, w, o) }",
     "shape", "input 2 (offset): its dimension 1 is 4, not 8"},
    {"offsets of groups that share channels", 22,
     "g (float[1,3,3,3] x, float[1,3,2,2] w, float[1,16,2,2] o) => (y) {\n"
     "y = DeformConv<offset_group = 2>(x, w, o) }",
     "shape", "input 0 (X): its dimension 1, 3, is not divisible by 2"},
    {"corners of one element", 20,
     "g (float[1,2,3] t) => (y) <int64[4] s = {1, 1, 1, 4}> {\n"
     "y = AffineGrid<align_corners = 1>(t, s) }",
     "shape", "input 1 (size): it holds 1, which is out of range"},
    {"matrices of another batch", 20,
     "g (float[3,2,3] t) => (y) <int64[4] s = {2, 1, 4, 4}> { y = AffineGrid(t, s) }", "shape",
     "input 0 (theta): it has 3 matrices for a batch of 2"},
    {"columns of another block", 18,
     "g (float[1,5,4] x) => (y) <int64[2] i = {3, 3}, int64[2] b = {2, 2}> {\n"
     "y = Col2Im(x, i, b) }",
     "shape", "input 0 (input): its dimension 1, 5, is not divisible by 4"},
    {"columns beyond the places of blocks", 18,
     "g (float[1,4,5] x) => (y) <int64[2] i = {3, 3}, int64[2] b = {2, 2}> {\n"
     "y = Col2Im(x, i, b) }",
     "shape", "input 0 (input): it has 5 columns, but blocks have 4 places"},
};

TEST(ImageGuards, Refuse) { expect_refusals(kRefused); }

const RightNode kRight[] = {
    {18,
     "g (float[2] x) => (y) <float[0] none = {}, int64[1] sizes = {3}> {\n"
     "y = Resize(x, , none, sizes) }"},
    {18, "g (float[2] x) => (y) <float[1] s = {0.5}> { y = Resize(x, , s) }"},
    {18, "g (float[2,3,4] x) => (y) { y = GlobalMaxPool(x) }"},
    {18, "g (float[0,4,3] x) => (y) { y = LRN<size = 3>(x) }"},
};

TEST(ImageGuards, LetRightNodesPass) { expect_right(kRight); }

TEST(ImageGuards, RefuseScalesThatAreNoNumbers) {
  for (const float scale : {NAN, INFINITY, -INFINITY}) {
    Model model = model_of(18, "g (float[2] x) => (y) <float[1] s = {1}> { y = Resize(x, , s) }");
    model.graph->set_initializer(model.graph->initializers()[0], Tensor::of<float>({1}, {scale}));
    Problems problems;
    infer_types(model, problems);
    ASSERT_EQ(problems.errors(), 1);
    EXPECT_EQ(problems.list()[0].rule, "shape");
  }
}

}  // namespace
}  // namespace onward
