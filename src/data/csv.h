#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace onward {

/// A table of texts with a name for each column, as RFC 4180 has it: fields that hold a separator,
/// a quote or a line break are in quotes, a quote inside of them is two. Lines end with LF or CRLF;
/// empty lines do not count.
struct CsvTable {
  std::vector<std::string> names;
  std::vector<std::vector<std::string_view>> columns;
  std::vector<int64_t> lines;         // where each row begins, from 1 on
  std::shared_ptr<const void> owner;  // of the fields

  int64_t rows() const { return static_cast<int64_t>(lines.size()); }
};

/// Reads a file of fields separated by commas, or by tabs where it is named .tsv. Throws Error that
/// names the line where rows are not of one length, a quote does not end, or nothing is there.
CsvTable read_csv(const std::filesystem::path& file);
/// The same of a text.
CsvTable parse_csv(std::string text, char separator = ',');

}  // namespace onward
