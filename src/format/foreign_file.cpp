#include "format/foreign_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

namespace onward {
namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;

/// Enough for what a file begins with; the list of an archive's files is at its end.
constexpr std::streamoff kBeginning = 512, kEnd = 64 * 1024;

struct FilePart {
  std::string beginning, end;
};

FilePart read_ends(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  if (!stream) return {};
  const std::streamoff size = stream.tellg();
  const auto part = [&](std::streamoff from, std::streamoff length) {
    std::string bytes(static_cast<size_t>(std::max<std::streamoff>(length, 0)), '\0');
    stream.seekg(from);
    stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return stream ? bytes : std::string();
  };
  FilePart made;
  made.beginning = part(0, std::min(size, kBeginning));
  made.end = part(std::max<std::streamoff>(0, size - kEnd), std::min(size, kEnd));
  return made;
}

std::string keras_hint(std::string_view what, const fs::path& file) {
  return fmt::format(
      "it is {}; in Python, onward.keras.export(\"{}\", \"model.onnx\") converts it to an ONNX "
      "training model",
      what, file.string());
}

constexpr std::string_view kSavedModel =
    "it is a TensorFlow SavedModel, which has no layers; in Python, "
    "onward.keras.export(model, \"model.onnx\") converts the compiled Keras model that it was "
    "saved "
    "from";

constexpr std::string_view kTorch =
    "it is a PyTorch file, which contains tensors but no network; in Python, "
    "onward.torch.export(module, loss, optimizer, (inputs,)) converts the module that it belongs "
    "to";

}  // namespace

std::optional<std::string> foreign_format(const fs::path& file) {
  std::error_code failure;
  if (fs::is_directory(file, failure)) {
    if (fs::exists(file / "saved_model.pb", failure)) return std::string(kSavedModel);
    return std::nullopt;
  }
  if (file.filename() == "saved_model.pb") return std::string(kSavedModel);
  if (!fs::is_regular_file(file, failure)) return std::nullopt;
  const auto [beginning, end] = read_ends(file);
  if (beginning.starts_with("\x89HDF\r\n\x1a\n"sv)) {
    return keras_hint("an HDF5 file, as Keras writes models and weights", file);
  }
  if (beginning.starts_with("PK\x03\x04"sv)) {
    const auto holds = [&](std::string_view name) { return end.find(name) != std::string::npos; };
    if (holds("model.weights.h5")) return keras_hint("a Keras model", file);
    if (holds("/data.pkl") || holds("serialized_weights")) return std::string(kTorch);
    if (holds(".npy")) return "it is an archive of NumPy arrays";
    return "it is a ZIP archive";
  }
  // A pickle of protocol 2, as PyTorch wrote before its archives.
  if (beginning.starts_with("\x80\x02"sv) && file.extension() != ".onnx") {
    return std::string(kTorch);
  }
  if (beginning.size() >= 8 && beginning.substr(4, 4) == "TFL3") {
    return "it is a LiteRT (TensorFlow Lite) model, which is for inference only";
  }
  if (beginning.size() > 8 && beginning[8] == '{' && file.extension() == ".safetensors") {
    return "it is a safetensors file; `onward import-weights` reads those of an exported model "
           "back";
  }
  return std::nullopt;
}

}  // namespace onward
