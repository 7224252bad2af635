#include "emit/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

namespace onward::emit {
namespace {

// Characters that no text of a source has.
constexpr char kBegin = '\x01', kEnd = '\x02';

constexpr int kNothing = -1;  // what "_" stands for

constexpr size_t kMaxWidth = 84;  // of a line in a method, without its indentation
constexpr int kMaxDepth = 4;      // of expressions in expressions

/// Names for variables that nothing names.
constexpr std::string_view kLetters[] = {"x", "y", "z", "u", "v", "w", "p", "q", "r", "s"};

struct Mark {
  size_t begin, end;  // in the text
  int id;
};

std::vector<Mark> marks_in(std::string_view text) {
  std::vector<Mark> marks;
  for (size_t at = text.find(kBegin); at != std::string_view::npos; at = text.find(kBegin, at)) {
    const size_t end = text.find(kEnd, at);
    marks.push_back({at, end + 1, std::stoi(std::string(text.substr(at + 1, end - at - 1)))});
    at = end;
  }
  return marks;
}

/// A call, a name or a subscript: nothing that an operator beside it could tear apart.
bool is_atom(std::string_view text) {
  int depth = 0;
  for (const char c : text) {
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    const bool in_name = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' ||
                         c == ')' || c == ']' || c == kBegin || c == kEnd;
    if (depth == 0 && !in_name) return false;
  }
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0;
}

/// Whether what stands at a mark is alone there: an argument, an index, or all of the text.
bool stands_alone(std::string_view text, const Mark& mark) {
  const char before = mark.begin == 0 ? '(' : text[mark.begin - 1];
  const char after = mark.end == text.size() ? ')' : text[mark.end];
  const bool begins = before == '(' || before == '[' || before == '=' ||
                      (before == ' ' && mark.begin > 1 && text[mark.begin - 2] == ',') ||
                      text.substr(0, mark.begin).ends_with(" = ") ||
                      text.substr(0, mark.begin) == "return ";
  return begins && (after == ')' || after == ']' || after == ',');
}

std::string replaced(std::string_view text, const Mark& mark, std::string_view by) {
  const bool bare = is_atom(by) || stands_alone(text, mark);
  return fmt::format("{}{}{}{}{}", text.substr(0, mark.begin), bare ? "" : "(", by, bare ? "" : ")",
                     text.substr(mark.end));
}

}  // namespace

std::string Lines::variable(Wish wish) {
  wishes_.push_back(std::move(wish));
  return fmt::format("{}{}{}", kBegin, wishes_.size() - 1, kEnd);
}

bool Lines::is_mark(std::string_view text) {
  return text.size() > 2 && text.front() == kBegin && text.find(kEnd) == text.size() - 1;
}

void Lines::add(std::string line, bool is_random) {
  Line added{.made = {}, .text = std::move(line), .is_random = is_random, .indent = depth_};
  size_t equals = added.text.find(" = ");
  if (equals != std::string::npos && (added.text[0] == kBegin || added.text[0] == '_')) {
    std::vector<int> made;
    bool all = true;
    for (size_t at = 0; at < equals && all;) {
      const std::string_view part = std::string_view(added.text).substr(at, equals - at);
      if (part.starts_with('(') && part.ends_with(')')) {
        added.nested = 1 + static_cast<size_t>(std::ranges::count(part, ','));
        added.text.erase(equals - 1, 1).erase(at, 1);
        equals -= 2;
        continue;
      }
      const std::string_view first = part.substr(0, part.find(", "));
      all = first == "_" || is_mark(first);
      made.push_back(first == "_" ? kNothing : all ? marks_in(first)[0].id : kNothing);
      at += first.size() + 2;
    }
    if (all) {
      added.made = std::move(made);
      added.text.erase(0, equals + 3);
    }
  }
  lines_.push_back(std::move(added));
}

void Lines::add_statement(std::string line) {
  lines_.push_back({.made = {}, .text = std::move(line), .indent = depth_});
}

void Lines::add_size(std::string line, bool at_top) {
  add(std::move(line));
  lines_.back().is_size = true;
  if (!at_top) return;
  sizes_.push_back(std::move(lines_.back()));
  lines_.pop_back();
}

class Lines::Writer {
 public:
  Writer(const Lines& from, PythonNames reserved)
      : wishes_(from.wishes_), lines_(from.sizes_), reserved_(std::move(reserved)) {
    lines_.insert(lines_.end(), from.lines_.begin(), from.lines_.end());
    drop_unread();
    write_sizes_where_read();
    for (size_t i = 0; i < lines_.size(); ++i) write_into(i);
  }

