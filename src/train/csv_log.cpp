#include "train/csv_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "data/csv.h"
#include "format/atomic_file.h"
#include "ir/utf8.h"
#include "onward/error.h"
#include "proto/external_data.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

/// Always one line, so that rows can be told apart without reading quotes.
std::string csv_name(const std::string& name) {
  std::string text = printable(name);
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted += letter == '"' ? "\"\"" : std::string(1, letter);
  return quoted + '"';
}

std::string header_of(const std::string& key, const std::vector<std::string>& columns) {
  std::string line = csv_field(key);
  for (const std::string& column : columns) line += ',' + csv_field(column);
  return line + '\n';
}

/// Header and rows, each with the end of its line.
struct Lines {
  std::string_view header, rows;
};

Lines lines_of(std::string_view text) {
  const size_t end = text.find('\n');
  if (end == std::string_view::npos) return {};
  return {text.substr(0, end + 1), text.substr(end + 1)};
}

std::string contents(const fs::path& file) {
  std::error_code failure;
  if (!fs::exists(file, failure) || fs::file_size(file, failure) == 0) return {};
  const MappedFile mapped(file);
  return {reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size()};
}

void write_whole(const fs::path& file, const std::string& text) {
  write_atomically(file, [&](int descriptor) { write_all(descriptor, text.data(), text.size()); });
}

/// Calls for each whole line of the rows.
template <typename Visit>
void for_each_line(std::string_view rows, const Visit& visit) {
  for (size_t end = 0; (end = rows.find('\n')) != std::string_view::npos;) {
    visit(rows.substr(0, end + 1));
    rows.remove_prefix(end + 1);
  }
}

}  // namespace

bool CsvLog::has_rows() const {
  const std::string text = contents(file_);
  const Lines lines = lines_of(text);
  if (!text.empty() && !text.starts_with(key_ + ",") && !text.starts_with(key_ + "\n")) {
    throw Error(fmt::format("'{}' is not the log of a training: choose another folder with --log",
                            file_.string()),
                ErrorCode::file);
  }
  return !lines.rows.empty();
}

void CsvLog::keep(uint64_t last) {
  const std::string text = contents(file_);
  const Lines lines = lines_of(text);
  columns_.clear();
  appended_.reset();
  std::string kept(lines.header);
  for_each_line(lines.rows, [&](std::string_view line) {
    uint64_t number = 0;
    const auto result = std::from_chars(line.data(), line.data() + line.size(), number);
    if (result.ec == std::errc() && number <= last) kept += line;
  });
  if (kept != text) write_whole(file_, kept);
  if (kept.empty()) return;
  const std::string header(lines.header);
  columns_ = parse_csv(header + header).names;  // a table has a row at least
  columns_.erase(columns_.begin());
  appended_.emplace(file_);
}

void CsvLog::append(uint64_t key, const Row& row) {
  add_columns(row);
  std::string line = std::to_string(key);
  for (const std::string& column : columns_) {
    const auto found =
        std::ranges::find_if(row, [&](const auto& each) { return csv_name(each.first) == column; });
    line += ',';
    if (found != row.end()) line += found->second;
  }
  appended_->append(line + '\n');
}

void CsvLog::add_columns(const Row& row) {
  const size_t before = columns_.size();
  for (const auto& [name, value] : row) {
    if (std::ranges::find(columns_, csv_name(name)) == columns_.end()) {
      columns_.push_back(csv_name(name));
    }
  }
  if (appended_ && columns_.size() == before) return;
  const std::string more(columns_.size() - before, ',');
  std::string text = header_of(key_, columns_);
  const std::string old = contents(file_);
  for_each_line(lines_of(old).rows, [&](std::string_view line) {
    text += line.substr(0, line.size() - 1);
    text += more + '\n';
  });
  appended_.reset();
  write_whole(file_, text);
  appended_.emplace(file_);
}

}  // namespace onward
