#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "train/appended_file.h"

namespace onward {

/// A CSV file that gets row after row, the first column of which counts up. Columns are added when
/// a row has them for the first time.
class CsvLog {
 public:
  /// `key` is the first column.
  CsvLog(std::filesystem::path file, std::string key)
      : file_(std::move(file)), key_(std::move(key)) {}

  /// Whether there is such a file, with rows. Throws Error where there is another one.
  bool has_rows() const;
  /// Takes away the rows beyond `last`, and what a kill left of one.
  void keep(uint64_t last);

  using Row = std::vector<std::pair<std::string, std::string>>;
  void append(uint64_t key, const Row& row);

 private:
  void add_columns(const Row& row);

  std::filesystem::path file_;
  std::string key_;
  std::vector<std::string> columns_;  // without the first
  std::optional<AppendedFile> appended_;
};

}  // namespace onward
