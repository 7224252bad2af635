#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

namespace onward {

struct Point {
  double x = 0, y = 0;
};

/// Points that come one by one, however many: neighbors are averaged, so that a bounded number is
/// kept.
class Curve {
 public:
  static constexpr size_t kMaxPoints = 1000;

  Curve() = default;
  /// One that has points already, of so many each.
  Curve(std::span<const Point> points, uint64_t width);

  void add(Point point);
  std::vector<Point> points() const;
  /// How many of the points given are one of those kept.
  uint64_t width() const { return width_; }

 private:
  struct Sum {
    double x = 0, y = 0;
    uint64_t count = 0;
  };

  std::vector<Sum> sums_;
  uint64_t width_ = 1;
};

/// One line of a chart.
struct Series {
  /// What it shows, by which it is drawn.
  enum class Kind : uint8_t { steps, training, evaluation };

  Kind kind = Kind::steps;
  std::string name;
  std::vector<Point> points;
  uint64_t width = 1;  // the steps of a point
};

/// Curves of one number over the steps.
struct Chart {
  std::string title;
  std::vector<Series> series;
};

/// The chart as a figure whose element has that id. It is drawn here, so that it can be seen
/// without a script; report.js draws it anew to answer to the reader.
std::string figure_of(const Chart& chart, const std::string& id);
/// What report.js needs of it.
nlohmann::ordered_json to_json(const Chart& chart);

/// Round numbers from `low` to `high`, about so many.
std::vector<double> ticks(double low, double high, int count);

}  // namespace onward