  std::vector<std::string> written(std::vector<std::string>& arguments) {
    find_last_reads();
    for (std::string& argument : arguments) {
      const int id = marks_in(argument).at(0).id;
      const std::string base = identifier(wishes_[static_cast<size_t>(id)].name);
      argument = base;
      for (int i = 2; reserved_.has(argument) || holders_.contains(argument); ++i) {
        argument = fmt::format("{}_{}", base, i);
      }
      names_[id] = argument;
      holders_[argument] = id;
      given_.insert(id);
    }
    std::vector<std::string> texts;
    for (size_t i = 0; i < lines_.size(); ++i) {
      if (lines_[i].is_gone) continue;
      std::string text = line_text(i);
      // A variable that took over the name of what it is.
      const size_t half = text.find(" = ");
      const bool is_same = half != std::string::npos && !lines_[i].made.empty() &&
                           std::string_view(text).substr(0, half) == text.substr(half + 3);
      const auto indent = static_cast<size_t>(lines_[i].indent);
      if (!is_same) texts.push_back(std::string(4 * indent, ' ') + text);
    }
    return texts;
  }

 private:
  size_t reads(int id) const { return id == kNothing ? 0 : reads_.at(static_cast<size_t>(id)); }

  void drop_unread() {
    reads_.resize(wishes_.size());
    const auto count = [&](const Line& line, int by) {
      for (const Mark& mark : marks_in(line.text)) {
        reads_[static_cast<size_t>(mark.id)] += static_cast<size_t>(by);
      }
    };
    for (const Line& line : lines_) count(line, 1);
    for (size_t i = lines_.size(); i-- > 0;) {
      Line& line = lines_[i];
      const bool unread = std::ranges::all_of(line.made, [&](int id) { return reads(id) == 0; });
      if (line.is_size) sizes_.insert(line.made[0]);
      if (line.made.empty() || !unread || line.is_random) continue;
      line.is_gone = true;
      count(line, -1);
    }
  }

  /// A size that is read once needs no variable.
  void write_sizes_where_read() {
    for (Line& size : lines_) {
      if (!size.is_size || size.is_gone || reads(size.made[0]) != 1) continue;
      for (Line& line : lines_) {
        const auto marks = marks_in(line.text);
        const auto mark = std::ranges::find(marks, size.made[0], &Mark::id);
        if (line.is_gone || mark == marks.end()) continue;
        line.text = replaced(line.text, *mark, size.text);
      }
      size.is_gone = true;
    }
  }

  /// The length that a text will have, as near as one can tell before names are chosen.
  size_t width(std::string_view text) const {
    size_t width = text.size();
    for (const Mark& mark : marks_in(text)) {
      const std::string& name = wishes_[static_cast<size_t>(mark.id)].name;
      width += std::max<size_t>(name.size(), 1);
      width -= mark.end - mark.begin;
    }
    return width;
  }

  /// Writes what stands right before a line into it, as long as it is read there alone and the line
  /// stays legible. What random numbers are drawn for keeps its order.
  void write_into(size_t at) {
    Line& line = lines_[at];
    if (line.is_gone || line.is_size || line.text.ends_with(':')) return;
    for (size_t i = at; i-- > 0;) {
      Line& before = lines_[i];
      if (before.is_gone || before.is_size) continue;
      if (before.indent != line.indent) return;
      if (before.made.size() != 1 || (before.is_random && line.is_random)) return;
      const auto marks = marks_in(line.text);
      const auto mark = std::ranges::find(marks, before.made[0], &Mark::id);
      if (mark == marks.end() || reads(before.made[0]) != 1) return;
      std::string text = replaced(line.text, *mark, before.text);
      const bool is_return =
          line.text.starts_with("return ") && is_mark(std::string_view(line.text).substr(7));
      if (!is_return && (width(text) > kMaxWidth || before.depth + 1 > kMaxDepth)) return;
      // What is made of it alone is called like it.
      const auto is_size = [&](const Mark& each) { return sizes_.contains(each.id); };
      const bool is_alone = std::ranges::count_if(marks, is_size) + 1 == std::ssize(marks);
      if (line.made.size() == 1 && line.made[0] != kNothing && is_alone) {
        Wish& wish = wishes_[static_cast<size_t>(line.made[0])];
        if (wish.name.empty()) wish = wishes_[static_cast<size_t>(before.made[0])];
      }
      line.text = std::move(text);
      line.depth = std::max(line.depth, before.depth + 1);
      line.is_random = line.is_random || before.is_random;
      before.is_gone = true;
    }
  }

