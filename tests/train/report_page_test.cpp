// The page of a report: what stands where, and that nothing of the user's world gets out of its
// place.

#include "train/report_page.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/temporary_folder.h"
#include "train/html.h"
#include "train/report_history.h"
#include "train/report_html.h"
#include "train/wrong_examples.h"

namespace onward {
namespace {

constexpr const char* kHostile =
    "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>&amp;\xe2\x80\xa8{}%s";

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const size_t first = text.find(begin);
  if (first == std::string::npos) return {};
  const size_t from = first + begin.size();
  return text.substr(from, text.find(end, from) - from);
}

/// A page with everything on it, and one name everywhere.
ReportPage full_page(const std::string& name) {
  ReportPage page{.title = name, .message = name, .facts = {{name, name}}};
  page.options = {{name, name, true}, {name, name, false}};
  page.highlights = {{name, name}};
  page.classes = {{name, 3}, {"other", 4}};
  page.charts = {{name,
                  {{Series::Kind::steps, name, {{1, 3}, {2, 2}, {3, 1}}},
                   {Series::Kind::evaluation, name, {{3, std::nan("")}}}}}};
  const Summary summary{.losses = {{name, 1}, {"b", 2}},
                        .accuracy = 0.5,
                        .metrics = {{name, 3}},
                        .confusion = Confusion{.classes = 2, .counts = {1, 2, 3, 4}}};
  page.epochs = {{.epoch = 1, .step = 3, .training = {{name, 1}}, .evaluation = {{name, 2}}}};
  page.evaluation = summary;
  page.wrong = {
      {.name = name, .picture = "", .fields = {{name, name}}, .truth = name, .predicted = name}};
  page.wrong_count = 1;
  page.kernels = {{name, name, 1.5}};
  return page;
}

TEST(ReportPage, KeepsHostileNamesInTheirPlace) {
  const std::string text = to_html(full_page(kHostile));
  EXPECT_EQ(count_of(text, "<script"), 2U);  // the data, and report.js
  EXPECT_EQ(count_of(text, "</script"), 2U);
  EXPECT_EQ(text.find("<img"), std::string::npos);
  EXPECT_EQ(text.find("onerror=alert(2)>"), std::string::npos);
  // As many elements and attributes as with a harmless name.
  const std::string harmless = to_html(full_page("n"));
  for (const char* each : {"<", "\"", ">"})
    EXPECT_EQ(count_of(text, each), count_of(harmless, each) + (*each == '"' ? 5 : 0)) << each;
  const std::string data = between(text, "id=\"report-data\">", "</script>");
  EXPECT_EQ(data.find("\xe2\x80\xa8"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(data)["charts"][0]["title"], kHostile);
  EXPECT_EQ(nlohmann::json::parse(data)["epochs"][0]["training"][0][0], kHostile);
}

TEST(ReportPage, AsksForNoOtherFile) {
  const std::string text = to_html(full_page("n"));
  for (const char* each :
       {"http:", "https:", "url(", "@import", "<link", " src=", "fetch(", "import("}) {
    EXPECT_EQ(text.find(each), std::string::npos) << each;
  }
  EXPECT_NE(text.find("default-src 'none'"), std::string::npos);
}

TEST(ReportPage, SaysNothingOfWhatThereIsNot) {
  const std::string text = to_html({.title = "t"});
  for (const char* each : {"Curves", "Epochs", "Confusion", "Most wrong"}) {
    EXPECT_EQ(text.find(each), std::string::npos) << each;
  }
  EXPECT_EQ(text.find("nan"), std::string::npos);
}

TEST(ReportPage, ShowsTheConfusionOfClasses) {
  ReportPage page{.title = "t"};
  page.classes = {{"cat", 1}, {"dog", 1}, {"<owl>", 1}};
  page.evaluation = {.confusion = Confusion{.classes = 3, .counts = {8, 2, 0, 1, 9, 0, 0, 0, 0}}};
  const std::string text = confusion_section(page);
  EXPECT_NE(text.find("--shade:0.800\" title=\"cat taken for cat: 8 of 10\">8</td>"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("--shade:0.447\" title=\"cat taken for dog: 2 of 10\">2</td>"),
            std::string::npos);
  EXPECT_NE(text.find("<td class=\"sum\">80.0 %</td>"), std::string::npos);  // recall
  EXPECT_NE(text.find("<span>88.9 %</span>"), std::string::npos);            // precision: 8 of 9
  EXPECT_NE(text.find("&lt;owl&gt;"), std::string::npos);
  EXPECT_LT(text.find("<th scope=\"row\">cat</th><td>dog</td><td class=\"number\">2</td>"),
            text.find("<th scope=\"row\">dog</th><td>cat</td><td class=\"number\">1</td>"));
}

TEST(ReportPage, ShowsOnlyPairsOfManyClasses) {
  constexpr int64_t kClasses = 1000;
  Confusion confusion{.classes = kClasses, .counts = std::vector<int64_t>(kClasses * kClasses, 1)};
  confusion.counts[3 * kClasses + 7] = 50;
  ReportPage page{.title = "t"};
  page.evaluation = {.confusion = confusion};
  const std::string text = confusion_section(page);
  EXPECT_LT(text.size(), 10000U);
  EXPECT_NE(text.find("20 of 999000 pairs"), std::string::npos);
  EXPECT_NE(text.find("<th scope=\"row\">3</th><td>7</td><td class=\"number\">50</td>"),
            std::string::npos);
}

TEST(ReportPage, SaysThatNothingWasMistaken) {
  ReportPage page{.title = "t"};
  page.evaluation = {.confusion = Confusion{.classes = 3, .counts = {1, 0, 0, 0, 1, 0, 0, 0, 1}}};
  EXPECT_NE(confusion_section(page).find("No example was taken for another class"),
            std::string::npos);
}

TEST(ReportPage, ShowsWrongExamplesAsPicturesOrRows) {
  ReportPage page{.title = "t"};
  page.wrong = {
      {.name = "a.png", .picture = "data:x", .fields = {}, .truth = "1", .predicted = "2"}};
  page.wrong_count = 12;
  std::string text = wrong_section(page);
  EXPECT_NE(text.find("12 of the held-out examples have a wrong class"), std::string::npos);
  EXPECT_NE(text.find("<img src=\"data:x\" alt=\"a.png, of class 1, taken for 2\">"),
            std::string::npos);
  page.wrong[0].picture.clear();
  page.wrong[0].fields = {{"age", "41"}};
  text = wrong_section(page);
  EXPECT_EQ(text.find("<img"), std::string::npos);
  EXPECT_NE(text.find("<th scope=\"col\">age</th>"), std::string::npos);
  EXPECT_NE(text.find("<td>41</td>"), std::string::npos);
}

TEST(ReportPage, ShowsTheTimeByKernels) {
  ReportPage page{.title = "t"};
  page.kernels = {{"Conv", "winograd", 3}, {"", "reference", 1}};
  const std::string text = times_section(page);
  EXPECT_NE(text.find("25.0 % of it in reference kernels"), std::string::npos);
  EXPECT_LT(text.find("75.0 %"), text.find("(between nodes)"));
}

TEST(ReportChart, KeepsABoundedNumberOfPoints) {
  Curve curve;
  for (int i = 0; i < 100000; ++i) curve.add({static_cast<double>(i), static_cast<double>(i % 2)});
  const auto points = curve.points();
  EXPECT_LE(points.size(), Curve::kMaxPoints);
  EXPECT_GE(points.size(), Curve::kMaxPoints / 2);
  EXPECT_EQ(curve.width(), 128U);
  for (size_t i = 0; i + 1 < points.size(); ++i) {
    EXPECT_EQ(points[i].y, 0.5);
    EXPECT_EQ(points[i].x, 63.5 + 128 * static_cast<double>(i));
  }
}

TEST(ReportChart, HasRoundTicks) {
  EXPECT_EQ(ticks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(ticks(-3, 17, 5), (std::vector<double>{0, 5, 10, 15}));
  const auto small = ticks(0.00012, 0.00051, 5);
  ASSERT_EQ(small.size(), 4U);
  EXPECT_DOUBLE_EQ(small[0], 0.0002);
}

TEST(ReportChart, DrawsWhatIsFinite) {
  const double nan = std::nan(""), inf = INFINITY;
  for (const std::vector<Point>& points : {std::vector<Point>{},
                                           {{1, nan}},
                                           {{1, 2}},
                                           {{1, 0}, {2, 0}},
                                           {{1, 1}, {2, inf}, {3, 5}, {4, 1}}}) {
    const std::string text = figure_of({"loss", {{Series::Kind::training, "a", points}}}, "c");
    const std::string path = between(text, "<g class=\"line training\"><path d=\"", "\"");
    EXPECT_EQ(path.find_first_not_of("ML0123456789.,"), std::string::npos) << path;
    EXPECT_EQ(count_of(path, "M"), points.size() == 4                          ? 2U
                                   : points.empty() || std::isnan(points[0].y) ? 0U
                                                                               : 1U);
  }
}

TEST(ReportHistory, IsWhatThePageHolds) {
  const TemporaryFolder folder;
  ReportPage page = full_page(kHostile);
  const double nan = std::nan("");
  page.charts[0].series[0] = {Series::Kind::steps, "mean", {{2.5, 8}, {6.5, nan}, {10.5, 1}}, 4};
  page.epochs.push_back({.epoch = 2, .step = 6, .training = {{"a", nan}}, .seconds = 0.25});
  page.epochs.push_back({.epoch = 3, .step = 9, .training = {{"a", 1}}});
  const auto file = folder.path() / "r.html";
  EXPECT_FALSE(read_history(file, 9, 9));
  write_page(file, page);
  const auto history = read_history(file, 7, 2);
  ASSERT_TRUE(history);
  ASSERT_EQ(history->steps.size(), 1U);
  EXPECT_EQ(history->steps[0].first, kHostile);
  const Curve& steps = history->steps[0].second;
  EXPECT_EQ(steps.width(), 4U);
  ASSERT_EQ(steps.points().size(), 2U);
  EXPECT_EQ(steps.points()[0].x, 2.5);
  EXPECT_EQ(steps.points()[0].y, 8);
  EXPECT_TRUE(std::isnan(steps.points()[1].y));
  ASSERT_EQ(history->epochs.size(), 2U);
  EXPECT_EQ(history->epochs[0].evaluation, (NamedValues{{kHostile, 2}}));
  EXPECT_TRUE(std::isnan(history->epochs[1].training[0].second));
  EXPECT_EQ(history->epochs[1].seconds, 0.25);
  std::ofstream(file) << "<!DOCTYPE html><script id=\"report-data\">{\"charts\": 3}</script>";
  EXPECT_FALSE(read_history(file, 7, 2));
}

TEST(Html, EscapesAndEncodes) {
  EXPECT_EQ(html::escaped("a<b>&\"'\x01\xff"), "a&lt;b&gt;&amp;&quot;&#39;\\x01\\xff");
  EXPECT_EQ(html::data_uri("t/x", ""), "data:t/x;base64,");
  EXPECT_EQ(html::data_uri("t/x", "f"), "data:t/x;base64,Zg==");
  EXPECT_EQ(html::data_uri("t/x", "fo"), "data:t/x;base64,Zm8=");
  EXPECT_EQ(html::data_uri("t/x", "foo"), "data:t/x;base64,Zm9v");
  EXPECT_EQ(html::data_uri("t/x", "\xff\xfe\xfd\xfc"), "data:t/x;base64,//79/A==");
}

/// What one batch of scores adds.
void add(WrongExamples& wrong, const std::vector<int64_t>& rows, const Tensor& scores,
         const Tensor& labels, std::optional<int64_t> ignored = std::nullopt) {
  const Comparison how{.task = Task::classes, .ignored = ignored};
  wrong.add({.rows = rows, .compared = {.how = how, .scores = scores, .labels = labels}});
}

TEST(WrongExamples, KeepsTheWorst) {
  WrongExamples wrong;
  // Logits, of which the second and the third row are wrong; the last label does not count.
  add(wrong, {5, 6, 7, 8}, Tensor::of<float>({4, 2}, {2, 0, 3, 0, 1, 0, 9, 0}),
      Tensor::of<int64_t>({4}, {0, 1, 1, -100}), -100);
  ASSERT_EQ(wrong.count(), 2);
  const auto worst = wrong.worst();
  EXPECT_EQ(worst[0].row, 6);
  EXPECT_EQ(worst[0].truth, 1);
  EXPECT_EQ(worst[0].predicted, 0);
  EXPECT_NEAR(worst[0].probability, 1 / (1 + std::exp(-3)), 1e-12);
  EXPECT_NEAR(worst[0].loss, std::log(1 + std::exp(3)), 1e-12);
  EXPECT_EQ(worst[1].row, 7);
  EXPECT_EQ(wrong.confusion().counts, (std::vector<int64_t>{1, 0, 2, 0}));
  // What is a distribution already is taken as it is.
  wrong.clear();
  add(wrong, {0}, Tensor::of<double>({1, 2}, {0.75, 0.25}), Tensor::of<int64_t>({1}, {1}));
  EXPECT_EQ(wrong.worst()[0].of_truth, 0.25);
  EXPECT_EQ(wrong.confusion().counts, (std::vector<int64_t>{0, 0, 1, 0}));
}

TEST(WrongExamples, IsBounded) {
  WrongExamples wrong;
  for (int64_t row = 0; row < 1000; ++row) {
    const auto score = static_cast<double>((row * 37) % 1000) / 100;
    add(wrong, {row}, Tensor::of<double>({1, 2}, {score + 0.013, 0}),
        Tensor::of<int64_t>({1}, {1}));
  }
  EXPECT_EQ(wrong.count(), 1000);
  const auto worst = wrong.worst();
  ASSERT_EQ(worst.size(), WrongExamples::kMost);
  EXPECT_NEAR(worst[0].loss, std::log(1 + std::exp(10.003)), 1e-9);
  EXPECT_EQ(worst[0].row * 37 % 1000, 999);
}

TEST(WrongExamples, CountsNoVocabulary) {
  constexpr int64_t kClasses = 100000;  // the square of which no memory holds
  WrongExamples wrong;
  add(wrong, {0}, Tensor::of<float>({1, kClasses}, std::vector<float>(kClasses, 0)),
      Tensor::of<int64_t>({1}, {7}));
  EXPECT_EQ(wrong.confusion().classes, 0);
  EXPECT_EQ(wrong.worst()[0].truth, 7);
}

TEST(NamedValues, AreLossesThenMetrics) {
  const Summary one{.losses = {{"total", 1}}, .accuracy = 0.5, .metrics = {{"f1", 0.25}}};
  EXPECT_EQ(named_values(one), (NamedValues{{"loss", 1}, {"accuracy", 0.5}, {"f1", 0.25}}));
  const Summary two{.losses = {{"a", 1}, {"b", 2}}};
  EXPECT_EQ(named_values(two), (NamedValues{{"loss/a", 1}, {"loss/b", 2}}));
}

}  // namespace
}  // namespace onward
