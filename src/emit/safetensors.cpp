#include "emit/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "format/atomic_file.h"
#include "onward/error.h"
#include "proto/external_data.h"
#include "proto/mapped_tensors.h"

namespace onward::emit {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

struct DTypeWord {
  DType dtype;
  std::string_view word;
};

constexpr DTypeWord kWords[] = {
    {DType::f64, "F64"},        {DType::f32, "F32"},
    {DType::f16, "F16"},        {DType::bf16, "BF16"},
    {DType::i64, "I64"},        {DType::i32, "I32"},
    {DType::i16, "I16"},        {DType::i8, "I8"},
    {DType::u64, "U64"},        {DType::u32, "U32"},
    {DType::u16, "U16"},        {DType::u8, "U8"},
    {DType::boolean, "BOOL"},   {DType::f8e4m3fn, "F8_E4M3"},
    {DType::f8e5m2, "F8_E5M2"},
};

/// The key that the format keeps for itself.
constexpr const char* kMetadata = "__metadata__";

/// What the format's own reader refuses to go beyond.
constexpr uint64_t kLongestHeader = 100'000'000;

std::string_view word_of(const std::string& name, DType dtype) {
  const auto* found = std::ranges::find(kWords, dtype, &DTypeWord::dtype);
  if (found != std::end(kWords)) return found->word;
  throw Error(fmt::format("tensor '{}': safetensors has no elements of type {}", name,
                          onward::name(dtype)));
}

/// One entry of the header, checked against the data.
Tensor read_tensor(const nlohmann::json& entry, std::span<const std::byte> data,
                   const std::shared_ptr<const MappedFile>& file) {
  const auto& word = entry.at("dtype").get_ref<const std::string&>();
  const auto* dtype = std::ranges::find(kWords, word, &DTypeWord::word);
  if (dtype == std::end(kWords)) throw Error(fmt::format("elements of type {}", word));
  const auto dims = entry.at("shape").get<std::vector<uint64_t>>();
  std::vector<int64_t> shape;
  for (const uint64_t dim : dims) {
    if (dim > uint64_t{1} << 62) throw Error(fmt::format("a dimension of {}", dim));
    shape.push_back(static_cast<int64_t>(dim));
  }
  const auto offsets = entry.at("data_offsets").get<std::array<uint64_t, 2>>();
  if (offsets[0] > offsets[1] || offsets[1] > data.size()) {
    throw Error(
        fmt::format("its data, from {} to {}, lies outside of the file", offsets[0], offsets[1]));
  }
  return Tensor::view(dtype->dtype, std::move(shape),
                      data.subspan(offsets[0], offsets[1] - offsets[0]), file);
}

Safetensors parse(const std::filesystem::path& path) {
  const auto file = std::make_shared<const MappedFile>(path);
  const auto bytes = file->bytes();
  uint64_t length = 0;
  if (bytes.size() < sizeof length) throw Error("it is too short to be a safetensors file");
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > kLongestHeader || length > bytes.size() - sizeof length) {
    throw Error(fmt::format("its header of {} bytes does not fit the file", length));
  }
  const auto* text = reinterpret_cast<const char*>(bytes.data()) + sizeof length;
  const nlohmann::json header = nlohmann::json::parse(text, text + length);
  const auto data = bytes.subspan(sizeof length + length);
  Safetensors result;
  for (const auto& [name, entry] : header.items()) {
    if (name == kMetadata) {
      for (const auto& [key, value] : entry.items()) {
        result.metadata.emplace(key, value.get<std::string>());
      }
      continue;
    }
    try {
      result.tensors.emplace(name, read_tensor(entry, data, file));
    } catch (Error& error) {
      throw error.add_context(fmt::format("tensor '{}'", name));
    }
  }
  return result;
}

}  // namespace

void write_safetensors(const std::filesystem::path& file, const NamedTensors& tensors,
                       const std::map<std::string, std::string>& metadata) {
  // Wide elements first, so that everything is aligned.
  std::vector<const std::pair<std::string, Tensor>*> order;
  for (const auto& each : tensors) order.push_back(&each);
  std::ranges::sort(order, {}, [&](const auto* each) {
    return std::pair(-bits(each->second.dtype()), each - tensors.data());
  });
  nlohmann::ordered_json header;
  if (!metadata.empty()) header[kMetadata] = metadata;
  size_t offset = 0;
  for (const auto* each : order) {
    const auto& [name, tensor] = *each;
    if (name == kMetadata || header.contains(name)) {
      throw Error(fmt::format("a file of safetensors can't hold {} tensor '{}'",
                              name == kMetadata ? "a" : "a second", name));
    }
    header[name] = {{"dtype", word_of(name, tensor.dtype())},
                    {"shape", tensor.dims()},
                    {"data_offsets", {offset, offset + tensor.bytes().size()}}};
    offset += tensor.bytes().size();
  }
  std::string text = header.is_null() ? "{}" : header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  write_atomically(file, [&](int descriptor) {
    write_all(descriptor, &length, sizeof length);
    write_all(descriptor, text.data(), text.size());
    for (const auto* each : order) {
      const Tensor tensor = in_memory(each->second);
      write_all(descriptor, tensor.bytes().data(), tensor.bytes().size());
    }
  });
}

Safetensors read_safetensors(const std::filesystem::path& file) {
  try {
    return parse(file);
  } catch (Error& error) {
    throw error.add_context(fmt::format("in file '{}'", file.string()));
  } catch (const nlohmann::json::exception& error) {
    throw Error(fmt::format("its header is damaged: {}", error.what()))
        .add_context(fmt::format("in file '{}'", file.string()));
  }
}

}  // namespace onward::emit
