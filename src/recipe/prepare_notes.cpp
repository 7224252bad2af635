#include "recipe/prepare_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "ops/op_def.h"

namespace onward {
namespace {

/// Fewer convolutions have biases of their own often enough.
constexpr int kFewestConvolutions = 5;
/// Smaller tensors are nobody's embedding.
constexpr int64_t kFewestElements = 1000;
/// Two or three bins may be numbers by chance.
constexpr int64_t kFewestBins = 4;

std::string lower(std::string_view name) {
  std::string text(name);
  std::ranges::transform(text, text.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return text;
}

/// Whether "bn" is a word in it: bn1, layer1.0.bn2.weight, conv_bn; but not "subnet".
bool has_bn(std::string_view name) {
  const auto is_letter = [&](size_t i) {
    return i < name.size() && std::isalpha(static_cast<unsigned char>(name[i])) != 0;
  };
  for (size_t at = name.find("bn"); at != std::string_view::npos; at = name.find("bn", at + 1)) {
    if ((at == 0 || !is_letter(at - 1)) && !is_letter(at + 2)) return true;
  }
  return false;
}

/// What an exporter calls a weight that it computed from one and a normalization. PyTorch's gives
/// it a number, where a weight of the module keeps the module's name.
bool tells_of_norm(const Model& model, const std::string& given) {
  const std::string name = lower(given);
  const bool is_named = name.find("batchnorm") != std::string::npos ||
                        name.find("batch_norm") != std::string::npos || has_bn(name);
  return is_named || (model.producer_name == "pytorch" && name.starts_with("onnx::conv_"));
}

bool normalizes(const Node& node) {
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    if (input_role(node, i) == InputRole::scale) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> model_notes(const Model& model) {
  int convolutions = 0, telling = 0;
  bool all_biased = true, any_norm = false;
  std::string witness;
  for_each_node(*model.graph, [&](const Node& node) {
    any_norm = any_norm || normalizes(node);
    if (node.op != "Conv" || !node.domain.empty() || !node.input(1)) return;
    ++convolutions;
    all_biased = all_biased && node.input(2);
    for (size_t i = 1; i < node.inputs().size(); ++i) {
      const std::string& name = node.input(i) ? node.input(i)->name() : node.name;
      if (!tells_of_norm(model, name)) continue;
      ++telling;
      witness = name;
      break;
    }
  });
  const bool is_folded =
      convolutions >= kFewestConvolutions && all_biased && !any_norm && 2 * telling > convolutions;
  if (!is_folded) return {};
  return {
      fmt::format("BatchNormalization was folded into the {} convolutions by the exporter, as "
                  "'{}' tells: there are no statistics that could adapt to other data; export "
                  "the model in training mode to have them",
                  convolutions, witness)};
}

std::vector<std::string> untrained_notes(std::span<const Decision> decisions) {
  const auto size = [](const Decision& each) {
    return each.type.shape ? element_count(*each.type.shape).value_or(0) : 0;
  };
  int64_t all = 0;
  for (const Decision& each : decisions) all += size(each);
  std::vector<std::string> notes;
  for (const Decision& each : decisions) {
    const bool is_meant = each.reason.starts_with("--freeze") || each.reason == "unused" ||
                          each.reason.starts_with("BUFFER") || each.reason.ends_with("a statistic");
    if (each.trained || is_meant || size(each) < kFewestElements || size(each) * 100 <= all) {
      continue;
    }
    notes.push_back(fmt::format("'{}' {} has {} % of all weights and is not trained: {}", each.name,
                                to_string(each.type), size(each) * 100 / all, each.reason));
    if (each.reason.find("; but ") == std::string::npos) {
      notes.back() += fmt::format("; --train '{}' trains it", each.name);
    }
  }
  return notes;
}

std::string fixed_meaning(const Value& value) {
  const Tensor* tensor = value.tensor();
  if (!tensor && value.producer()) tensor = value.producer()->get<Tensor>("value");
  if (!tensor || !is_float(tensor->dtype()) || tensor->size() < kFewestBins) return {};
  if (std::ranges::count_if(tensor->dims(), [](int64_t dim) { return dim != 1; }) != 1) return {};
  for (int64_t i = 0; i < tensor->size(); ++i) {
    if (tensor->number(i) != static_cast<double>(i)) return {};
  }
  return fmt::format("its elements 0, 1, ..., {} number bins, which is not learned",
                     tensor->size() - 1);
}

}  // namespace onward
