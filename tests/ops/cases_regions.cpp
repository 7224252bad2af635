#include "tests/ops/case.h"

namespace onward {
namespace {

CaseInput rows(std::string name, std::vector<int64_t> dims, std::vector<double> values) {
  return {.name = std::move(name), .dims = std::move(dims), .values = std::move(values)};
}

/// Regions x1, y1, x2, y2 within images of 5 by 6 elements, between their elements.
CaseInput regions() {
  return rows("rois", {3, 4}, {0.3, 0.6, 4.1, 3.3, 1.15, 0.2, 2.4, 4.45, 2.7, 1.9, 5.2, 2.6});
}

Case pooled(std::string name, const std::string& attributes, CaseInput rois) {
  return {std::move(name),
          "y = RoiAlign" + attributes + "(x, rois, image)",
          {f64("x", {2, 2, 5, 6}), std::move(rois), i64("image", {1, 0, 1})}};
}

/// Images and regions whose first column is the image, of which runtimes drop a fraction.
Case largest(std::string name, const std::string& attributes, CaseInput rois) {
  return Case{std::move(name),
              "y = MaxRoiPool" + attributes + "(x, rois)",
              {f64("x", {2, 2, 5, 6}), std::move(rois)}}
      .differentiated_by({"x"});
}

/// Offsets of up to four elements (or `scale` times that) in both directions, none of them to an
/// element itself, where the slope is another on each side.
CaseInput offsets(std::vector<int64_t> dims, double scale = 1) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    const auto steps = static_cast<double>(i * 37 % 16), more = static_cast<double>(i % 7);
    values.push_back(scale * (steps / 2 - 3.75 + more / 100));
  }
  return rows("offset", std::move(dims), std::move(values));
}

const Case kCases[] = {
    pooled("RoiAlign", "<output_height = 2, output_width = 3, sampling_ratio = 2>", regions()),
    pooled("RoiAlign of as many points as elements", "<output_height = 2>", regions()),
    pooled("RoiAlign of scaled regions",
           "<output_height = 2, output_width = 2, spatial_scale = 0.6, "
           "coordinate_transformation_mode = \"output_half_pixel\">",
           regions()),
    pooled(
        "RoiAlign beyond the images", "<output_height = 3, output_width = 2>",
        rows("rois", {3, 4}, {-4.2, -2.6, 3.3, 2.45, 3.3, 2.1, 9.4, 8.2, 20.3, 20.6, 22.4, 23.3})),
    pooled("RoiAlign of regions turned over", "<output_height = 2, output_width = 2>",
           rows("rois", {3, 4}, {4.1, 3.3, 0.3, 0.6, 2.4, 0.2, 1.15, 4.45, 2.7, 2.6, 5.2, 1.9})),
    pooled("RoiAlign of small regions",
           "<output_height = 2, coordinate_transformation_mode = \"output_half_pixel\">",
           rows("rois", {3, 4}, {4.1, 3.3, 0.3, 0.6, 2.4, 0.2, 1.15, 4.45, 2.7, 2.6, 2.8, 2.9})),
    pooled("RoiAlign max", "<mode = \"max\", output_height = 2, sampling_ratio = 2>", regions()),
    pooled("RoiAlign max of as many points as elements",
           "<mode = \"max\", output_height = 2, output_width = 2>", regions()),

    largest("MaxRoiPool", "<pooled_shape = [2, 3]>",
            rows("rois", {3, 5},
                 {1.3, 0.3, 0.6, 4.1, 3.3, 0.2, 1.15, 0.2, 2.4, 4.45, 1.6, 2, 1, 5, 2})),
    largest("MaxRoiPool of scaled regions", "<pooled_shape = [2, 2], spatial_scale = 0.5>",
            rows("rois", {2, 5}, {0.4, 1.2, 2.8, 9.2, 6.8, 1.4, 5.2, 2.2, 2.4, 6})),
    largest("MaxRoiPool beyond the images", "<pooled_shape = [3, 2]>",
            rows("rois", {3, 5}, {1.5, -3, -2.4, 2, 2, 0.5, 4, 3, 9, 8, 1.5, 20, 20, 22, 23})),

    {"DeformConv",
     "y = DeformConv(x, w, offset)",
     {f64("x", {2, 3, 5, 4}), f64("w", {2, 3, 2, 2}), offsets({2, 8, 4, 3}, 0.4)}},
    {"DeformConv groups, mask and bias",
     "y = DeformConv<group = 2, offset_group = 2, pads = [1, 0, 0, 1], strides = [2, 1], "
     "dilations = [1, 2], kernel_shape = [2, 3]>(x, w, offset, b, mask)",
     {f64("x", {1, 4, 5, 6}), f64("w", {4, 2, 2, 3}), offsets({1, 24, 3, 3}, 0.4), f64("b", {4}),
      f64("mask", {1, 12, 3, 3})}},
    {"DeformConv far away",
     "y = DeformConv<pads = [1, 1, 1, 1]>(x, w, offset)",
     {f64("x", {1, 2, 3, 3}), f64("w", {1, 2, 3, 3}), offsets({1, 18, 3, 3})}},
    {"DeformConv 1 dimension",
     "y = DeformConv<strides = [2]>(x, w, offset, , mask)",
     {f64("x", {2, 2, 7}), f64("w", {3, 2, 3}), offsets({2, 3, 3}, 0.4), f64("mask", {2, 3, 3})}},
    {"DeformConv 3 dimensions",
     "y = DeformConv(x, w, offset)",
     {f64("x", {1, 2, 3, 3, 2}), f64("w", {1, 2, 2, 2, 1}), offsets({1, 12, 2, 2, 2}, 0.2)}},

    Case{"RoiAlign of an image that is not there",
         "y = RoiAlign(x, rois, image)",
         {f64("x", {2, 1, 3, 3}), f64("rois", {1, 4}, 0, 2), i64("image", {2})}}
        .refused("it holds 2, which is out of range"),
    Case{"DeformConv of other offsets",
         "y = DeformConv(x, w, offset)",
         {f64("x", {1, 1, 3, 3}), f64("w", {1, 1, 2, 2}), f64("offset", {1, 8, 3, 2})}}
        .refused("its dimension 2 is 3, not 2"),
};

}  // namespace

std::span<const Case> region_cases() { return kCases; }

}  // namespace onward
