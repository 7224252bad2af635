#include <fmt/format.h>
#include <onnx/defs/parser.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "ir/utf8.h"
#include "proto/proto.h"
#include "text/scan.h"
#include "text/text.h"

namespace onward {
namespace {

using Bindings = google::protobuf::RepeatedPtrField<onnx::StringStringEntryProto>;

/// ONNX's parser, with the position at which it stands.
class Parser : public onnx::OnnxParser {
 public:
  using OnnxParser::OnnxParser;

  size_t position() const { return pos_; }
  void move_to(size_t position) { pos_ = position; }
};

/// The last line of ONNX's message; the others say position and context, as we do ourselves.
std::string reason(const onnx::Common::Status& status) {
  std::string message = status.ErrorMessage();
  message.erase(0, message.rfind('\n') + 1);
  if (message.ends_with('.')) message.pop_back();
  if (!message.empty() && message[0] >= 'A' && message[0] <= 'Z') {
    message[0] = static_cast<char>(message[0] - 'A' + 'a');
  }
  return message;
}

/// 4-bit and 2-bit elements are listed one by one; a message holds them packed.
void pack_sub_byte(onnx::TensorProto& tensor) {
  const int width = bits(dtype_from_proto(tensor.data_type()));
  if ((width != 4 && width != 2) || tensor.int32_data_size() == 0) return;
  std::string packed((static_cast<size_t>(tensor.int32_data_size()) * width + 7) / 8, '\0');
  const uint32_t mask = (1u << width) - 1;
  for (int i = 0; i < tensor.int32_data_size(); ++i) {
    const uint32_t element = static_cast<uint32_t>(tensor.int32_data(i)) & mask;
    char& byte = packed[static_cast<size_t>(i) * width / 8];
    byte = static_cast<char>(byte | (element << (i * width % 8)));
  }
  tensor.clear_int32_data();
  tensor.set_raw_data(packed);
}

bool has_no_data(const onnx::TensorProto& tensor) {
  return tensor.float_data_size() + tensor.double_data_size() + tensor.int32_data_size() +
                 tensor.int64_data_size() + tensor.uint64_data_size() + tensor.string_data_size() +
                 tensor.external_data_size() ==
             0 &&
         !tensor.has_raw_data();
}

/// ONNX's parser reads lists of tensors, graphs and types, and drops them without a word.
void refuse_dropped_list(const onnx::NodeProto& node, const onnx::AttributeProto& attribute) {
  constexpr onnx::AttributeProto::AttributeType kDropped[] = {
      onnx::AttributeProto::UNDEFINED, onnx::AttributeProto::TENSORS, onnx::AttributeProto::GRAPHS,
      onnx::AttributeProto::SPARSE_TENSORS, onnx::AttributeProto::TYPE_PROTOS};
  if (attribute.has_ref_attr_name() ||
      std::ranges::find(kDropped, attribute.type()) == std::end(kDropped)) {
    return;
  }
  throw Error("a list can contain numbers and strings, but not tensors, graphs or types")
      .add_context(fmt::format("in attribute '{}' of a node {}", printable(attribute.name()),
                               printable(node.op_type())));
}

class TextReader {
 public:
  explicit TextReader(std::string_view text) : given_(text), scanned_(scan_text(text)) {}

  onnx::ModelProto read();

 private:
  template <typename Action>
  void run(Parser& parser, Action action) const;
  onnx::TrainingInfoProto read_training_info(size_t index);
  void read_graph(Parser& parser, onnx::GraphProto& graph);
  void read_bindings(Parser& parser, Bindings& bindings) const;

  void take_fills(std::optional<size_t> info);
  void expect_no_fills_left() const;
  void complete(onnx::GraphProto& graph);
  void complete(onnx::NodeProto& node);
  void complete(onnx::TensorProto& initializer);