  /// What is read in a loop may be read again, as long as that goes on.
  void find_last_reads() {
    size_t end = lines_.size();
    for (size_t i = lines_.size(); i-- > 0;) {
      const bool is_inside = lines_[i].indent > 0 || lines_[i].text == "else:";
      if (is_inside && end == lines_.size()) end = i;
      if (!is_inside && !lines_[i].text.ends_with(':')) end = lines_.size();
      const size_t last = end == lines_.size() ? i : end;
      if (lines_[i].is_gone) continue;
      for (const Mark& mark : marks_in(lines_[i].text)) {
        size_t& known = last_read_.try_emplace(mark.id, last).first->second;
        known = std::max(known, last);
      }
      if (!is_inside) end = lines_.size();
    }
  }

  /// Whether a variable that is read behind line `at` has the name.
  bool is_taken(const std::string& name, size_t at) const {
    if (reserved_.has(name)) return true;
    const auto holder = holders_.find(name);
    if (holder == holders_.end()) return false;
    const auto last = last_read_.find(holder->second);
    return last != last_read_.end() && last->second > at;
  }

  void name(int id, const std::string& wanted, size_t at) {
    const std::string base = wanted.empty() ? "" : identifier(wanted);
    std::string name = base;
    if (base.empty()) {
      for (const std::string_view letter : kLetters) {
        name = letter;
        if (!is_taken(name, at)) break;
      }
    }
    const std::string stem = name;
    for (int i = 2; is_taken(name, at); ++i) name = fmt::format("{}_{}", stem, i);
    names_[id] = name;
    holders_[name] = id;
  }

  /// What no line defines has a name as well: it comes from a node that is refused.
  const std::string& name_of(int id, size_t at) {
    if (!names_.contains(id)) name(id, wishes_[static_cast<size_t>(id)].name, at);
    return names_.at(id);
  }

  /// What a variable is called: as it wishes, or like one that is not needed any more.
  void name_made(int id, size_t at) {
    const Wish& wish = wishes_[static_cast<size_t>(id)];
    if (wish.is_fixed || lines_[at].is_size) return name(id, wish.name, at);
    std::vector<int> read;
    for (const Mark& mark : marks_in(lines_[at].text)) {
      if (!sizes_.contains(mark.id) && std::ranges::find(read, mark.id) == read.end())
        read.push_back(mark.id);
    }
    for (const int each : read) {
      const std::string taken = name_of(each, at);
      const bool follows = last_read_.at(each) <= at && (read.size() == 1 || taken == "x");
      if (!follows) continue;
      // An argument of another name is no "x" that goes on.
      const bool starts = given_.contains(each) && taken != "x";
      return name(id, starts ? (is_taken("x", at) ? wish.name : "x") : taken, at);
    }
    name(id, wish.name, at);
  }

  /// The last ones as one: "(h, c)", or "_" where none of them is read.
  static void nest(std::vector<std::string>& made, size_t count) {
    if (count == 0) return;
    const auto first = made.end() - static_cast<ptrdiff_t>(count);
    const bool unread =
        std::all_of(first, made.end(), [](const auto& each) { return each == "_"; });
    const std::string all = unread ? "_" : fmt::format("({})", fmt::join(first, made.end(), ", "));
    made.erase(first, made.end());
    made.push_back(all);
  }

  std::string line_text(size_t at) {
    const Line& line = lines_[at];
    std::vector<std::string> made;
    std::string text = line.text;
    for (const int id : line.made) {
      if (last_read_.contains(id) && !names_.contains(id)) name_made(id, at);
    }
    const auto marks = marks_in(text);
    if (text.starts_with("for ") && !marks.empty()) {  // its variable lives in the loop
      const int id = marks.at(0).id;
      name(id, wishes_[static_cast<size_t>(id)].name, at);
    }
    for (auto mark = marks.rbegin(); mark != marks.rend(); ++mark) {
      text.replace(mark->begin, mark->end - mark->begin, name_of(mark->id, at));
    }
    for (const int id : line.made) made.push_back(names_.contains(id) ? names_.at(id) : "_");
    nest(made, line.nested);
    return made.empty() ? text : fmt::format("{} = {}", fmt::join(made, ", "), text);
  }

  std::vector<Wish> wishes_;
  std::vector<Line> lines_;
  PythonNames reserved_;
  std::vector<size_t> reads_;
  std::set<int> sizes_;
  std::map<int, std::string> names_;
  std::map<std::string, int> holders_;  // the last that was called so
  std::map<int, size_t> last_read_;
  std::set<int> given_;
};

std::vector<std::string> Lines::written(PythonNames reserved,
                                        std::vector<std::string>& arguments) const {
  return Writer(*this, std::move(reserved)).written(arguments);
}

}  // namespace onward::emit
