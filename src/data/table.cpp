#include "data/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "ir/memory_limit.h"
#include "ir/suggestion.h"
#include "ir/utf8.h"
#include "onward/error.h"

namespace onward {
namespace {

using SchemaJson = nlohmann::ordered_json;
using Column = std::vector<std::string_view>;

constexpr size_t kMaxCategories = 1000;
constexpr std::string_view kMissing[] = {"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"};

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool is_missing(std::string_view field) {
  return std::ranges::find(kMissing, trimmed(field)) != std::end(kMissing);
}

/// A field that reads as a number; infinite where it is beyond what a double holds.
std::optional<double> as_number(std::string_view field) {
  std::string_view text = trimmed(field);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  double number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || result.ptr != text.data() + text.size()) return std::nullopt;
  if (result.ec == std::errc::result_out_of_range) return HUGE_VAL;
  return result.ec == std::errc() ? std::optional(number) : std::nullopt;
}

bool reads_as_numbers(const Column& column) {
  return std::ranges::all_of(
      column, [](std::string_view field) { return is_missing(field) || as_number(field); });
}

std::string place(const CsvTable& table, size_t row, const std::string& column) {
  return fmt::format("line {}, column '{}'", table.lines[row], column);
}

const Column& column_of(const CsvTable& table, const std::string& name) {
  const auto found = std::ranges::find(table.names, name);
  if (found == table.names.end()) throw Error(unknown_name("column", name, table.names));
  return table.columns[static_cast<size_t>(found - table.names.begin())];
}

bool has_column(const CsvTable& table, const std::string& name) {
  return std::ranges::find(table.names, name) != table.names.end();
}

/// The number in a field, or nothing where there is none.
std::optional<double> number_at(const CsvTable& table, const std::string& name,
                                const Column& column, size_t row) {
  if (is_missing(column[row])) return std::nullopt;
  const auto number = as_number(column[row]);
  if (!number || !std::isfinite(*number)) {
    throw Error(fmt::format("{}: '{}' is not {}", place(table, row, name), printable(column[row]),
                            number ? "finite in float64" : "a number"));
  }
  return number;
}

/// A text as JSON and messages can hold it.
std::string text_at(const CsvTable& table, const std::string& name, const Column& column,
                    size_t row) {
  if (is_missing(column[row])) return {};
  std::string text(column[row]);
  if (!is_readable_utf8(text)) {
    throw Error(fmt::format("{}: '{}' is not UTF-8: save the file as UTF-8",
                            place(table, row, name), printable(text)));
  }
  return text;
}

TableColumn learn_numbers(const CsvTable& table, const std::string& name, const Column& column) {
  // By Welford's method, which squares no large number.
  double mean = 0, squares = 0;
  int64_t count = 0;
  for (size_t row = 0; row < column.size(); ++row) {
    const auto number = number_at(table, name, column, row);
    if (!number) continue;
    const double before = *number - mean;
    mean += before / static_cast<double>(++count);
    squares += before * (*number - mean);
  }
  const double std = std::sqrt(squares / static_cast<double>(count));
  if (!std::isfinite(mean) || !std::isfinite(std)) {
    throw Error(fmt::format("column '{}' has numbers whose variance is beyond float64", name));
  }
  return {.name = name, .mean = mean, .std = std > 0 ? std : 1, .categories = {}};
}

TableColumn learn_texts(const CsvTable& table, const std::string& name, const Column& column) {
  std::set<std::string> categories;
  for (size_t row = 0; row < column.size(); ++row) {
    categories.insert(text_at(table, name, column, row));
    if (categories.size() <= kMaxCategories) continue;
    size_t text = 0;
    while (is_missing(column[text]) || as_number(column[text])) ++text;
    throw Error(fmt::format(
        "column '{}' has more than {} different texts, such as '{}' in line {}: if it is an id or "
        "free text, leave it out with --ignore {}",
        name, kMaxCategories, printable(column[text]), table.lines[text], name));
  }
  return {.name = name, .categories = {categories.begin(), categories.end()}};
}

TableColumn learn_column(const CsvTable& table, const std::string& name, bool is_categorical) {
  const Column& column = column_of(table, name);
  if (std::ranges::all_of(column, is_missing)) {
    throw Error(
        fmt::format("column '{}' has no values: leave it out with --ignore {}", name, name));
  }
  return is_categorical || !reads_as_numbers(column) ? learn_texts(table, name, column)
                                                     : learn_numbers(table, name, column);
}

/// Places of the texts in a list.
std::vector<int64_t> places_of(const CsvTable& table, const std::string& name, const Column& column,
                               const std::vector<std::string>& list, const char* what) {
  std::map<std::string, int64_t, std::less<>> places;
  for (const std::string& each : list) places.emplace(each, std::ssize(places));
  std::vector<int64_t> result;
  for (size_t row = 0; row < column.size(); ++row) {
    const std::string text = text_at(table, name, column, row);
    const auto found = places.find(text);
    if (found == places.end()) {
      throw Error(
          fmt::format("{}: {} is no {} that the model was trained on{}: correct it, leave the row "
                      "out, or train "
                      "with --refit",
                      place(table, row, name), text.empty() ? "a missing value" : "'" + text + "'",
                      what, list.size() <= 20 ? fmt::format(" ({})", fmt::join(list, ", ")) : ""));
    }
    result.push_back(found->second);
  }
  return result;
}

/// Numbers that any integer type and float32 hold are integers.
Tensor label_numbers(const std::vector<double>& numbers) {
  constexpr double kMaxExact = 1 << 24;
  const auto size = static_cast<int64_t>(numbers.size());
  const bool are_integers = std::ranges::all_of(numbers, [](double number) {
    return number == std::floor(number) && std::abs(number) <= kMaxExact;
  });
  if (!are_integers) return Tensor::of<double>({size}, numbers);
  return Tensor::of<int64_t>({size}, {numbers.begin(), numbers.end()});
}

Tensor label_array(const CsvTable& table, const std::string& name,
                   std::vector<std::string>& classes) {
  const Column& column = column_of(table, name);
  for (size_t row = 0; row < column.size(); ++row) {
    if (!is_missing(column[row])) continue;
    throw Error(
        fmt::format("{}: the label is missing: leave the row out", place(table, row, name)));
  }
  if (classes.empty() && reads_as_numbers(column)) {
    std::vector<double> numbers;
    for (size_t row = 0; row < column.size(); ++row) {
      numbers.push_back(*number_at(table, name, column, row));
    }
    return label_numbers(numbers);
  }
  if (classes.empty()) classes = learn_texts(table, name, column).categories;
  return Tensor::of<int64_t>({table.rows()}, places_of(table, name, column, classes, "class"));
}

}  // namespace

