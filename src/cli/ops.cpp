#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/coverage.h"
#include "ir/suggestion.h"
#include "onward/error.h"
#include "opset/lift.h"

namespace onward::cli {
namespace {

using Json = nlohmann::ordered_json;
using Kind = Coverage::Kind;

struct OpsArguments {
  std::string op;
  bool missing = false;
  bool json = false;
};

std::string full_name(const std::string& domain, const std::string& op) {
  return domain.empty() ? op : fmt::format("{}.{}", domain, op);
}

bool is_wanted(const OpsArguments& options, const std::string& domain, const std::string& op) {
  return options.op.empty() || options.op == op || options.op == full_name(domain, op);
}

std::vector<OperatorCoverage> wanted_operators(const OpsArguments& options) {
  std::vector<OperatorCoverage> rows = coverage();
  std::erase_if(rows, [&](const OperatorCoverage& row) {
    return !is_wanted(options, row.domain, row.op) || (options.missing && !row.has_gap());
  });
  return rows;
}

std::vector<OperatorForm> wanted_forms(const OpsArguments& options) {
  std::vector<OperatorForm> forms = unliftable_forms();
  std::erase_if(
      forms, [&](const OperatorForm& form) { return !is_wanted(options, form.domain, form.op); });
  return forms;
}

bool is_lacking(const Coverage& cell) { return cell.kind == Kind::gap || cell.kind == Kind::begun; }

Json to_json(const OperatorCoverage& row) {
  Json json;
  json["domain"] = row.domain;
  json["operator"] = row.op;
  json["since_version"] = row.since_version;
  for (size_t i = 0; i < row.cells.size(); ++i) {
    Json& cell = json[std::string(coverage_columns()[i].name)];
    cell["support"] = name(row.cells[i].kind);
    cell[is_lacking(row.cells[i]) ? "reason" : "how"] = row.cells[i].text;
  }
  return json;
}

void print_json(const std::vector<OperatorCoverage>& rows, const std::vector<OperatorForm>& forms) {
  Json json;
  for (const CoverageColumn& column : coverage_columns()) {
    json["columns"][std::string(column.name)] = column.meaning;
  }
  json["operators"] = Json::array();
  for (const OperatorCoverage& row : rows) json["operators"].push_back(to_json(row));
  json["unliftable_forms"] = Json::array();
  for (const OperatorForm& form : forms) {
    json["unliftable_forms"].push_back({{"domain", form.domain},
                                        {"operator", form.op},
                                        {"since_version", form.since_version},
                                        {"reason", form.reason}});
  }
  fmt::print("{}\n", json.dump(2));
}

/// What a cell of the table shows: the runtime's kernels by name, else a word.
std::string shown(const CoverageColumn& column, const Coverage& cell) {
  if (column.name == "fast" && cell.kind == Kind::yes) return cell.text;
  constexpr std::string_view kWords[] = {"yes", "-", "reference", "", ""};
  return std::string(kWords[static_cast<size_t>(cell.kind)]);
}

void print_table(const std::vector<OperatorCoverage>& rows) {
  const auto columns = coverage_columns();
  size_t first = 0;
  std::vector<size_t> widths;
  for (const CoverageColumn& column : columns) widths.push_back(column.name.size());
  for (const OperatorCoverage& row : rows) {
    first = std::max(first, full_name(row.domain, row.op).size());
    for (size_t i = 0; i < columns.size(); ++i) {
      widths[i] = std::max(widths[i], shown(columns[i], row.cells[i]).size());
    }
  }
  std::string header = fmt::format("{:{}}", "", first);
  for (size_t i = 0; i < columns.size(); ++i) {
    header += fmt::format("  {:{}}", columns[i].name, widths[i]);
  }
  fmt::print("{}\n", header);
  for (const OperatorCoverage& row : rows) {
    std::string line = fmt::format("{:{}}", full_name(row.domain, row.op), first);
    for (size_t i = 0; i < columns.size(); ++i) {
      line += fmt::format("  {:{}}", shown(columns[i], row.cells[i]), widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print("{}\n", line);
  }
}

void print_counts(const std::vector<OperatorCoverage>& rows) {
  std::map<std::string, std::pair<size_t, size_t>> by_domain;  // covered, all
  for (const OperatorCoverage& row : rows) {
    auto& [covered, all] = by_domain[row.domain.empty() ? "ai.onnx" : row.domain];
    ++all;
    if (!row.has_gap()) ++covered;
  }
  for (const auto& [domain, counts] : by_domain) {
    fmt::print("{}: {} of {} operators\n", domain, counts.first, counts.second);
  }
}

/// Gaps with the same reason on one line.
void print_gaps(const std::vector<OperatorCoverage>& rows) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const OperatorCoverage& row : rows) {
    for (size_t i = 0; i < row.cells.size(); ++i) {
      if (row.cells[i].kind != Kind::gap) continue;
      auto& ops = by_reason[row.cells[i].text];
      const std::string op = full_name(row.domain, row.op);
      if (ops.empty() || ops.back() != op) ops.push_back(op);
    }
  }
  for (const auto& [reason, ops] : by_reason) {
    fmt::print("{}:\n  {}\n", reason, fmt::join(ops, ", "));
  }
}

void print_one(const OperatorCoverage& row) {
  fmt::print("{} (since opset {})\n", full_name(row.domain, row.op), row.since_version);
  for (size_t i = 0; i < row.cells.size(); ++i) {
    const Coverage& cell = row.cells[i];
    const std::string_view word = cell.kind == Kind::gap ? "no" : name(cell.kind);
    fmt::print("  {:8}  {:8}  {}\n", coverage_columns()[i].name, word, cell.text);
  }
}

void print_forms(const std::vector<OperatorForm>& forms) {
  for (const OperatorForm& form : forms) {
    fmt::print("  {} of opset {}: {}\n", full_name(form.domain, form.op), form.since_version,
               form.reason);
  }
}

void run_ops(const OpsArguments& options) {
  const auto rows = wanted_operators(options);
  const auto forms = wanted_forms(options);
  if (!options.op.empty() && !options.missing && rows.empty() && forms.empty()) {
    std::vector<std::string> names;
    for (const OperatorCoverage& row : coverage()) names.push_back(full_name(row.domain, row.op));
    const std::string meant = did_you_mean(options.op, names);
    throw Error(
        fmt::format("ONNX has no operator '{}'{}{}", options.op, meant.empty() ? "" : ": ", meant));
  }
  if (options.json) return print_json(rows, forms);
  if (!options.op.empty()) {
    for (const OperatorCoverage& row : rows) print_one(row);
  } else if (options.missing) {
    print_gaps(rows);
  } else {
    print_table(rows);
    print_counts(rows);
  }
  if (forms.empty() || (options.op.empty() && !options.missing)) return;
  fmt::print("older versions that cannot be upgraded:\n");
  print_forms(forms);
}

}  // namespace

void add_ops(CommandLine& line) {
  auto options = std::make_shared<OpsArguments>();
  Command command = line.command("ops", "List the supported operators, and how each is supported");
  command.positional("OPERATOR", &options->op, "show only this one, in detail");
  command.flag("--missing", &options->missing, "list only what is not supported, and why");
  command.flag("--json", &options->json, "print the table as JSON");
  command.footer("Example: onward ops Conv");
  command.run([options] { run_ops(*options); });
}

}  // namespace onward::cli
