// The parts of a report that show what a classifier takes for what.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "train/html.h"
#include "train/report_page.h"

namespace onward {
namespace {

using html::escaped;

constexpr int64_t kMaxTable = 40;  // classes; of more, pairs alone are shown
constexpr size_t kMaxPairs = 20;

/// Its name, or else its number.
std::string class_name(const ReportPage& page, int64_t label) {
  const auto at = static_cast<size_t>(label);
  return at < page.classes.size() ? page.classes[at].first : std::to_string(label);
}

std::string percent(int64_t part, int64_t all) {
  if (all == 0) return "";
  return fmt::format("{:.1f} %", 100 * static_cast<double>(part) / static_cast<double>(all));
}

int64_t of_truth(const Confusion& confusion, int64_t truth) {
  int64_t sum = 0;
  for (int64_t each = 0; each < confusion.classes; ++each) sum += confusion.at(truth, each);
  return sum;
}

int64_t of_prediction(const Confusion& confusion, int64_t predicted) {
  int64_t sum = 0;
  for (int64_t each = 0; each < confusion.classes; ++each) sum += confusion.at(each, predicted);
  return sum;
}

/// The shade of a cell grows with its share; that of a mistake faster, since each is a small part.
std::string cell(const ReportPage& page, const Confusion& confusion, int64_t truth,
                 int64_t predicted, int64_t all) {
  const int64_t count = confusion.at(truth, predicted);
  const bool is_right = truth == predicted;
  if (count == 0) return is_right ? "<td class=\"cell\">0</td>" : "<td class=\"cell none\">·</td>";
  const double share = static_cast<double>(count) / static_cast<double>(all);
  const double shade = is_right ? share : std::sqrt(share);
  return fmt::format(
      "<td class=\"cell {}{}\" style=\"--shade:{:.3f}\" title=\"{} taken for {}: {} of {}\">{}"
      "</td>",
      is_right ? "right" : "wrong", shade > 0.55 ? " dark" : "", shade,
      escaped(class_name(page, truth)), escaped(class_name(page, predicted)), count, all, count);
}

std::string matrix(const ReportPage& page, const Confusion& confusion) {
  const bool is_dense = confusion.classes > 12;
  bool is_long = is_dense;
  for (int64_t i = 0; i < confusion.classes; ++i) is_long |= class_name(page, i).size() > 4;
  std::string text = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Confusion matrix\">\n"
      "<table class=\"confusion{}{}\"><caption>Rows are true classes, columns what they were taken "
      "for. The shade grows with a cell's share of its row.</caption>\n"
      "<thead><tr><th scope=\"col\"><span>true \\ predicted</span></th>",
      is_long ? " long" : "", is_dense ? " dense" : "");
  for (int64_t i = 0; i < confusion.classes; ++i) {
    text += fmt::format("<th scope=\"col\"><span>{}</span></th>", escaped(class_name(page, i)));
  }
  text += "<th scope=\"col\" class=\"sum\"><span>recall</span></th></tr></thead>\n<tbody>\n";
  for (int64_t truth = 0; truth < confusion.classes; ++truth) {
    const int64_t all = of_truth(confusion, truth);
    text += fmt::format("<tr><th scope=\"row\">{}</th>", escaped(class_name(page, truth)));
    for (int64_t i = 0; i < confusion.classes; ++i) text += cell(page, confusion, truth, i, all);
    text +=
        fmt::format("<td class=\"sum\">{}</td></tr>\n", percent(confusion.at(truth, truth), all));
  }
  text += "</tbody>\n<tfoot><tr><th scope=\"row\">precision</th>";
  for (int64_t i = 0; i < confusion.classes; ++i) {
    text += fmt::format("<td class=\"sum\"><span>{}</span></td>",
                        percent(confusion.at(i, i), of_prediction(confusion, i)));
  }
  return text + "<td></td></tr></tfoot></table></div>\n";
}

struct Pair {
  int64_t truth, predicted, count;
};

std::string pairs(const ReportPage& page, const Confusion& confusion) {
  std::vector<Pair> found;
  for (int64_t truth = 0; truth < confusion.classes; ++truth) {
    for (int64_t i = 0; i < confusion.classes; ++i) {
      const int64_t count = confusion.at(truth, i);
      if (truth != i && count > 0) found.push_back({truth, i, count});
    }
  }
  if (found.empty()) return "<p>No example was taken for another class.</p>\n";
  std::ranges::sort(found, [](const Pair& a, const Pair& b) {
    return std::tie(b.count, a.truth, a.predicted) < std::tie(a.count, b.truth, b.predicted);
  });
  std::string text = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Mistakes\">\n"
      "<table "
      "class=\"sortable\"><caption>{}</caption>\n<thead><tr>{}{}{}{}</tr></thead>\n<tbody>\n",
      found.size() > kMaxPairs
          ? fmt::format("The most frequent mistakes, {} of {} pairs", kMaxPairs, found.size())
          : "All mistakes, the most frequent first",
      text_head("true class"), text_head("taken for"), number_head("examples"),
      number_head("share of the true class"));
  for (size_t i = 0; i < std::min(found.size(), kMaxPairs); ++i) {
    const Pair& each = found[i];
    text += fmt::format(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"number\">{}</td>"
        "<td class=\"number\">{}</td></tr>\n",
        escaped(class_name(page, each.truth)), escaped(class_name(page, each.predicted)),
        each.count, percent(each.count, of_truth(confusion, each.truth)));
  }
  return text + "</tbody></table></div>\n";
}

