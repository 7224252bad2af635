#include "emit/classes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

namespace onward::emit {
namespace {

// Characters that no text of a source has: "\x03channels=16\x04".
constexpr char kSizeBegin = '\x03', kSizeEnd = '\x04';

/// More would be harder to read than a second class.
constexpr size_t kMaxParameters = 4;

struct SizeMark {
  size_t begin, end;
  std::string name, number;
};

std::vector<SizeMark> size_marks_in(std::string_view text) {
  std::vector<SizeMark> marks;
  for (size_t at = text.find(kSizeBegin); at != std::string_view::npos;
       at = text.find(kSizeBegin, at)) {
    const size_t equals = text.find('=', at), end = text.find(kSizeEnd, at);
    marks.push_back({at, end + 1, std::string(text.substr(at + 1, equals - at - 1)),
                     std::string(text.substr(equals + 1, end - equals - 1))});
    at = end;
  }
  return marks;
}

std::vector<SizeMark> size_marks_in(const std::vector<std::string>& lines) {
  std::vector<SizeMark> marks;
  for (const std::string& line : lines) {
    const auto more = size_marks_in(line);
    marks.insert(marks.end(), more.begin(), more.end());
  }
  return marks;
}

template <typename By>
std::string with_sizes(std::string_view text, By by) {
  std::string result;
  size_t at = 0;
  for (const SizeMark& mark : size_marks_in(text)) {
    result += text.substr(at, mark.begin - at);
    result += by(mark);
    at = mark.end;
  }
  return result.append(text.substr(at));
}

/// What modules must have in common to share a class.
std::string shared_form(const ModuleText& module) {
  std::string form = module.wanted + "\n";
  for (const std::string& line : module.init_lines) {
    form += with_sizes(line, [](const SizeMark& mark) { return "<" + mark.name + ">"; }) + "\n";
  }
  for (const std::string& line : module.other_lines) form += line + "\n";
  return form;
}

/// "channels" for "in_channels" and "out_channels" of the same size.
std::string common_name(const std::set<std::string>& names) {
  if (names.size() == 1) return *names.begin();
  for (const std::string& name : names) {
    const size_t cut = name.find('_');
    if (name.starts_with("in_") || name.starts_with("out_")) return name.substr(cut + 1);
  }
  return *names.begin();
}

/// Names of parameters by the sizes that they have in each module; nothing where there are too
/// many.
using Parameters = std::map<std::vector<std::string>, std::string>;

std::optional<Parameters> parameters_of(const std::vector<std::vector<SizeMark>>& marks,
                                        std::vector<std::string>& order) {
  Parameters parameters;
  std::vector<std::vector<std::string>> columns;
  std::map<std::vector<std::string>, std::set<std::string>> names;
  for (size_t i = 0; i < marks[0].size(); ++i) {
    std::vector<std::string> column;
    for (const auto& each : marks) column.push_back(each[i].number);
    if (std::ranges::count(column, column[0]) == std::ssize(column)) continue;
    if (!names.contains(column)) columns.push_back(column);
    names[column].insert(marks[0][i].name);
  }
  if (columns.size() > kMaxParameters) return std::nullopt;
  PythonNames fresh;
  for (const auto& column : columns) {
    // "in_channels" where another one is "out_channels", else "channels".
    std::string name = common_name(names[column]);
    if (columns.size() == 1 && name.starts_with("in_")) name = name.substr(3);
    if (columns.size() == 1 && name.starts_with("out_")) name = name.substr(4);
    if (columns.size() > 1 && names[column].size() > 1) name = "out_" + name;
    order.push_back(fresh.fresh(name));
    parameters[column] = order.back();
  }
  return parameters;
}

}  // namespace

std::string size_argument(std::string_view name, int64_t size) {
  return fmt::format("{}{}={}{}", kSizeBegin, name, size, kSizeEnd);
}

std::string plain_sizes(std::string_view text) {
  return with_sizes(text, [](const SizeMark& mark) { return mark.number; });
}

std::string ClassMaker::fresh_name(const ModuleText& module) {
  const auto first = attributes_.find(module.wanted);
  if (first != attributes_.end()) {
    // "BasicBlockWithDownsample": by something that the other class has not.
    for (const std::string& attribute : module.attributes) {
      if (std::ranges::find(first->second, attribute) == first->second.end()) {
        return names_.fresh(fmt::format("{}With{}", module.wanted, class_name(attribute, "More")));
      }
    }
  }
  attributes_.emplace(module.wanted, module.attributes);
  return names_.fresh(module.wanted);
}

void ClassMaker::make_group(const std::vector<const ModuleText*>& group,
                            std::vector<std::string>& calls) {
  std::vector<std::vector<SizeMark>> marks;
  for (const ModuleText* module : group) marks.push_back(size_marks_in(module->init_lines));
  SharedClass made{
      .name = {}, .parameters = {}, .init_lines = {}, .other_lines = group[0]->other_lines};
  const auto parameters = parameters_of(marks, made.parameters);
  if (!parameters) {  // one for each of them
    std::map<std::vector<std::string>, std::vector<size_t>> alike;
    for (size_t i = 0; i < group.size(); ++i) alike[group[i]->init_lines].push_back(i);
    for (const auto& [lines, members] : alike) {
      std::vector<std::string> call;
      make_group({group[members[0]]}, call);
      for (const size_t member : members) calls[member] = call[0];
    }
    return;
  }
  made.name = fresh_name(*group[0]);
  size_t at = 0;
  for (const std::string& line : group[0]->init_lines) {
    made.init_lines.push_back(with_sizes(line, [&](const SizeMark& mark) {
      std::vector<std::string> column;
      for (const auto& each : marks) column.push_back(each[at].number);
      ++at;
      const auto parameter = parameters->find(column);
      return parameter == parameters->end() ? mark.number : parameter->second;
    }));
  }
  calls.resize(group.size());
  for (size_t i = 0; i < group.size(); ++i) {
    std::vector<std::string> arguments;
    for (const std::string& name : made.parameters) {
      for (const auto& [column, parameter] : *parameters) {
        if (parameter == name) arguments.push_back(size_argument(name, std::stoll(column[i])));
      }
    }
    calls[i] = fmt::format("{}({})", made.name, fmt::join(arguments, ", "));
  }
  classes_.push_back(std::move(made));
}

std::vector<std::string> ClassMaker::make(const std::vector<ModuleText>& modules) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<size_t>> groups;
  for (size_t i = 0; i < modules.size(); ++i) {
    auto& group = groups[shared_form(modules[i])];
    if (group.empty()) order.push_back(shared_form(modules[i]));
    group.push_back(i);
  }
  std::vector<std::string> calls(modules.size());
  for (const std::string& form : order) {
    std::vector<const ModuleText*> group;
    for (const size_t i : groups[form]) group.push_back(&modules[i]);
    std::vector<std::string> own(group.size());
    make_group(group, own);
    for (size_t i = 0; i < own.size(); ++i) calls[groups[form][i]] = own[i];
  }
  return calls;
}

}  // namespace onward::emit
