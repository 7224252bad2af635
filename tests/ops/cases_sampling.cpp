#include "tests/ops/case.h"

namespace onward {
namespace {

/// Samples of images, most of them inside, at positions between elements.
Case samples(std::string name, const std::string& attributes, CaseInput grid) {
  const std::vector<int64_t> dims = grid.dims.size() == 4   ? std::vector<int64_t>{2, 3, 4, 5}
                                    : grid.dims.size() == 5 ? std::vector<int64_t>{1, 2, 3, 4, 3}
                                                            : std::vector<int64_t>{2, 2, 6};
  return {std::move(name),
          "y = GridSample" + attributes + "(x, grid)",
          {f64("x", dims), std::move(grid)}};
}

std::string shape(const std::string& name, const std::vector<int64_t>& numbers) {
  std::string list;
  for (const int64_t number : numbers) list += (list.empty() ? "" : ", ") + std::to_string(number);
  return name + " = Constant<value = int64[" + std::to_string(numbers.size()) + "] {" + list +
         "}>()\n";
}

const Case kCases[] = {
    samples("GridSample", "", f64("grid", {2, 2, 3, 2}, -1.2, 1.25)),
    samples("GridSample linear at the corners", "<align_corners = 1>",
            f64("grid", {2, 2, 3, 2}, -1.3, 1.3)),
    samples("GridSample linear, border", "<padding_mode = \"border\">",
            f64("grid", {2, 2, 3, 2}, -1.7, 1.7)),
    samples("GridSample linear, reflection", "<padding_mode = \"reflection\">",
            f64("grid", {2, 3, 3, 2}, -3, 3)),
    samples("GridSample linear, reflection at the corners",
            "<padding_mode = \"reflection\", align_corners = 1>", f64("grid", {2, 3, 3, 2}, -5, 5)),
    samples("GridSample cubic", "<mode = \"cubic\">", f64("grid", {2, 2, 3, 2}, -1.3, 1.3)),
    samples("GridSample cubic, border", "<mode = \"cubic\", padding_mode = \"border\">",
            f64("grid", {2, 2, 3, 2}, -1.6, 1.6)),
    samples("GridSample cubic, reflection at the corners",
            "<mode = \"cubic\", padding_mode = \"reflection\", align_corners = 1>",
            f64("grid", {2, 2, 3, 2}, -3, 3)),
    samples("GridSample nearest", "<mode = \"nearest\">", f64("grid", {2, 2, 3, 2}, -1.3, 1.3))
        .differentiated_by({"x"}),
    samples("GridSample nearest, border", "<mode = \"nearest\", padding_mode = \"border\">",
            f64("grid", {2, 2, 3, 2}, -1.6, 1.6))
        .differentiated_by({"x"}),
    samples("GridSample nearest, reflection", "<mode = \"nearest\", padding_mode = \"reflection\">",
            f64("grid", {2, 3, 3, 2}, -4, 4))
        .differentiated_by({"x"}),
    samples("GridSample 1 dimension", "", f64("grid", {2, 4, 1}, -1.3, 1.3)),
    samples("GridSample 3 dimensions", "", f64("grid", {1, 2, 2, 3, 3}, -1.3, 1.3)),
    samples("GridSample nearest of 3 dimensions", "<mode = \"nearest\", align_corners = 1>",
            f64("grid", {1, 2, 2, 3, 3}, -1.3, 1.3))
        .differentiated_by({"x"}),
    samples("GridSample cubic of 3 dimensions", "<mode = \"cubic\", padding_mode = \"border\">",
            f64("grid", {1, 1, 2, 2, 3}, -1.2, 1.2)),

    {"AffineGrid",
     shape("size", {2, 3, 4, 5}) + "y = AffineGrid(theta, size)",
     {f64("theta", {2, 2, 3})}},
    {"AffineGrid at the corners",
     shape("size", {2, 3, 4, 5}) + "y = AffineGrid<align_corners = 1>(theta, size)",
     {f64("theta", {2, 2, 3})}},
    {"AffineGrid 3 dimensions",
     shape("size", {1, 2, 2, 4, 3}) + "y = AffineGrid(theta, size)",
     {f64("theta", {1, 3, 4})}},
    {"AffineGrid to a size that is an input",
     "y = AffineGrid(theta, size)",
     {f64("theta", {2, 2, 3}), i64("size", {2, 1, 3, 2})}},
    {"AffineGrid and what is sampled there",
     shape("size", {2, 2, 3, 3}) + "g = AffineGrid(theta, size)\ny = GridSample(x, g)",
     {f64("theta", {2, 2, 3}, -0.7, 0.7), f64("x", {2, 2, 4, 5})}},

    {"Col2Im",
     shape("image", {5, 4}) + shape("block", {2, 3}) + "y = Col2Im(x, image, block)",
     {f64("x", {2, 12, 8})}},
    {"Col2Im pads and strides",
     shape("image", {5, 6}) + shape("block", {2, 3}) +
         "y = Col2Im<pads = [1, 0, 0, 2], strides = [2, 3]>(x, image, block)",
     {f64("x", {1, 12, 6})}},
    {"Col2Im dilations",
     shape("image", {5, 6}) + shape("block", {2, 2}) +
         "y = Col2Im<dilations = [2, 3]>(x, image, block)",
     {f64("x", {2, 4, 9})}},
    {"Col2Im 1 dimension",
     shape("image", {7}) + shape("block", {3}) + "y = Col2Im(x, image, block)",
     {f64("x", {2, 6, 5})}},
    {"Col2Im 3 dimensions",
     shape("image", {3, 2, 4}) + shape("block", {2, 1, 3}) + "y = Col2Im(x, image, block)",
     {f64("x", {1, 12, 8})}},
    {"Col2Im of shapes that are inputs",
     "y = Col2Im(x, image, block)",
     {f64("x", {2, 4, 6}), i64("image", {3, 4}), i64("block", {2, 2})}},

    Case{"GridSample of an unknown mode",
         "y = GridSample<mode = \"area\">(x, grid)",
         {f64("x", {1, 1, 2, 2}), f64("grid", {1, 2, 2, 2})}}
        .refused("area"),
    Case{"Col2Im of other columns",
         "y = Col2Im(x, image, block)",
         {f64("x", {2, 4, 5}), i64("image", {3, 4}), i64("block", {2, 2})}}
        .refused("it has 5 columns, but blocks have 6 places"),
};

}  // namespace

std::span<const Case> sampling_cases() { return kCases; }

}  // namespace onward