std::string probability_text(double value) { return fmt::format("{:.1f} %", 100 * value); }

std::string pictures(const ReportPage& page) {
  std::string text = "<div class=\"pictures\">\n";
  for (const ShownExample& each : page.wrong) {
    text += fmt::format(
        "<figure><img src=\"{}\" alt=\"{}\"><figcaption><b>{}</b> <span class=\"of\">{}</span><br>"
        "true: <b>{}</b> <span class=\"of\">{}</span><span class=\"file\">{}</span></figcaption>"
        "</figure>\n",
        each.picture,
        escaped(
            fmt::format("{}, of class {}, taken for {}", each.name, each.truth, each.predicted)),
        escaped(each.predicted), probability_text(each.probability), escaped(each.truth),
        probability_text(each.of_truth), escaped(each.name));
  }
  return text + "</div>\n";
}

std::string rows(const ReportPage& page) {
  std::string text =
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Wrong predictions\">\n"
      "<table class=\"sortable\"><caption>The worst first</caption>\n<thead><tr>";
  text += text_head("example") + text_head("true class") + text_head("predicted") +
          number_head("probability") + number_head("of the true class") + number_head("loss");
  for (const auto& [column, value] : page.wrong[0].fields) {
    text += text_head(column);
  }
  text += "</tr></thead>\n<tbody>\n";
  for (const ShownExample& each : page.wrong) {
    text += fmt::format(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td class=\"number\">{}</td>"
        "<td class=\"number\">{}</td><td class=\"number\">{:.4g}</td>",
        escaped(each.name), escaped(each.truth), escaped(each.predicted),
        probability_text(each.probability), probability_text(each.of_truth), each.loss);
    for (const auto& [column, value] : each.fields) {
      text += fmt::format("<td>{}</td>", escaped(value));
    }
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

}  // namespace

std::string confusion_section(const ReportPage& page) {
  if (!page.evaluation || !page.evaluation->confusion) return {};
  const Confusion& confusion = *page.evaluation->confusion;
  if (confusion.classes < 1) return {};
  std::string text = "<section>\n<h2>Confusion matrix</h2>\n";
  if (confusion.classes <= kMaxTable) {
    text += matrix(page, confusion);
    if (confusion.classes > 2) text += pairs(page, confusion);
  } else {
    text += pairs(page, confusion);
  }
  return text + "</section>\n";
}

std::string wrong_section(const ReportPage& page) {
  if (page.wrong.empty()) return {};
  const bool has_pictures =
      std::ranges::none_of(page.wrong, &std::string::empty, &ShownExample::picture);
  return fmt::format(
      "<section>\n<h2>Most wrong</h2>\n<p>{} of the held-out examples {} a wrong class; these have "
      "the highest loss.{}</p>\n{}</section>\n",
      page.wrong_count, page.wrong_count == 1 ? "has" : "have",
      has_pictures ? " Below each is the class that it was taken for, then its own, with the "
                     "probabilities that the model gives to them."
                   : "",
      has_pictures ? pictures(page) : rows(page));
}

}  // namespace onward
