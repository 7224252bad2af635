#include "text/scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "ir/utf8.h"

namespace onward {
namespace {

bool is_space(char c) { return std::string_view(" \t\n\v\f\r").find(c) != std::string_view::npos; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// Puts blanks in the place of that part, but keeps its lines.
void blank(std::string& text, size_t begin, size_t end) {
  const auto first = text.begin() + static_cast<ptrdiff_t>(begin);
  const auto last = text.begin() + static_cast<ptrdiff_t>(end);
  std::replace_if(first, last, [](char c) { return c != '\n'; }, ' ');
}

/// A name (plain or quoted), or a single character of anything else.
struct Token {
  char mark;         // 'a' for a plain name, '"' for a quoted one
  std::string name;  // empty for anything else
  size_t begin;
};

/// Reads blanks, comments, names and strings exactly as ONNX's parser does, so that both agree on
/// what a bracket is.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) { scanned_.text = text; }

  ScannedText scan();

 private:
  void skip_blanks();
  char peek();
  bool matches(char c);
  std::optional<Token> next();
  Token quoted(size_t begin);
  void nest(const Token& token);
  void read_fill(const std::string& name, const Token& rule_name);
  double read_number(const FillRule& rule);

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;   // of brackets of all kinds
  int braces_ = 0;  // of braces alone, which tell a block's end where others are left open
  bool in_block_ = false;
  ScannedText scanned_;
};

void Scanner::skip_blanks() {
  while (at_ < text_.size()) {
    if (text_[at_] == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (is_space(text_[at_])) {
      ++at_;
    } else {
      return;
    }
  }
}

/// The next character that is not blank; '\0' at the end.
char Scanner::peek() {
  skip_blanks();
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool Scanner::matches(char c) {
  if (peek() != c) return false;
  ++at_;
  return true;
}

std::optional<Token> Scanner::next() {
  skip_blanks();
  const size_t begin = at_;
  if (at_ == text_.size()) return std::nullopt;
  if (text_[at_] == '"') return quoted(begin);
  if (!is_letter(text_[at_])) return Token{.mark = text_[at_++], .name = {}, .begin = begin};
  while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
  return Token{.mark = 'a', .name = std::string(text_.substr(begin, at_ - begin)), .begin = begin};
}

Token Scanner::quoted(size_t begin) {
  Token token{.mark = '"', .name = {}, .begin = begin};
  for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
    if (text_[at_] == '\\') ++at_;
    if (at_ < text_.size()) token.name += text_[at_];
  }
  if (at_ >= text_.size()) throw text_error(text_, begin, "this string is not closed");
  ++at_;
  return token;
}

void Scanner::nest(const Token& token) {
  if (std::string_view("({[").find(token.mark) != std::string_view::npos) ++depth_;
  if (std::string_view(")}]").find(token.mark) != std::string_view::npos) {
    depth_ = std::max(0, depth_ - 1);
  }
  if (token.mark == '{') ++braces_;
  if (token.mark == '}') braces_ = std::max(0, braces_ - 1);
  if (depth_ > kMaxTextNesting) {
    throw text_error(text_, token.begin,
                     fmt::format("brackets are nested more than {} deep", kMaxTextNesting));
  }
}

double Scanner::read_number(const FillRule& rule) {
  skip_blanks();
  double number = 0;
  const char* begin = text_.data() + at_;
  const auto [stop, failure] = std::from_chars(begin, text_.data() + text_.size(), number);
  if (failure != std::errc()) {
    throw text_error(text_, at_, fmt::format("expected a number for {}", rule.usage));
  }
  at_ += static_cast<size_t>(stop - begin);
  return number;
}

void Scanner::read_fill(const std::string& name, const Token& rule_name) {
  const FillRule* rule = find_fill_rule(rule_name.name);
  const size_t after_name = at_;
  // A node's inputs are names and a graph's are types: a number says that this is neither an
  // operator nor a graph of that name.
  if (rule == nullptr || !matches('(') || !(is_digit(peek()) || peek() == '-')) {
    at_ = after_name;
    return;
  }
  TextFill found{.name = name, .rule = rule, .arguments = {}, .begin = rule_name.begin, .info = {}};
  if (in_block_) found.info = scanned_.training_infos.size() - 1;
  do {
    found.arguments.push_back(read_number(*rule));
  } while (matches(','));
  if (!matches(')') || found.arguments.size() != rule->arguments) {
    throw text_error(text_, rule_name.begin, fmt::format("expected {}", rule->usage));
  }
  blank(scanned_.text, rule_name.begin, at_);
  scanned_.fills.push_back(std::move(found));
}

ScannedText Scanner::scan() {
  std::string named;  // what stands before '='
  bool after_equals = false;
  while (const std::optional<Token> token = next()) {
    nest(*token);
    const bool at_keyword = token->mark == 'a' && token->name == "training_info";
    if (at_keyword && braces_ == 0 && peek() == '{') {
      scanned_.training_infos.push_back({.keyword = token->begin, .begin = at_ + 1, .end = at_});
      in_block_ = true;
    }
    if (in_block_ && token->mark == '}' && braces_ == 0) {
      scanned_.training_infos.back().end = token->begin;
      in_block_ = false;
    }
    if (after_equals) read_fill(named, *token);
    after_equals = token->mark == '=' && !named.empty();
    if (!after_equals) named = token->name;
  }
  if (in_block_) {
    throw text_error(text_, scanned_.training_infos.back().keyword,
                     "this training_info is not closed");
  }
  scanned_.model = scanned_.text;
  for (const TextBlock& block : scanned_.training_infos) {
    blank(scanned_.model, block.keyword, block.end + 1);
  }
  return std::move(scanned_);
}

}  // namespace

ScannedText scan_text(std::string_view text) { return Scanner(text).scan(); }

Error text_error(std::string_view text, size_t position, std::string_view message) {
  position = std::min(position, text.size());
  const std::string_view before = text.substr(0, position);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t begin = before.rfind('\n') + 1;  // npos + 1 is 0
  const size_t end = std::min(text.find('\n', position), text.size());
  Error error(fmt::format("line {}, column {}: {}", line, position - begin + 1, message));

  // The part of the line around the place, in case the line is a long one.
  constexpr size_t kMaxShown = 72;
  const size_t from = position - begin > kMaxShown ? position - kMaxShown / 2 : begin;
  const std::string_view shown = text.substr(from, std::min(end - from, kMaxShown));
  const size_t first = shown.find_first_not_of(" \t\r");
  if (first != std::string_view::npos) {
    error.add_context(fmt::format("in: {}", printable(shown.substr(first))));
  }
  return error;
}

}  // namespace onward
