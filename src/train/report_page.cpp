#include "train/report_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "onward/version.h"
#include "train/html.h"
#include "train/report_files.h"

namespace onward {
namespace {

using html::escaped;
using Page = ReportPage;

std::pair<const char*, const char*> status_words(Page::Status status) {
  switch (status) {
    case Page::Status::running:
      return {"running", "still running"};
    case Page::Status::done:
      return {"done", "done"};
    case Page::Status::stopped:
      return {"done", "stopped early"};
    case Page::Status::interrupted:
      return {"interrupted", "interrupted"};
    default:
      return {"failed", "ended by an error"};
  }
}

std::string head(const Page& page) {
  const auto [kind, words] = status_words(page.status);
  std::string text =
      fmt::format("<header>\n<h1>{}</h1>\n<p><span class=\"status {}\">{}</span></p>\n",
                  escaped(page.title), kind, words);
  if (!page.message.empty()) text += fmt::format("<pre>{}</pre>\n", escaped(page.message));
  if (!page.highlights.empty()) {
    text += "<dl class=\"highlights\">\n";
    for (const Page::Fact& each : page.highlights) {
      text += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escaped(each.name),
                          escaped(each.value));
    }
    text += "</dl>\n";
  }
  return text + "</header>\n";
}

std::string curves_section(const Page& page) {
  if (page.charts.empty()) return {};
  std::string text = "<section>\n<h2>Curves</h2>\n<div class=\"charts\">\n";
  for (size_t i = 0; i < page.charts.size(); ++i) {
    text += figure_of(page.charts[i], fmt::format("chart-{}", i));
  }
  return text + "</div>\n</section>\n";
}

std::string rows_of(const std::vector<Page::Fact>& facts) {
  std::string rows;
  for (const Page::Fact& each : facts) {
    rows += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escaped(each.name),
                        escaped(each.value));
  }
  return rows;
}

std::string settings_section(const Page& page) {
  std::string text = "<section>\n<h2>Model, data and settings</h2>\n<div class=\"columns\">\n";
  text += fmt::format(
      "<div><table class=\"facts\"><caption>Job</caption>\n<tbody>\n{}</tbody></table>\n",
      rows_of(page.facts));
  if (!page.classes.empty()) {
    text += fmt::format(
        "<details><summary>Examples by class</summary>\n<table class=\"sortable\"><thead><tr>"
        "{}{}</tr></thead>\n<tbody>\n",
        text_head("class"), number_head("examples"));
    for (const auto& [name, count] : page.classes) {
      text += fmt::format("<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td></tr>\n",
                          escaped(name), count);
    }
    text += "</tbody></table></details>\n";
  }
  text += "</div>\n";
  if (!page.options.empty()) {
    text += "<div><table class=\"facts\"><caption>Options (defaults are gray)</caption>\n<tbody>\n";
    for (const Page::Option& each : page.options) {
      text += fmt::format("<tr{}><th scope=\"row\">{}</th><td>{}</td></tr>\n",
                          each.given ? "" : " class=\"default\"", escaped(each.name),
                          each.value.empty() ? "none" : escaped(each.value));
    }
    text += "</tbody></table></div>\n";
  }
  return text + "</div>\n</section>\n";
}

std::string script_data(const Page& page) {
  nlohmann::ordered_json charts = nlohmann::ordered_json::array();
  for (const Chart& chart : page.charts) charts.push_back(to_json(chart));
  constexpr size_t kMaxEpochs = 2000;
  nlohmann::ordered_json epochs = nlohmann::ordered_json::array();
  const size_t first = page.epochs.size() > kMaxEpochs ? page.epochs.size() - kMaxEpochs : 0;
  for (const Page::Epoch& each : std::span(page.epochs).subspan(first)) {
    epochs.push_back({{"epoch", each.epoch},
                      {"step", each.step},
                      {"training", each.training},
                      {"evaluation", each.evaluation},
                      {"examples", each.examples},
                      {"seconds", each.seconds},
                      {"evaluation_seconds", each.evaluation_seconds}});
  }
  return html::script_json({{"charts", charts}, {"epochs", epochs}});
}

/// "1.25 s"; a cell that is empty where there was none.
std::string seconds_cell(double seconds) {
  return seconds > 0 ? fmt::format("<td class=\"number\" data-value=\"{}\">{}</td>", seconds,
                                   duration_text(seconds))
                     : "<td></td>";
}

}  // namespace

std::string text_head(const std::string& name) {
  return fmt::format("<th scope=\"col\">{}</th>", escaped(name));
}

std::string number_head(const std::string& name) {
  return fmt::format("<th scope=\"col\" class=\"number\">{}</th>", escaped(name));
}

