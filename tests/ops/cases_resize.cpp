#include "tests/ops/case.h"

namespace onward {
namespace {

/// A node before the Resize that gives its scales.
std::string scaled(const std::string& scales, const std::string& attributes) {
  return "s = Constant<value = float[4] {1, 1, " + scales + "}>()\ny = Resize<" + attributes +
         ">(x, , s)";
}

const Case kCases[] = {
    // Nearest elements
    {"Resize nearest", scaled("2, 3", "mode = \"nearest\""), {f64("x", {2, 3, 4, 5})}},
    {"Resize nearest as rows",
     scaled("2, 2", "coordinate_transformation_mode = \"asymmetric\", nearest_mode = \"floor\""),
     {f64("x", {2, 3, 4, 5})}},
    {"Resize nearest down",
     scaled("0.6, 0.5", "coordinate_transformation_mode = \"half_pixel\""),
     {f64("x", {1, 2, 5, 6})}},
    {"Resize nearest, halves up",
     scaled("0.5, 2.5",
            "nearest_mode = \"round_prefer_ceil\", coordinate_transformation_mode = "
            "\"asymmetric\""),
     {f64("x", {1, 2, 6, 4})}},
    {"Resize nearest, halves down",
     scaled("1.5, 2",
            "nearest_mode = \"round_prefer_floor\", coordinate_transformation_mode = "
            "\"asymmetric\""),
     {f64("x", {1, 2, 6, 4})}},
    {"Resize nearest above",
     scaled("1.5, 0.7", "nearest_mode = \"ceil\", coordinate_transformation_mode = \"half_pixel\""),
     {f64("x", {1, 1, 6, 10})}},
    {"Resize nearest at the corners",
     scaled("2, 2", "coordinate_transformation_mode = \"align_corners\""),
     {f64("x", {1, 1, 3, 4})}},
    {"Resize nearest to sizes",
     "y = Resize<mode = \"nearest\">(x, , , sizes)",
     {f64("x", {1, 2, 3, 5}), i64("sizes", {1, 2, 7, 3})}},
    {"Resize nearest of all axes",
     "s = Constant<value = float[3] {2, 1.5, 0.5}>()\ny = Resize(x, , s)",
     {f64("x", {2, 3, 4})}},

    // Lines
    {"Resize linear", scaled("2, 1.6", "mode = \"linear\""), {f64("x", {2, 3, 4, 5})}},
    {"Resize linear down", scaled("0.6, 0.5", "mode = \"linear\""), {f64("x", {1, 2, 5, 6})}},
    {"Resize linear at the corners",
     scaled("2, 3", "mode = \"linear\", coordinate_transformation_mode = \"align_corners\""),
     {f64("x", {1, 2, 3, 4})}},
    {"Resize linear at the corners, of a fraction",
     scaled("0.6, 2.4", "mode = \"linear\", coordinate_transformation_mode = \"align_corners\""),
     {f64("x", {1, 2, 3, 4})}},
    {"Resize linear asymmetric",
     scaled("2, 0.6", "mode = \"linear\", coordinate_transformation_mode = \"asymmetric\""),
     {f64("x", {1, 2, 3, 4})}},
    {"Resize linear symmetric",
     scaled("2.3, 0.6",
            "mode = \"linear\", coordinate_transformation_mode = \"half_pixel_symmetric\""),
     {f64("x", {1, 2, 3, 4})}},
    {"Resize linear as PyTorch did",
     "y = Resize<mode = \"linear\", coordinate_transformation_mode = \"pytorch_half_pixel\">"
     "(x, , , sizes)",
     {f64("x", {1, 2, 4, 4}), i64("sizes", {1, 2, 3, 1})}},
    {"Resize linear to sizes",
     "y = Resize<mode = \"linear\">(x, , , sizes)",
     {f64("x", {1, 2, 3, 5}), i64("sizes", {1, 2, 7, 4})}},
    {"Resize linear 1 dimension",
     "s = Constant<value = float[3] {1, 1, 2.5}>()\ny = Resize<mode = \"linear\">(x, , s)",
     {f64("x", {2, 1, 4})}},
    {"Resize linear 3 dimensions",
     "s = Constant<value = float[5] {1, 1, 2, 1.5, 0.5}>()\ny = Resize<mode = \"linear\">(x, , s)",
     {f64("x", {1, 2, 2, 2, 4})}},
    {"Resize linear, without aliases",
     scaled("0.5, 0.6", "mode = \"linear\", antialias = 1"),
     {f64("x", {1, 2, 6, 7})}},
    {"Resize linear, within the input",
     "y = Resize<mode = \"linear\", exclude_outside = 1>(x, , , sizes)",
     {f64("x", {1, 1, 3, 4}), i64("sizes", {1, 1, 5, 7})}},

    // Cubics
    {"Resize cubic", scaled("2, 1.5", "mode = \"cubic\""), {f64("x", {1, 2, 4, 4})}},
    {"Resize cubic of another coefficient",
     scaled("2, 0.8", "mode = \"cubic\", cubic_coeff_a = -0.5"),
     {f64("x", {1, 2, 4, 5})}},
    {"Resize cubic, within the input",
     scaled("2, 2", "mode = \"cubic\", exclude_outside = 1"),
     {f64("x", {1, 1, 4, 4})}},
    {"Resize cubic at the corners",
     scaled("2, 2", "mode = \"cubic\", coordinate_transformation_mode = \"align_corners\""),
     {f64("x", {1, 1, 4, 3})}},
    {"Resize cubic asymmetric",
     scaled("1.5, 2", "mode = \"cubic\", coordinate_transformation_mode = \"asymmetric\""),
     {f64("x", {1, 1, 4, 3})}},
    {"Resize cubic, without aliases",
     scaled("0.5, 0.6", "mode = \"cubic\", antialias = 1"),
     {f64("x", {1, 1, 6, 7})}},
    {"Resize cubic, without aliases, within the input",
     scaled("0.5, 0.6", "mode = \"cubic\", antialias = 1, exclude_outside = 1"),
     {f64("x", {1, 1, 6, 7})}},

    // Regions
    {"Resize of a region",
     "r = Constant<value = float[8] {0, 0, 0.4, 0.6, 1, 1, 0.6, 0.8}>()\n"
     "y = Resize<mode = \"linear\", coordinate_transformation_mode = \"tf_crop_and_resize\">"
     "(x, r, , sizes)",
     {f64("x", {1, 2, 4, 4}), i64("sizes", {1, 2, 3, 3})}},
    {"Resize of a region beyond the input",
     "r = Constant<value = float[8] {0, 0, 0.4, 0.6, 1, 1, 1.2, 1.7}>()\n"
     "y = Resize<mode = \"linear\", coordinate_transformation_mode = \"tf_crop_and_resize\", "
     "extrapolation_value = 10.0>(x, r, , sizes)",
     {f64("x", {1, 1, 4, 4}), i64("sizes", {1, 1, 3, 3})}},
    Case{"Resize of a given region",
         "n = Constant<value = int64[2] {3, 4}>()\n"
         "y = Resize<axes = [2, 3], mode = \"linear\", coordinate_transformation_mode = "
         "\"tf_crop_and_resize\">(x, region, , n)",
         {f64("x", {1, 2, 4, 5}), f64("region", {4}, 0.1, 0.9)}}
        .differentiated_by({"x"}),
    {"Resize nearest of a region beyond the input",
     "r = Constant<value = float[4] {-0.3, 0.6, 0.7, 1.7}>()\n"
     "y = Resize<axes = [2, 3], coordinate_transformation_mode = \"tf_crop_and_resize\", "
     "extrapolation_value = 10.0>(x, r, , sizes)",
     {f64("x", {1, 2, 4, 4}), i64("sizes", {3, 1})}},

    // Axes
    {"Resize axes",
     "s = Constant<value = float[2] {1.5, 2}>()\n"
     "y = Resize<axes = [-1, 2], mode = \"linear\">(x, , s)",
     {f64("x", {1, 2, 4, 4})}},
    {"Resize to no larger sizes",
     "n = Constant<value = int64[2] {7, 8}>()\n"
     "y = Resize<axes = [2, 3], mode = \"linear\", keep_aspect_ratio_policy = \"not_larger\">"
     "(x, , , n)",
     {f64("x", {1, 2, 3, 4})}},
    {"Resize to no smaller sizes",
     "n = Constant<value = int64[2] {7, 8}>()\n"
     "y = Resize<axes = [2, 3], mode = \"cubic\", keep_aspect_ratio_policy = \"not_smaller\">"
     "(x, , , n)",
     {f64("x", {1, 2, 3, 4})}},
    {"Resize of nothing", scaled("1, 1", "mode = \"linear\""), {f64("x", {1, 2, 3, 4})}},

    // Between convolutions, whose images have their channels last
    {"Resize images",
     "c = Conv(x, w)\ns = Constant<value = float[4] {1, 1, 2, 1.5}>()\n"
     "r = Resize<mode = \"linear\">(c, , s)\ny = Conv(r, v)",
     {f64("x", {2, 2, 4, 4}), f64("w", {3, 2, 1, 1}), f64("v", {2, 3, 2, 2})}},
    {"Resize images by nearest elements",
     "c = Conv(x, w)\ns = Constant<value = float[4] {1, 1, 2, 2}>()\n"
     "r = Resize(c, , s)\ny = Conv(r, v)",
     {f64("x", {2, 2, 4, 4}), f64("w", {3, 2, 1, 1}), f64("v", {2, 3, 2, 2})}},

    Case{"Resize by both",
         "s = Constant<value = float[2] {1, 2}>()\ny = Resize(x, , s, sizes)",
         {f64("x", {2, 2}), i64("sizes", {2, 4})}}
        .refused("both scales and sizes"),
    Case{"Resize of an unknown mode",
         "s = Constant<value = float[2] {1, 2}>()\n"
         "y = Resize<mode = \"area\">(x, , s)",
         {f64("x", {2, 2})}}
        .refused("area"),
};

}  // namespace

std::span<const Case> resize_cases() { return kCases; }

}  // namespace onward
