#include "emit/source.h"

#include <fmt/format.h>

#include "emit/helpers.h"
#include "emit/job.h"
#include "emit/loss.h"
#include "emit/optimizer.h"
#include "emit/scopes.h"

namespace onward::emit {
namespace {

/// What a string in three quotes can hold as it is.
std::string in_docstring(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    const bool ends_it = c == '"' || c == '\\' || static_cast<unsigned char>(c) < 32;
    safe += ends_it ? '_' : c;
  }
  return safe;
}

/// The names that a source has besides its classes; those of all helpers, used or not.
void reserve_names(SourceContext& context, const OptimizerText* optimizer) {
  const Dialect& dialect = *context.dialect;
  for (const Import& each : dialect.imports) context.names.reserve(each.name);
  for (const std::string_view name : words_of(dialect.names)) context.names.reserve(name);
  for (const std::string_view name : helper_names(dialect)) context.names.reserve(name);
  if (optimizer) context.names.reserve(optimizer->class_name);
}

/// A name that nothing else in the source has.
std::string fresh_class_name(SourceContext& context, const std::string& wanted) {
  std::string name = wanted;
  for (int i = 1; context.names.has(name); ++i) {
    name = fmt::format("{}Model{}", wanted, i == 1 ? "" : std::to_string(i));
  }
  context.names.reserve(name);
  return name;
}

/// "from torch import nn", with what else comes from the module.
std::string import_from(const Import& first, std::span<const Import> used) {
  std::vector<std::string_view> parts;
  for (const Import& each : used) {
    if (each.module == first.module && !each.part.empty()) parts.push_back(each.part);
  }
  return fmt::format("from {} import {}\n", first.module, fmt::join(parts, ", "));
}

/// The imports of one kind, in the order of the dialect's list.
std::string import_lines(std::span<const Import> used, Import::From from) {
  std::string lines;
  std::string_view last_module;
  for (const Import& each : used) {
    if (each.from != from) continue;
    if (each.part.empty()) {
      lines += each.name == each.module ? fmt::format("import {}\n", each.module)
                                        : fmt::format("import {} as {}\n", each.module, each.name);
    } else if (each.module != last_module) {
      last_module = each.module;
      lines += import_from(each, used);
    }
  }
  return lines;
}

std::string imports_text(const SourceContext& context) {
  std::vector<Import> used;
  for (const Import& each : context.dialect->imports) {
    const bool is_used = context.modules.contains(std::string(each.name));
    if (is_used || each.when == Import::When::always) used.push_back(each);
  }
  return import_lines(used, Import::From::python) + "\n" +
         import_lines(used, Import::From::packages);
}

/// What the optimizer keeps, and the functions and classes of loss and optimizer.
std::string training_text(const LossText& loss, const OptimizerText& optimizer) {
  std::string text;
  if (optimizer.lists_slots) {
    std::vector<std::string> slots;
    for (const std::string& slot : optimizer.slots) slots.push_back(python_string(slot));
    text += fmt::format("\nSLOTS = ({}{})  # what the optimizer keeps for each parameter\n\n",
                        fmt::join(slots, ", "), slots.size() == 1 ? "," : "");
  }
  if (!loss.definition.empty()) text += "\n" + loss.definition + "\n";
  if (!optimizer.definition.empty()) text += "\n" + optimizer.definition + "\n";
  return text;
}

}  // namespace

std::string write_source(const Dialect& dialect, const SourceParts& parts) {
  SourceContext& context = parts.module->context();
  std::optional<OptimizerText> optimizer;
  if (parts.job) optimizer = dialect.optimizer(*parts.job);
  reserve_names(context, optimizer ? &*optimizer : nullptr);
  const std::string name = fresh_class_name(context, model_name(*parts.graph));
  std::string code = dialect.module(parts, name) + "\n";
  parts.module->throw_if_refused();
  if (parts.job) {
    const LossText loss = dialect.loss(*parts.job, context);
    code += training_text(loss, *optimizer);
    code += dialect.load_and_save_job(parts, name, loss, *optimizer);
  } else {
    code += dialect.load_and_save(parts, name);
  }
  const std::string helpers = helper_source(context);
  const std::string first =
      fmt::format("\"\"\"{}: {} in {}, written by Onward.\n\n{}\n\"\"\"\n\n", name,
                  in_docstring(parts.model_file), dialect.framework, dialect.about);
  return first + imports_text(context) + "\nHERE = pathlib.Path(__file__).resolve().parent\n" +
         helpers + "\n\n" + code;
}

std::vector<const Value*> real_inputs(const Graph& graph) {
  std::vector<const Value*> inputs;
  for (const Value* input : graph.inputs()) {
    if (!input->initializer()) inputs.push_back(input);
  }
  return inputs;
}

std::string indented(const std::vector<std::string>& lines, int depth) {
  std::string text;
  for (const std::string& line : lines) {
    if (!line.empty()) text += std::string(static_cast<size_t>(4 * depth), ' ') + line;
    text += '\n';
  }
  return text;
}

}  // namespace onward::emit