std::string duration_text(double seconds) {
  if (seconds < 0.0995) return fmt::format("{:.2g} ms", 1000 * seconds);
  if (seconds < 59.95) return fmt::format("{:.3g} s", seconds);
  const auto whole = static_cast<int64_t>(std::min(seconds, 1e15) + 0.5);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

std::string bytes_text(double bytes) {
  return bytes < 1e9 ? fmt::format("{:.0f} MB", bytes / 1e6)
                     : fmt::format("{:.2f} GB", bytes / 1e9);
}

std::string value_text(const std::string& name, double value) {
  return name == "accuracy" ? fmt::format("{:.2f} %", 100 * value) : fmt::format("{:.4g}", value);
}

std::string epochs_section(const Page& page) {
  if (page.epochs.empty()) return {};
  constexpr size_t kMaxRows = 500;
  std::vector<std::string> training, evaluation;
  const auto collect = [](std::vector<std::string>& names, const NamedValues& values) {
    for (const auto& [name, value] : values) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  };
  for (const Page::Epoch& each : page.epochs) {
    collect(training, each.training);
    collect(evaluation, each.evaluation);
  }
  std::string text =
      "<section>\n<h2>Epochs</h2>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
      "aria-label=\"Epochs\">\n<table class=\"sortable\"><caption>";
  const size_t first = page.epochs.size() > kMaxRows ? page.epochs.size() - kMaxRows : 0;
  text += first > 0 ? fmt::format("The last {} of {} epochs", kMaxRows, page.epochs.size())
                    : "Means over each epoch, and the evaluation after it";
  text += "</caption>\n<thead><tr>" + text_head("epoch") + number_head("steps done");
  for (const std::string& name : training) text += number_head(name);
  for (const std::string& name : evaluation) text += number_head("evaluation: " + name);
  text += number_head("time of steps") + number_head("of evaluation") + number_head("examples/s") +
          "</tr></thead>\n<tbody>\n";
  const auto add_values = [&](const std::vector<std::string>& names, const NamedValues& values) {
    for (const std::string& name : names) {
      const auto found =
          std::ranges::find(values, name, [](const auto& each) { return each.first; });
      text += found == values.end() ? "<td></td>"
                                    : fmt::format("<td class=\"number\" data-value=\"{}\">{}</td>",
                                                  found->second, value_text(name, found->second));
    }
  };
  for (size_t i = first; i < page.epochs.size(); ++i) {
    const Page::Epoch& each = page.epochs[i];
    text += fmt::format("<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td>", each.epoch,
                        each.step);
    add_values(training, each.training);
    add_values(evaluation, each.evaluation);
    text += seconds_cell(each.seconds) + seconds_cell(each.evaluation_seconds);
    text += each.seconds > 0 ? fmt::format("<td class=\"number\">{:.0f}</td></tr>\n",
                                           static_cast<double>(each.examples) / each.seconds)
                             : "<td></td></tr>\n";
  }
  return text + "</tbody></table></div>\n</section>\n";
}

std::string times_section(const ReportPage& page) {
  const Page::Times& times = page.times;
  std::vector<Page::Fact> facts;
  if (times.training > 0) {
    facts.push_back({"time of steps", duration_text(times.training)});
    facts.push_back({"examples per second",
                     fmt::format("{:.0f}", static_cast<double>(times.examples) / times.training)});
  }
  if (times.evaluation > 0) {
    facts.push_back({"time of evaluations", duration_text(times.evaluation)});
  }
  if (times.peak_bytes > 0) {
    facts.push_back({"peak memory", bytes_text(static_cast<double>(times.peak_bytes))});
  }
  if (facts.empty() && page.kernels.empty()) return {};
  std::string text = "<section>\n<h2>Time and memory</h2>\n<table class=\"facts\">\n<tbody>\n" +
                     rows_of(facts) + "</tbody></table>\n";
  double all = 0, reference = 0;
  for (const KernelTime& each : page.kernels) {
    all += each.seconds;
    if (each.is_reference()) reference += each.seconds;
  }
  if (all > 0) {
    constexpr size_t kMaxRows = 40;
    text += fmt::format(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Time by operator\">\n"
        "<table class=\"sortable\"><caption>Time by operator and kernel, {:.1f} % of it in "
        "reference kernels</caption>\n<thead><tr>{}{}{}{}</tr></thead>\n<tbody>\n",
        100 * reference / all, text_head("operator"), text_head("kernel"), number_head("time"),
        number_head("share"));
    for (size_t i = 0; i < std::min(page.kernels.size(), kMaxRows); ++i) {
      const KernelTime& each = page.kernels[i];
      text += fmt::format(
          "<tr><th scope=\"row\">{}</th><td>{}</td>{}<td class=\"number share\" "
          "data-value=\"{}\" style=\"--share:{:.4f}\">{:.1f} %</td></tr>\n",
          each.operation.empty() ? "(between nodes)" : escaped(each.operation),
          escaped(each.kernel), seconds_cell(each.seconds), each.seconds, each.seconds / all,
          100 * each.seconds / all);
    }
    text += "</tbody></table></div>\n";
  }
  return text + "</section>\n";
}

std::string to_html(const Page& page) {
  // Nothing is asked of any network, whatever gets into the page.
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta name=\"generator\" content=\"Onward {}\">\n<title>{}</title>\n<style>\n{}</style>\n"
      "</head>\n<body>\n<main>\n{}{}{}{}{}{}{}</main>\n<footer>Made by Onward {}</footer>\n"
      "<script type=\"application/json\" id=\"report-data\">{}</script>\n"
      "<script>\n{}</script>\n</body>\n</html>\n",
      kVersion, escaped(page.title), report_css(), head(page), curves_section(page),
      epochs_section(page), confusion_section(page), wrong_section(page), times_section(page),
      settings_section(page), kVersion, script_data(page), report_js());
}

}  // namespace onward
