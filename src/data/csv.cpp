#include "data/csv.h"

#include <fmt/format.h>

#include <deque>
#include <fstream>
#include <set>

#include "ir/memory_limit.h"
#include "ir/utf8.h"
#include "onward/error.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

struct CsvStorage {
  std::string text;
  std::deque<std::string> unquoted;  // fields that the text has with two quotes for one
};

class CsvParser {
 public:
  CsvParser(CsvStorage& storage, char separator)
      : storage_(storage), text_(storage.text), separator_(separator) {
    if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);  // a byte order mark
  }

  /// The next line that is not empty; false at the end.
  bool next(std::vector<std::string_view>& fields) {
    while (at_ < text_.size() && ends_line(at_)) skip_line_end();
    if (at_ == text_.size()) return false;
    fields.clear();
    first_line_ = line_;
    while (true) {
      fields.push_back(text_[at_] == '"' ? quoted() : plain());
      if (at_ == text_.size()) return true;
      if (ends_line(at_)) {
        skip_line_end();
        return true;
      }
      ++at_;  // the separator
      if (at_ == text_.size()) {
        fields.emplace_back();
        return true;
      }
    }
  }

  int64_t first_line() const { return first_line_; }

 private:
  bool ends_line(size_t at) const {
    return text_[at] == '\n' ||
           (text_[at] == '\r' && at + 1 < text_.size() && text_[at + 1] == '\n');
  }

  void skip_line_end() {
    at_ += text_[at_] == '\r' ? 2 : 1;
    ++line_;
  }

  std::string_view plain() {
    const size_t first = at_;
    while (at_ < text_.size() && text_[at_] != separator_ && !ends_line(at_)) {
      if (text_[at_] == '"') {
        throw Error(
            fmt::format("line {}: a quote inside of a field that does not begin with one: "
                        "put the field in quotes, and write the quote twice",
                        line_));
      }
      ++at_;
    }
    return text_.substr(first, at_ - first);
  }

  std::string_view quoted() {
    const int64_t begun = line_;
    const size_t first = ++at_;
    bool has_quotes = false;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] != '"') continue;
      if (at_ + 1 == text_.size() || text_[at_ + 1] != '"') break;
      has_quotes = true;
      ++at_;
    }
    if (at_ == text_.size()) {
      throw Error(fmt::format("the quote that begins in line {} does not end", begun));
    }
    std::string_view field = text_.substr(first, at_ - first);
    ++at_;
    if (at_ < text_.size() && text_[at_] != separator_ && !ends_line(at_)) {
      throw Error(fmt::format("line {}: there is more after the end of a quoted field", line_));
    }
    if (!has_quotes) return field;
    std::string& single = storage_.unquoted.emplace_back();
    for (size_t i = 0; i < field.size(); ++i) {
      single += field[i];
      if (field[i] == '"') ++i;
    }
    return single;
  }

  CsvStorage& storage_;
  std::string_view text_;
  char separator_;
  size_t at_ = 0;
  int64_t line_ = 1, first_line_ = 1;
};

void check_header(const std::vector<std::string_view>& names) {
  std::set<std::string_view> seen;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) {
      throw Error(
          fmt::format("column {} has no name: the first line has the names of the columns", i + 1));
    }
    if (!is_readable_utf8(names[i])) {
      throw Error(fmt::format("the name of column {}, '{}', is not UTF-8: save the file as UTF-8",
                              i + 1, printable(names[i])));
    }
    if (!seen.insert(names[i]).second) {
      throw Error(fmt::format("two columns have the name '{}'", names[i]));
    }
  }
}

}  // namespace

CsvTable parse_csv(std::string text, char separator) {
  const auto storage = std::make_shared<CsvStorage>(CsvStorage{std::move(text), {}});
  CsvParser parser(*storage, separator);
  std::vector<std::string_view> fields;
  if (!parser.next(fields)) throw Error("the file is empty");
  check_header(fields);
  CsvTable table;
  table.owner = storage;
  table.names.assign(fields.begin(), fields.end());
  table.columns.resize(fields.size());
  while (parser.next(fields)) {
    if (fields.size() != table.names.size()) {
      throw Error(fmt::format("line {} has {} field{}, but the first line names {} column{}",
                              parser.first_line(), fields.size(), fields.size() == 1 ? "" : "s",
                              table.names.size(), table.names.size() == 1 ? "" : "s"));
    }
    for (size_t i = 0; i < fields.size(); ++i) table.columns[i].push_back(fields[i]);
    table.lines.push_back(parser.first_line());
  }
  if (table.lines.empty()) throw Error("there are no rows below the names of the columns");
  return table;
}

CsvTable read_csv(const fs::path& file) {
  std::error_code failure;
  const auto size = fs::file_size(file, failure);
  if (failure) throw Error(failure.message(), ErrorCode::file);
  refuse_beyond_memory(static_cast<int64_t>(size), "the file");
  std::string text(size, '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.read(text.data(), static_cast<std::streamsize>(size));
  if (!stream) throw Error("the file cannot be read", ErrorCode::file);
  return parse_csv(std::move(text), file.extension() == ".tsv" ? '\t' : ',');
}

}  // namespace onward
