#include "data/table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>

#include "data/feeds.h"
#include "onward/error.h"
#include "tests/temporary_folder.h"

namespace onward {
namespace {

std::string refused(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// The fields of a table, row by row: "a|b;1|2".
std::string shown(const std::string& text, char separator = ',') {
  const CsvTable table = parse_csv(text, separator);
  std::string result;
  for (size_t i = 0; i < table.names.size(); ++i) result += (i ? "|" : "") + table.names[i];
  for (size_t row = 0; row < table.lines.size(); ++row) {
    result += ";";
    for (size_t i = 0; i < table.names.size(); ++i) {
      result += (i ? "|" : "") + std::string(table.columns[i][row]);
    }
  }
  return result;
}

TEST(Csv, ReadsFields) {
  EXPECT_EQ(shown("a,b\n1,2\n"), "a|b;1|2");
  EXPECT_EQ(shown("\xEF\xBB\xBF"
                  "a,b\r\n\r\n1,2\r\n\n3,4"),
            "a|b;1|2;3|4");
  EXPECT_EQ(shown("a,b\n,\n\"\",\" x \"\n"), "a|b;|;| x ");
  EXPECT_EQ(shown("\"a,\",b\n\"1\n2\",\"say \"\"no\"\"\"\n"), "a,|b;1\n2|say \"no\"");
  EXPECT_EQ(shown("a\tb\n1,2\t3\n", '\t'), "a|b;1,2|3");
  EXPECT_EQ(shown("a,b\n1,"), "a|b;1|");
  EXPECT_EQ(parse_csv("a\n\n\"1\n2\"\n3\n").lines, (std::vector<int64_t>{3, 5}));
}

TEST(Csv, SaysWhatIsWrong) {
  const std::pair<std::string, const char*> rows[] = {
      {"", "the file is empty"},
      {"\n\r\n", "the file is empty"},
      {"a,b\n", "there are no rows"},
      {"a,b\n1,2\n3\n", "line 3 has 1 field, but the first line names 2 columns"},
      {"a\n\n1,2,3\n", "line 3 has 3 fields, but the first line names 1 column"},
      {"a,,c\n1,2,3\n", "column 2 has no name"},
      {"a,b,a\n1,2,3\n", "two columns have the name 'a'"},
      {"a\xff\n1\n", "'a\\xff', is not UTF-8"},
      {"a\n\"1\n2\n", "the quote that begins in line 2 does not end"},
      {"a\n\"1\"2\n", "line 2: there is more after the end of a quoted field"},
      {"a\n1\"2\n", "line 2: a quote inside of a field"},
  };
  for (const auto& [text, words] : rows) {
    const std::string said = refused([&, &csv = text] { parse_csv(csv); });
    EXPECT_NE(said.find(words), std::string::npos) << text << ": " << said;
  }
}

constexpr const char* kPeople =
    "id,age,city,label\n"
    "p1,20,Rome,yes\n"
    "p2,NA,Oslo,no\n"
    "p3, +40 ,,yes\n";

TEST(Table, BecomesArrays) {
  const CsvTable table = parse_csv(kPeople);
  const TableSchema schema = learn_schema(table, {.ignored = {"id"}, .standardize = true});
  EXPECT_EQ(schema.label, "label");
  ASSERT_EQ(schema.columns.size(), 2U);
  EXPECT_EQ(schema.columns[0],
            (TableColumn{.name = "age", .mean = 30, .std = 10, .categories = {}}));
  EXPECT_EQ(schema.columns[1].categories, (std::vector<std::string>{"", "Oslo", "Rome"}));
  EXPECT_EQ(schema_from_json(to_json(schema)), schema);
  std::vector<std::string> classes;
  const Arrays arrays = table_arrays(table, schema, classes);
  const auto features = arrays.at("features").data<float>();
  EXPECT_EQ(std::vector<float>(features.begin(), features.end()),
            (std::vector<float>{-1, 0, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0}));
  EXPECT_EQ(arrays.at("age").number(1), 30);
  EXPECT_EQ(arrays.at("age").number(2), 40);
  EXPECT_EQ(arrays.at("city").integers(), (std::vector<int64_t>{2, 1, 0}));
  EXPECT_EQ(arrays.at("label").integers(), (std::vector<int64_t>{1, 0, 1}));
  EXPECT_EQ(classes, (std::vector<std::string>{"no", "yes"}));
  // Other rows, in other columns, are read as those were.
  const CsvTable others = parse_csv("label,city,more,age\nno,Rome,x,\n");
  const Arrays again = table_arrays(others, schema, classes);
  const auto other_features = again.at("features").data<float>();
  EXPECT_EQ(std::vector<float>(other_features.begin(), other_features.end()),
            (std::vector<float>{0, 0, 0, 1}));
  EXPECT_EQ(again.at("label").integers(), (std::vector<int64_t>{0}));
  EXPECT_EQ(table_arrays(parse_csv("city,age\nOslo,1\n"), schema, classes).count("label"), 0U);
}

TEST(Table, LabelsAndTypes) {
  const auto label = [](const std::string& text, const TableOptions& options = {}) {
    const CsvTable table = parse_csv(text);
    std::vector<std::string> classes;
    return table_arrays(table, learn_schema(table, options), classes).at("label");
  };
  EXPECT_EQ(label("x,label\n1,3\n2,0\n").integers(), (std::vector<int64_t>{3, 0}));
  EXPECT_EQ(label("x,label\n1,3\n2,0.5\n").dtype(), DType::f64);
  EXPECT_EQ(label("y,x\nb,1\na,2\n", {.label = "y"}).integers(), (std::vector<int64_t>{1, 0}));
  const CsvTable codes = parse_csv("code,x\n7,1\n3,1\n7,1\n");
  const TableSchema schema = learn_schema(codes, {.categorical = {"code"}});
  EXPECT_EQ(schema.columns[0].categories, (std::vector<std::string>{"3", "7"}));
  EXPECT_EQ(schema.columns[1].std, 1);  // of a constant column, which standardizing leaves at 0
}

TEST(Table, SaysWhatIsWrong) {
  std::string ids = "id,x\n";
  for (int i = 0; i < 1001; ++i) ids += "p" + std::to_string(i) + ",1\n";
  struct Row {
    std::string text;
    TableOptions options;
    const char* words;
  };
  const Row rows[] = {
      {"x\n1\n", {.label = "y"}, "unknown column 'y'"},
      {"x\n1\n", {.ignored = {"z"}}, "unknown column 'z'"},
      {"x\n1\n", {.ignored = {"x"}}, "there is no column but the label"},
      {"x,y\n1,\n2,NA\n", {}, "column 'y' has no values: leave it out with --ignore y"},
      {"x\n1\ninf\n", {}, "line 3, column 'x': 'inf' is not finite"},
      {"x\n1\n1e999\n", {}, "line 3, column 'x': '1e999' is not finite"},
      {"x\n1\n1e300\n", {}, "variance is beyond float64"},
      {"x,y\n1,1\n1e39,1\n", {}, "line 3, column 'x': 1e+39 is beyond float32"},
      {"x,y\n1,a\xff\n", {}, "line 2, column 'y': 'a\\xff' is not UTF-8"},
      {"x,label\n1,a\n1,\n", {}, "line 3, column 'label': the label is missing"},
      {ids, {}, "column 'id' has more than 1000 different texts, such as 'p0' in line 2"},
  };
  for (const Row& row : rows) {
    const std::string said = refused([&] {
      const CsvTable table = parse_csv(row.text);
      std::vector<std::string> classes;
      table_arrays(table, learn_schema(table, row.options), classes);
    });
    EXPECT_NE(said.find(row.words), std::string::npos) << said;
  }
  const CsvTable people = parse_csv(kPeople);
  const TableSchema schema = learn_schema(people, {.ignored = {"id"}});
  const std::pair<const char*, const char*> others[] = {
      {"age,label\n1,yes\n", "unknown column 'city'"},
      {"age,city,label\nold,Rome,yes\n", "line 2, column 'age': 'old' is not a number"},
      {"age,city,label\n1,Rom,yes\n",
       "line 2, column 'city': 'Rom' is no category that the model was trained on (, Oslo, Rome)"},
      {"age,city,label\n1,Rome,maybe\n", "line 2, column 'label': 'maybe' is no class"},
  };
  for (const auto& [text, words] : others) {
    const std::string said = refused([&, csv = std::string(text)] {
      std::vector<std::string> classes = {"no", "yes"};
      table_arrays(parse_csv(csv), schema, classes);
    });
    EXPECT_NE(said.find(words), std::string::npos) << said;
  }
  for (
      const char* damaged :
      {R"({"standardize":true,"columns":[]})",
       R"({"standardize":true,"columns":[{"name":"a","mean":0,"std":0}]})",
       R"({"standardize":true,"columns":[{"name":"a","categories":[]}]})",
       R"({"standardize":true,"columns":[{"name":"a","categories":["b","b"]}]})",
       R"({"standardize":true,"columns":[{"name":"a","mean":0,"std":1},{"name":"a","mean":0,"std":1}]})"}) {
    EXPECT_NE(refused([&] { schema_from_json(damaged); }), "no error") << damaged;
  }
}

TEST(Table, IsADatasetWithItsOptions) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "people.csv";
  std::ofstream(file) << kPeople;
  const Dataset data = open_dataset(file.string());
  EXPECT_EQ(data.size(), 3);
  EXPECT_EQ(data.options().classes, (std::vector<std::string>{"no", "yes"}));
  EXPECT_EQ(Feeds(data, {}).class_counts(),
            (std::vector<std::pair<std::string, int64_t>>{{"no", 1}, {"yes", 2}}));
  Model model;
  model.metadata = data.kept();
  EXPECT_EQ(data_options_of(model).schema, data.options().schema);
  EXPECT_EQ(data_options_of(model).classes, data.options().classes);
  std::ofstream(file) << "a,b\n1\n";
  EXPECT_EQ(refused([&] { open_dataset(file.string()); }),
            "line 2 has 1 field, but the first line names 2 columns\n  in '" + file.string() + "'");
}

}  // namespace
}  // namespace onward
