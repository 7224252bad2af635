#include "train/report_history.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace onward {
namespace {

using Json = nlohmann::ordered_json;

/// JSON has null for what is not finite.
double number_in(const Json& json) { return json.is_null() ? std::nan("") : json.get<double>(); }

NamedValues values_in(const Json& json) {
  NamedValues values;
  for (const Json& each : json)
    values.emplace_back(each.at(0).get<std::string>(), number_in(each.at(1)));
  return values;
}

std::string text_of_data(const std::filesystem::path& file) {
  std::ostringstream stream;
  stream << std::ifstream(file, std::ios::binary).rdbuf();
  const std::string text = stream.str();
  constexpr std::string_view kBegin = "id=\"report-data\">";
  const size_t begin = text.find(kBegin);
  if (begin == std::string::npos) return {};
  const size_t from = begin + kBegin.size();
  return text.substr(from, text.find("</script>", from) - from);
}

void add_chart(const Json& chart, uint64_t step, ReportHistory& history) {
  for (const Json& series : chart.at("series")) {
    if (series.at("kind") != "steps") continue;
    std::vector<Point> points;
    for (size_t i = 0; i < series.at("x").size(); ++i) {
      const double x = number_in(series.at("x").at(i));
      if (x <= static_cast<double>(step)) points.push_back({x, number_in(series.at("y").at(i))});
    }
    history.steps.emplace_back(chart.at("title").get<std::string>(),
                               Curve(points, series.at("width").get<uint64_t>()));
  }
}

}  // namespace

Curve& curve(NamedCurves& curves, const std::string& name) {
  const auto found = std::ranges::find(curves, name, [](const auto& each) { return each.first; });
  return found != curves.end() ? found->second : curves.emplace_back(name, Curve()).second;
}

std::optional<ReportHistory> read_history(const std::filesystem::path& file, uint64_t step,
                                          uint64_t epoch) {
  const Json data = Json::parse(text_of_data(file), nullptr, false);
  if (data.is_discarded()) return std::nullopt;
  ReportHistory history;
  try {
    for (const Json& chart : data.at("charts")) add_chart(chart, step, history);
    for (const Json& each : data.at("epochs")) {
      if (each.at("epoch").get<uint64_t>() > epoch) continue;
      history.epochs.push_back({.epoch = each.at("epoch").get<uint64_t>(),
                                .step = each.at("step").get<uint64_t>(),
                                .training = values_in(each.at("training")),
                                .evaluation = values_in(each.at("evaluation")),
                                .examples = each.at("examples").get<int64_t>(),
                                .seconds = number_in(each.at("seconds")),
                                .evaluation_seconds = number_in(each.at("evaluation_seconds"))});
    }
  } catch (const Json::exception&) {  // somebody has changed it
    return std::nullopt;
  }
  return history;
}

}  // namespace onward