  std::string_view given_;
  ScannedText scanned_;
  std::vector<TextFill> fills_;  // of the part at hand, in the order of the text
  size_t next_fill_ = 0;
  int64_t filled_elements_ = 0;
};

/// Runs one call of ONNX's parser; whatever it says or throws becomes an Error with the place.
template <typename Action>
void TextReader::run(Parser& parser, Action action) const {
  std::string message;
  try {
    const onnx::Common::Status status = action();
    if (status.IsOK()) return;
    message = reason(status);
  } catch (const std::out_of_range&) {
    message = "this number is too large";
  } catch (const std::invalid_argument&) {
    message = "this is not a number";
  } catch (const std::exception& error) {
    message = error.what();
  }
  throw text_error(given_, parser.position(), message);
}

onnx::ModelProto TextReader::read() {
  onnx::ModelProto model;
  Parser parser(scanned_.model);
  run(parser, [&] { return parser.Parse(model); });
  take_fills(std::nullopt);
  complete(*model.mutable_graph());
  expect_no_fills_left();
  for (onnx::FunctionProto& function : *model.mutable_functions()) {
    for (onnx::NodeProto& node : *function.mutable_node()) complete(node);
  }
  for (size_t i = 0; i < scanned_.training_infos.size(); ++i) {
    *model.add_training_info() = read_training_info(i);
  }
  return model;
}

onnx::TrainingInfoProto TextReader::read_training_info(size_t index) {
  const TextBlock& block = scanned_.training_infos[index];
  Parser parser(std::string_view(scanned_.text).substr(0, block.end));
  parser.move_to(block.begin);
  take_fills(index);

  onnx::TrainingInfoProto info;
  struct Part {
    std::string_view keyword;
    std::function<void()> read;
    bool seen = false;
  };
  Part parts[] = {
      {"initialization", [&] { read_graph(parser, *info.mutable_initialization()); }},
      {"initialization_binding",
       [&] { read_bindings(parser, *info.mutable_initialization_binding()); }},
      {"algorithm", [&] { read_graph(parser, *info.mutable_algorithm()); }},
      {"update_binding", [&] { read_bindings(parser, *info.mutable_update_binding()); }},
  };
  while (!parser.EndOfInput()) {
    const size_t begin = parser.position();
    Part* part = std::ranges::find(parts, parser.ParseOptionalIdentifier(), &Part::keyword);
    if (part == std::end(parts)) {
      throw text_error(given_, begin,
                       "expected initialization, initialization_binding, algorithm or "
                       "update_binding");
    }
    if (std::exchange(part->seen, true)) {
      throw text_error(given_, begin, fmt::format("a second {}", part->keyword));
    }
    part->read();
  }
  expect_no_fills_left();
  return info;
}

void TextReader::read_graph(Parser& parser, onnx::GraphProto& graph) {
  run(parser, [&] { return parser.Parse(graph); });
  complete(graph);
}

void TextReader::read_bindings(Parser& parser, Bindings& bindings) const {
  run(parser, [&] {
    CHECK_PARSER_STATUS(parser.Match('{'));
    while (!parser.Matches('}')) {
      onnx::StringStringEntryProto& binding = *bindings.Add();
      CHECK_PARSER_STATUS(parser.ParseQuotableIdentifier(*binding.mutable_key()));
      CHECK_PARSER_STATUS(parser.Match('<'));
      CHECK_PARSER_STATUS(parser.Match('-', false));
      CHECK_PARSER_STATUS(parser.ParseQuotableIdentifier(*binding.mutable_value()));
      parser.Matches(',');
    }
    return onnx::Common::Status::OK();
  });
}

void TextReader::take_fills(std::optional<size_t> info) {
  fills_.clear();
  next_fill_ = 0;
  std::ranges::copy_if(scanned_.fills, std::back_inserter(fills_),
                       [&](const TextFill& fill) { return fill.info == info; });
}

void TextReader::expect_no_fills_left() const {
  if (next_fill_ == fills_.size()) return;
  throw text_error(given_, fills_[next_fill_].begin,
                   "only a graph initializer can have a generator");
}

// Walks a graph in the order of its text, so that each fill meets the initializer it stands at.
void TextReader::complete(onnx::GraphProto& graph) {
  for (onnx::TensorProto& initializer : *graph.mutable_initializer()) complete(initializer);
  for (onnx::NodeProto& node : *graph.mutable_node()) complete(node);
}

void TextReader::complete(onnx::NodeProto& node) {
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    refuse_dropped_list(node, attribute);
    if (attribute.has_t()) pack_sub_byte(*attribute.mutable_t());
    if (attribute.has_g()) complete(*attribute.mutable_g());
  }
}

void TextReader::complete(onnx::TensorProto& initializer) {
  pack_sub_byte(initializer);
  if (next_fill_ == fills_.size() || fills_[next_fill_].name != initializer.name() ||
      !has_no_data(initializer)) {
    return;
  }
  const TextFill& rule = fills_[next_fill_++];
  try {
    filled_elements_ +=
        fill(initializer, *rule.rule, rule.arguments, kMaxFilledElements - filled_elements_);
  } catch (const Error& error) {
    throw text_error(given_, rule.begin, error.what());
  }
}

}  // namespace

onnx::ModelProto text_to_proto(std::string_view text) { return TextReader(text).read(); }

}  // namespace onward
