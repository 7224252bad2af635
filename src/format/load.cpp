#include "format/load.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <onnx/onnx_pb.h>

#include <limits>

#include "format/foreign_file.h"
#include "onward/error.h"
#include "proto/external_data.h"
#include "text/text.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

// A graph in a graph takes four levels of messages: 64 nested subgraphs fit, a hostile thousand
// not.
constexpr int kDeepestMessage = 300;

onnx::ModelProto parse(std::span<const std::byte> bytes) {
  if (bytes.size() > std::numeric_limits<int>::max()) {
    throw Error(
        "it is larger than 2 GB, the limit of protobuf: store its tensors as external data");
  }
  if (bytes.empty()) throw Error("it is empty");
  onnx::ModelProto proto;
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(kDeepestMessage);
  if (!proto.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    throw Error("it is not an ONNX model, or damaged, truncated or nested too deeply");
  }
  return proto;
}

std::string read_text(const fs::path& file) {
  const MappedFile mapped(file);
  return {reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size()};
}

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

}  // namespace

Model parse_text(std::string_view text, const LoadOptions& options) {
  return build_model(text_to_proto(text), options);
}

Model load(const fs::path& file, const LoadOptions& options) {
  try {
    if (const auto reason = foreign_format(file))
      throw Error("it is not an ONNX model: " + *reason);
    if (file.extension() == ".onnxtxt") return parse_text(read_text(file), options);
    onnx::ModelProto proto = parse(MappedFile(file).bytes());
    return build_model(std::move(proto), options, folder_of(file));
  } catch (Error& error) {
    error.add_context(fmt::format("in model '{}'", file.string()));
    throw;
  }
}

Model load_bytes(std::string bytes, const LoadOptions& options, const fs::path& folder) {
  return build_model(parse(std::as_bytes(std::span(bytes))), options, folder);
}

}  // namespace onward
