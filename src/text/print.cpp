#include <fmt/format.h>

#include <numeric>
#include <unordered_set>

#include "ir/utf8.h"
#include "text/text.h"
#include "text/values.h"

namespace onward {
namespace {

constexpr size_t kColumns = 100;

class Printer {
 public:
  explicit Printer(const PrintOptions& options) : options_(options) {}

  std::string model(const Model& model);
  /// "name (inputs) => (outputs) <initializers> { nodes }", with `name` already as text.
  std::string graph(const Graph& graph, const std::string& name);
  std::string node(const Node& node);

 private:
  std::string indent() const { return std::string(static_cast<size_t>(depth_) * 2, ' '); }
  std::string header(const Model& model) const;
  std::string training_info(const TrainingInfo& info);
  std::string bindings(std::string_view keyword, const std::vector<Binding>& bindings) const;
  std::string declarations(const Graph& graph) const;
  std::string parentheses(const std::vector<std::string>& items) const;
  std::string input(const Value& value) const;
  std::string attributes(const Node& node);
  std::string attribute_value(const Attribute& attribute);
  template <typename Items, typename Text>
  std::string list(const Items& items, Text text) const;

  PrintOptions options_;
  int depth_ = 0;
};

std::string typed_name(const Type& type, const std::string& name) {
  const std::string text = type_text(type);
  return text.empty() ? name_text(name) : text + " " + name_text(name);
}

std::string value_name(const Value* value) { return value ? name_text(value->name()) : "\"\""; }

/// A graph input with a default of its very type is written with it; else the two stand apart.
bool has_default_inline(const Value& value) {
  return value.is_input() && value.tensor() &&
         type_text(value.type) == type_text(value.tensor()->type());
}

template <typename Items, typename Text>
std::string joined(const Items& items, std::string_view separator, Text text) {
  std::string result;
  bool first = true;
  for (const auto& item : items) {
    if (!first) result += separator;
    first = false;
    result += text(item);
  }
  return result;
}

std::string Printer::model(const Model& model) {
  std::string text = header(model) + graph(*model.graph, name_text(model.graph->name)) + "\n";
  for (const TrainingInfo& info : model.training) text += training_info(info);
  return text;
}

std::string Printer::header(const Model& model) const {
  const std::string opsets = joined(model.opsets, ", ", [](const OpsetImport& import) {
    return fmt::format("{} : {}", quoted_text(import.domain), import.version);
  });
  std::string text =
      fmt::format("<\n  ir_version: {},\n  opset_import: [{}]", model.ir_version, opsets);
  const std::pair<std::string_view, const std::string&> strings[] = {
      {"producer_name", model.producer_name},
      {"producer_version", model.producer_version},
      {"domain", model.domain},
  };
  for (const auto& [key, value] : strings) {
    if (!value.empty()) text += fmt::format(",\n  {}: {}", key, quoted_text(value));
  }
  if (model.version != 0) text += fmt::format(",\n  model_version: {}", model.version);
  return text + "\n>\n";
}

std::string Printer::training_info(const TrainingInfo& info) {
  std::string text = "training_info {\n";
  ++depth_;
  const auto add_graph = [&](std::string_view keyword, const Graph* part) {
    if (part == nullptr) return;
    text += fmt::format("{}{} {}\n", indent(), keyword, graph(*part, name_text(part->name)));
  };
  add_graph("initialization", info.initialization.get());
  text += bindings("initialization_binding", info.initialization_bindings);
  add_graph("algorithm", info.algorithm.get());
  text += bindings("update_binding", info.update_bindings);
  --depth_;
  return text + "}\n";
}

std::string Printer::bindings(std::string_view keyword,
                              const std::vector<Binding>& bindings) const {
  if (bindings.empty()) return "";
  std::string text = fmt::format("{}{} {{\n", indent(), keyword);
  for (const Binding& binding : bindings) {
    text += fmt::format("{}  {} <- {}\n", indent(), value_name(binding.target),
                        value_name(binding.source));
  }
  return text + indent() + "}\n";
}

std::string Printer::graph(const Graph& graph, const std::string& name) {
  std::vector<std::string> inputs, outputs;
  for (const Value* value : graph.inputs()) inputs.push_back(input(*value));
  for (const Value* value : graph.outputs()) {
    outputs.push_back(typed_name(value->type, value->name()));
  }
  std::string text = name + " " + parentheses(inputs) + " => " + parentheses(outputs) + " ";
  text += declarations(graph) + "{\n";
  ++depth_;
  for (const auto& item : graph.nodes()) text += indent() + node(*item) + "\n";
  --depth_;
  return text + indent() + "}";
}

std::string Printer::input(const Value& value) const {
  std::string text = typed_name(value.type, value.name());
  if (has_default_inline(value)) text += " = " + elements_text(*value.tensor(), options_);
  return text;
}

/// In one line where it fits, else one item a line.
std::string Printer::parentheses(const std::vector<std::string>& items) const {
  const size_t width =
      std::accumulate(items.begin(), items.end(), size_t{0},
                      [](size_t sum, const std::string& item) { return sum + item.size() + 2; });
  const auto same = [](const std::string& item) { return item; };
  if (width < kColumns) return "(" + joined(items, ", ", same) + ")";
  const std::string line = "\n" + indent() + "    ";
  return "(" + line + joined(items, "," + line, same) + ")";
}

/// "<initializers and declared types of intermediate values>", each on its line, or nothing.
std::string Printer::declarations(const Graph& graph) const {
  std::vector<std::string> items;
  for (const Value* value : graph.initializers()) {
    if (has_default_inline(*value)) continue;
    const std::string elements = value->tensor()
                                     ? elements_text(*value->tensor(), options_)
                                     : elements_text(*value->initializer()->sparse(), options_);
    items.push_back(typed_name(value->initializer()->type(), value->name()) + " = " + elements);
  }
  const std::unordered_set<const Value*> results(graph.outputs().begin(), graph.outputs().end());
  for (const auto& node : graph.nodes()) {
    for (const auto& output : node->outputs()) {
      if (!output || !output->declared || results.contains(output.get())) continue;
      items.push_back(typed_name(output->type, output->name()));
    }
  }
  if (items.empty()) return "";
  const std::string line = "\n" + indent();
  return "<" + line + "  " +
         joined(items, "," + line + "  ", [](const std::string& item) { return item; }) + line +
         ">" + line;
}

std::string Printer::node(const Node& node) {
  std::string text = node.name.empty() ? "" : "[" + name_text(node.name) + "] ";
  text += joined(node.outputs(), ", ", [](const auto& value) { return value_name(value.get()); });
  text += " = ";
  if (!node.domain.empty()) text += printable(node.domain) + ".";
  text += printable(node.op);
  if (!node.overload.empty()) text += ":" + printable(node.overload);
  const std::string inputs = "(" + joined(node.inputs(), ", ", value_name) + ")";
  if (node.attributes().empty()) return text + inputs;
  if (node.subgraphs().empty()) return text + "<" + attributes(node) + ">" + inputs;
  return text + inputs + " <" + attributes(node) + ">";
}

std::string Printer::attributes(const Node& node) {
  const std::string separator = node.subgraphs().empty() ? ", " : ",\n  " + indent();
  std::string text = node.subgraphs().empty() ? "" : separator.substr(1);
  ++depth_;
  text += joined(node.attributes(), separator, [&](const Attribute& attribute) {
    return fmt::format("{}{}", printable(attribute.name), attribute_value(attribute));
  });
  --depth_;
  return text;
}

template <typename Items, typename Text>
std::string Printer::list(const Items& items, Text text) const {
  return list_text('[', static_cast<int64_t>(items.size()), ']', options_,
                   [&](int64_t i) { return text(items[static_cast<size_t>(i)]); });
}

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

/// " = value", or ": type = []" where the value alone would not tell its type.
std::string Printer::attribute_value(const Attribute& attribute) {
  const auto empty = [](const auto& items, const char* type) {
    return items.empty() ? fmt::format(": {} = ", type) : std::string(" = ");
  };
  const auto subgraph = [&](const std::unique_ptr<Graph>& value) {
    return graph(*value, plain_name(value->name));
  };
  const auto sparse = [&](const SparseTensor& value) {
    return type_text(value.type()) + " " + elements_text(value, options_);
  };
  const auto tensor = [&](const Tensor& value) { return tensor_text(value, options_); };
  return std::visit(
      Overloaded{
          [](std::monostate) { return std::string(" = ?"); },
          [](float value) { return " = " + float_text(value); },
          [](int64_t value) { return fmt::format(" = {}", value); },
          [](const std::string& value) { return " = " + quoted_text(value); },
          [&](const Tensor& value) { return " = " + tensor(value); },
          [&](const SparseTensor& value) { return " = " + sparse(value); },
          [](const Type& value) { return ": type_proto = " + type_text(value); },
          [&](const std::unique_ptr<Graph>& value) { return " = " + subgraph(value); },
          [&](const std::vector<float>& value) {
            return empty(value, "floats") + list(value, float_text);
          },
          [&](const std::vector<int64_t>& value) {
            return empty(value, "ints") +
                   list(value, [](int64_t i) { return fmt::format("{}", i); });
          },
          [&](const std::vector<std::string>& value) {
            return empty(value, "strings") + list(value, quoted_text);
          },
          [&](const std::vector<Tensor>& value) { return " = " + list(value, tensor); },
          [&](const std::vector<SparseTensor>& value) { return " = " + list(value, sparse); },
          [&](const std::vector<Type>& value) { return " = " + list(value, type_text); },
          [&](const Attribute::Graphs& value) { return " = " + list(value, subgraph); },
          [&](const References& value) {
            const auto reference = [](const Value* item) {
              return quoted_text(item ? item->name() : "");
            };
            if (value.single && value.values.size() == 1) return " = " + reference(value.values[0]);
            return empty(value.values, "strings") + list(value.values, reference);
          },
      },
      attribute.value);
}

}  // namespace

std::string to_text(const Model& model, const PrintOptions& options) {
  return Printer(options).model(model);
}

std::string to_text(const Graph& graph, const PrintOptions& options) {
  return Printer(options).graph(graph, name_text(graph.name)) + "\n";
}

std::string to_text(const Node& node, const PrintOptions& options) {
  return Printer(options).node(node);
}

}  // namespace onward
