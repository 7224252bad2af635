#include <algorithm>
#include <map>
#include <sstream>

#include "ops/op_def.h"
#include "passes/passes.h"

namespace onward {
namespace {

constexpr int64_t kMaxSharedBytes = 4096;

template <typename T>
void write_list(std::ostream& out, const std::vector<T>& list) {
  for (const T& each : list) out << each << ',';
}

void write_tensor(std::ostream& out, const Tensor& tensor) {
  out << name(tensor.dtype()) << to_string(std::span<const int64_t>(tensor.dims()));
  if (tensor.dtype() == DType::string) {
    for (const std::string& text : tensor.strings()) out << text.size() << ':' << text;
    return;
  }
  out.write(reinterpret_cast<const char*>(tensor.bytes().data()),
            static_cast<std::streamsize>(tensor.bytes().size()));
}

/// Writes an attribute such that equal texts mean equal attributes; false for kinds that are not
/// compared.
bool write_attribute(std::ostream& out, const Attribute& attribute) {
  out << attribute.name << attribute.value.index() << '=';
  if (const auto* number = std::get_if<float>(&attribute.value)) {
    out.write(reinterpret_cast<const char*>(number), sizeof *number);
  } else if (const auto* integer = std::get_if<int64_t>(&attribute.value)) {
    out << *integer;
  } else if (const auto* text = std::get_if<std::string>(&attribute.value)) {
    out << text->size() << ':' << *text;
  } else if (const auto* integers = std::get_if<std::vector<int64_t>>(&attribute.value)) {
    write_list(out, *integers);
  } else if (const auto* tensor = std::get_if<Tensor>(&attribute.value)) {
    write_tensor(out, *tensor);
  } else {
    return false;
  }
  out << ';';
  return true;
}

/// A text that is equal for nodes that compute the same; nothing for one that is not to be shared.
std::optional<std::string> key_of(const Node& node) {
  if (has_traits(node, kRandom) || !node.subgraphs().empty()) return std::nullopt;
  std::ostringstream key;
  key << node.domain << '.' << node.op << '(';
  for (const Value* input : node.inputs()) key << input << ',';
  key << ')' << node.outputs().size();
  std::vector<const Attribute*> attributes;
  for (const Attribute& attribute : node.attributes()) attributes.push_back(&attribute);
  std::ranges::sort(attributes, {}, &Attribute::name);
  for (const Attribute* attribute : attributes) {
    if (!write_attribute(key, *attribute)) return std::nullopt;
  }
  return key.str();
}

/// Small constants of equal elements become one, so that nodes that read them can.
void share_constants(PassContext& c) {
  std::map<std::string, Value*> first;
  const std::vector<Value*> initializers(c.graph.initializers().begin(),
                                         c.graph.initializers().end());
  for (Value* value : initializers) {
    const Tensor* constant = c.constant(value);
    if (!constant || constant->dtype() == DType::string ||
        static_cast<int64_t>(constant->bytes().size()) > kMaxSharedBytes) {
      continue;
    }
    std::ostringstream key;
    write_tensor(key, *constant);
    const auto [found, added] = first.emplace(key.str(), value);
    if (!added) c.graph.replace_uses(value, found->second);
  }
}

}  // namespace

void share_subgraphs(PassContext& c) {
  share_constants(c);
  std::map<std::string, Node*> first;
  for (auto at = c.graph.nodes().begin(); at != c.graph.nodes().end();) {
    Node& node = **at++;
    const auto key = key_of(node);
    if (!key) continue;
    const auto [found, added] = first.emplace(*key, &node);
    if (added) continue;
    Node& twin = *found->second;
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      if (!node.output(i)) continue;
      if (!twin.output(i)) {
        twin.set_output(i, c.names.fresh(node.output(i)->name()), node.output(i)->type);
      }
      c.graph.replace_uses(node.output(i), twin.output(i));
    }
    c.graph.remove_node(&node);
  }
}

}  // namespace onward