TableSchema learn_schema(const CsvTable& table, const TableOptions& options) {
  TableSchema schema{.label = options.label, .standardize = options.standardize, .columns = {}};
  if (schema.label.empty() && has_column(table, "label")) schema.label = "label";
  if (!schema.label.empty()) column_of(table, schema.label);
  for (const auto* names : {&options.ignored, &options.categorical}) {
    for (const std::string& name : *names) column_of(table, name);
  }
  for (const std::string& name : table.names) {
    if (name == schema.label || std::ranges::count(options.ignored, name) > 0) continue;
    schema.columns.push_back(
        learn_column(table, name, std::ranges::count(options.categorical, name) > 0));
  }
  if (schema.columns.empty()) throw Error("there is no column but the label");
  return schema;
}

void require_plain(const CsvTable& table, const TableSchema& schema) {
  for (const TableColumn& column : schema.columns) {
    const bool misses = std::ranges::any_of(column_of(table, column.name), is_missing);
    if (!misses && !column.is_categorical()) continue;
    throw Error(fmt::format(
        "column '{}' has {}, and the model does not keep what its training made of them: train it "
        "with `onward train` on a table, or give numbers",
        column.name, column.is_categorical() ? "texts" : "missing values"));
  }
}

Arrays table_arrays(const CsvTable& table, const TableSchema& schema,
                    std::vector<std::string>& classes) {
  Arrays arrays;
  const auto add = [&](const std::string& name, Tensor array) {
    if (name != kLabelArray) arrays.emplace(name, std::move(array));  // which is another column
  };
  int64_t width = 0;
  for (const TableColumn& column : schema.columns) {
    width += column.is_categorical() ? std::ssize(column.categories) : 1;
  }
  const std::vector<int64_t> dims = {table.rows(), width};
  checked_bytes(DType::f32, dims);
  std::vector<float> features(static_cast<size_t>(table.rows() * width));
  int64_t first = 0;
  for (const TableColumn& column : schema.columns) {
    const Column& fields = column_of(table, column.name);
    const auto feature = [&](size_t row, int64_t at) -> float& {
      return features[row * static_cast<size_t>(width) + static_cast<size_t>(first + at)];
    };
    if (column.is_categorical()) {
      const auto places = places_of(table, column.name, fields, column.categories, "category");
      for (size_t row = 0; row < fields.size(); ++row) feature(row, places[row]) = 1;
      add(column.name, Tensor::of<int64_t>({table.rows()}, places));
      first += std::ssize(column.categories);
      continue;
    }
    std::vector<double> numbers;
    for (size_t row = 0; row < fields.size(); ++row) {
      const double number = number_at(table, column.name, fields, row).value_or(column.mean);
      numbers.push_back(number);
      const double scaled = schema.standardize ? (number - column.mean) / column.std : number;
      if (!(std::abs(scaled) <= std::numeric_limits<float>::max())) {
        throw Error(
            fmt::format("{}: {} is beyond float32", place(table, row, column.name), number));
      }
      feature(row, 0) = static_cast<float>(scaled);
    }
    add(column.name, Tensor::of<double>({table.rows()}, numbers));
    ++first;
  }
  arrays.emplace(kFeatureArray, Tensor::of<float>(dims, features));  // unless a column is called so
  if (!schema.label.empty() && has_column(table, schema.label)) {
    arrays.insert_or_assign(kLabelArray, label_array(table, schema.label, classes));
  }
  return arrays;
}

