#pragma once

// The lines of one function, whose variables get their names when all of them are known: what is
// read once is written where it is read, and a variable takes over the name of the one that it
// replaces, as in "x = self.norm(x)".

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "emit/python.h"

namespace onward::emit {

/// How a variable would be called.
struct Wish {
  std::string name;       // empty where any will do
  bool is_fixed = false;  // no other will do as well: an argument, or a name of the model
};

class Lines {
 public:
  /// A new variable. It stands in texts as a mark, which `written` replaces by a name.
  std::string variable(Wish wish);

  /// A line of the source. "MARK = ...", "MARK, MARK = ..." and "MARK, (MARK, MARK) = ..." define
  /// variables.
  void add(std::string line, bool is_random = false);
  /// The same for a line that defines nothing, or gives variables new values.
  void add_statement(std::string line);
  /// Lines from here on are inside of the last one, a loop or a branch; `by` is -1 behind them.
  void indent(int by) { depth_ += by; }
  /// The line of a size, "MARK = MARK.shape[0]", which may be written anywhere behind its tensor;
  /// `at_top` where that is an argument.
  void add_size(std::string line, bool at_top);

  /// All lines with names, given those that no variable may have. `arguments` are the marks of
  /// variables that the function begins with; they are replaced too.
  std::vector<std::string> written(PythonNames reserved, std::vector<std::string>& arguments) const;

  /// Whether a text is nothing but a mark.
  static bool is_mark(std::string_view text);

 private:
  struct Line {
    std::vector<int> made;  // what it defines
    size_t nested = 0;      // how many of these, the last ones, are a tuple of their own
    std::string text;       // all of it, or what follows the "="
    bool is_random = false;
    bool is_size = false;
    bool is_gone = false;
    int depth = 0;   // of expressions inside of each other
    int indent = 0;  // of loops and branches around it
  };
  class Writer;

  std::vector<Wish> wishes_;
  std::vector<Line> sizes_, lines_;
  int depth_ = 0;
};

}  // namespace onward::emit
