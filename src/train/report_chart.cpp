#include "train/report_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "train/html.h"

namespace onward {
namespace {

// As in report.js.
constexpr double kWidth = 560, kHeight = 280;
constexpr double kLeft = 56, kRight = 14, kTop = 10, kBottom = 40;

const char* style_of(Series::Kind kind) {
  switch (kind) {
    case Series::Kind::training:
      return "training";
    case Series::Kind::evaluation:
      return "evaluation";
    default:
      return "steps";
  }
}

struct Interval {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  /// With some room where all is one number, or nothing.
  Interval widened() const {
    if (low > high) return {0, 1};
    if (low < high) return *this;
    const double room = low == 0 ? 1 : std::abs(low) / 10;
    return {low - room, high + room};
  }
};

/// Where points lie in the picture.
struct Scale {
  Interval x, y;

  double left(double value) const {
    return kLeft + (value - x.low) / (x.high - x.low) * (kWidth - kLeft - kRight);
  }
  double top(double value) const {
    return kHeight - kBottom - (value - y.low) / (y.high - y.low) * (kHeight - kTop - kBottom);
  }
};

Scale scale_of(const Chart& chart) {
  Interval x, y;
  for (const Series& series : chart.series) {
    for (const Point& point : series.points) {
      x.add(point.x);
      y.add(point.y);
    }
  }
  return {x.widened(), y.widened()};
}

/// A path that has gaps where a number is not finite, and dots where epochs are few.
std::string line_of(const Series& series, const Scale& scale) {
  std::string path, dots;
  bool is_down = false;
  const bool has_dots = series.kind != Series::Kind::steps && series.points.size() <= 60;
  for (const Point& point : series.points) {
    if (!std::isfinite(point.y)) {
      is_down = false;
      continue;
    }
    const double x = scale.left(point.x), y = scale.top(point.y);
    path += fmt::format("{}{:.1f},{:.1f}", is_down ? "L" : "M", x, y);
    is_down = true;
    if (has_dots) dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>", x, y);
  }
  return fmt::format("<g class=\"line {}\"><path d=\"{}\"/>{}</g>", style_of(series.kind), path,
                     dots);
}

/// "0.5", "1e-05".
std::string tick_text(double value) { return fmt::format("{:.6g}", value); }

std::string axes(const Scale& scale) {
  std::string text;
  for (const double value : ticks(scale.y.low, scale.y.high, 5)) {
    text += fmt::format(
        "<path class=\"grid\" d=\"M{},{:.1f}H{}\"/><text x=\"{}\" y=\"{:.1f}\" "
        "text-anchor=\"end\">{}</text>",
        kLeft, scale.top(value), kWidth - kRight, kLeft - 8, scale.top(value) + 4,
        tick_text(value));
  }
  for (const double value : ticks(scale.x.low, scale.x.high, 6)) {
    if (value != std::round(value)) continue;
    text += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                        scale.left(value), kHeight - kBottom + 18, tick_text(value));
  }
  text += fmt::format(
      "<path class=\"axis\" d=\"M{0},{1}H{2}\"/><text class=\"name\" x=\"{3}\" y=\"{4}\" "
      "text-anchor=\"middle\">steps</text>",
      kLeft, kHeight - kBottom, kWidth - kRight, (kLeft + kWidth - kRight) / 2, kHeight - 5);
  return text;
}

/// For those who cannot see it.
std::string description(const Chart& chart) {
  std::string text = "Curves of " + chart.title + " over the steps.";
  for (const Series& series : chart.series) {
    if (series.points.empty()) continue;
    text += fmt::format(" {}: from {:.4g} to {:.4g}.", series.name, series.points.front().y,
                        series.points.back().y);
  }
  return text;
}

}  // namespace

Curve::Curve(std::span<const Point> points, uint64_t width) : width_(std::max<uint64_t>(width, 1)) {
  const auto count = static_cast<double>(width_);
  for (const Point& each : points) sums_.push_back({each.x * count, each.y * count, width_});
}

void Curve::add(Point point) {
  if (sums_.empty() || sums_.back().count == width_) {
    if (sums_.size() >= kMaxPoints) {
      for (size_t i = 0; i < kMaxPoints / 2; ++i) {
        const Sum &first = sums_[2 * i], &second = sums_[2 * i + 1];
        sums_[i] = {first.x + second.x, first.y + second.y, first.count + second.count};
      }
      sums_.resize(kMaxPoints / 2);
      width_ *= 2;
    }
    sums_.emplace_back();
  }
  Sum& sum = sums_.back();
  sum.x += point.x;
  sum.y += point.y;
  ++sum.count;
}

std::vector<Point> Curve::points() const {
  std::vector<Point> points;
  for (const Sum& sum : sums_) {
    const auto count = static_cast<double>(sum.count);
    points.push_back({sum.x / count, sum.y / count});
  }
  return points;
}

std::vector<double> ticks(double low, double high, int count) {
  const double rough = (high - low) / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) {
      step = factor * power;
      break;
    }
  }
  std::vector<double> found;
  const double first = std::ceil(low / step - 1e-9);
  for (double i = first; i * step <= high + 1e-9 * step && found.size() < 100; ++i) {
    found.push_back(i * step + 0.0);  // no -0
  }
  return found;
}

std::string figure_of(const Chart& chart, const std::string& id) {
  const Scale scale = scale_of(chart);
  std::string keys, lines;
  for (const Series& series : chart.series) {
    keys += fmt::format("<span class=\"key {}\">{}</span>", style_of(series.kind),
                        html::escaped(series.name));
    lines += line_of(series, scale);
  }
  return fmt::format(
      "<figure class=\"chart\" id=\"{}\">\n<figcaption>{}</figcaption>\n"
      "<div class=\"keys\">{}</div>\n<svg viewBox=\"0 0 {} {}\" role=\"img\" "
      "aria-label=\"{}\">{}{}</svg>\n</figure>\n",
      id, html::escaped(chart.title), keys, kWidth, kHeight, html::escaped(description(chart)),
      axes(scale), lines);
}

nlohmann::ordered_json to_json(const Chart& chart) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Series& series : chart.series) {
    nlohmann::ordered_json x = nlohmann::ordered_json::array(), y = x;
    for (const Point& point : series.points) {
      x.push_back(point.x);
      y.push_back(point.y);
    }
    all.push_back({{"kind", style_of(series.kind)},
                   {"name", series.name},
                   {"width", series.width},
                   {"x", x},
                   {"y", y}});
  }
  return {{"title", chart.title}, {"series", all}};
}

}  // namespace onward