std::string to_json(const TableSchema& schema) {
  SchemaJson json = {{"standardize", schema.standardize}, {"columns", SchemaJson::array()}};
  if (!schema.label.empty()) json["label"] = schema.label;
  for (const TableColumn& column : schema.columns) {
    SchemaJson& entry = json["columns"].emplace_back(SchemaJson{{"name", column.name}});
    if (column.is_categorical()) {
      entry["categories"] = column.categories;
    } else {
      entry["mean"] = column.mean;
      entry["std"] = column.std;
    }
  }
  return json.dump();
}

TableSchema schema_from_json(const std::string& text) {
  const SchemaJson json = SchemaJson::parse(text);
  TableSchema schema{.label = json.value("label", ""),
                     .standardize = json.at("standardize").get<bool>(),
                     .columns = {}};
  std::set<std::string> names;
  for (const SchemaJson& entry : json.at("columns")) {
    TableColumn column{.name = entry.at("name").get<std::string>(), .categories = {}};
    if (entry.contains("categories")) {
      column.categories = entry.at("categories").get<std::vector<std::string>>();
      const std::set<std::string> distinct(column.categories.begin(), column.categories.end());
      if (distinct.size() != column.categories.size() || distinct.empty()) {
        throw Error(fmt::format("the categories of column '{}' are not distinct", column.name));
      }
    } else {
      column.mean = entry.at("mean").get<double>();
      column.std = entry.at("std").get<double>();
      if (!std::isfinite(column.mean) || !(column.std > 0)) {
        throw Error(fmt::format("the mean of column '{}' is {}, its std {}", column.name,
                                column.mean, column.std));
      }
    }
    if (!names.insert(column.name).second) {
      throw Error(fmt::format("two columns have the name '{}'", column.name));
    }
    schema.columns.push_back(std::move(column));
  }
  if (schema.columns.empty()) throw Error("it has no columns");
  return schema;
}

}  // namespace onward
