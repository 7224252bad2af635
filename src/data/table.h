#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/csv.h"
#include "data/npz.h"

namespace onward {

/// What the arrays of a table are called that are no column.
inline constexpr const char* kFeatureArray = "features";
inline constexpr const char* kLabelArray = "label";

/// What was said of a table's columns.
struct TableOptions {
  std::string label;                     // by default the column `label`, where there is one
  std::vector<std::string> ignored;      // columns
  std::vector<std::string> categorical;  // whose texts are no numbers, whatever they look like
  bool standardize = false;              // numbers, to a mean of 0 and a std of 1

  friend bool operator==(const TableOptions&, const TableOptions&) = default;
};

/// A column that a model reads: of numbers, or of texts from a list.
struct TableColumn {
  std::string name;
  double mean = 0, std = 1;             // of numbers; a missing one is the mean
  std::vector<std::string> categories;  // of texts; empty for a column of numbers

  bool is_categorical() const { return !categories.empty(); }
  friend bool operator==(const TableColumn&, const TableColumn&) = default;
};

/// How rows of a table become arrays. It is learned from the data of a training, and kept with the
/// model, so that others do the same.
struct TableSchema {
  std::string label;  // empty where there is none
  bool standardize = false;
  std::vector<TableColumn> columns;  // in the order of the features

  friend bool operator==(const TableSchema&, const TableSchema&) = default;
};

/// Learns it from a table. Throws Error where an option names no column, or a column has no values
/// or too many different texts.
TableSchema learn_schema(const CsvTable& table, const TableOptions& options);

/// Throws Error where a table cannot be read without what a training has learned: it has texts, or
/// misses numbers.
void require_plain(const CsvTable& table, const TableSchema& schema);

/// The arrays of a table: each column by its name (f64, or i64 for the place of a text in the
/// categories), `features` f32[N,K] of all columns side by side, with a 1 among zeros for a text,
/// and `label`: numbers as they are, or the place of a text in `classes`, which gets those of the
/// table where it is empty. Columns that the schema does not name are left out. Throws Error where
/// a column is missing, or a field is not what the schema says; it names the line.
Arrays table_arrays(const CsvTable& table, const TableSchema& schema,
                    std::vector<std::string>& classes);

std::string to_json(const TableSchema& schema);
/// Throws Error, or an exception of the library, where the text is none that to_json gives.
TableSchema schema_from_json(const std::string& text);

}  // namespace onward
