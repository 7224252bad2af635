#include "format/save.h"

#include <fmt/format.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <limits>
#include <unordered_map>

#include "format/atomic_file.h"
#include "format/save_model_proto.h"
#include "onward/error.h"
#include "proto/mapped_tensors.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

constexpr size_t kSmallestExternal = 1024;
// Protobuf's limit is 2 GB for the whole message; the rest of the model needs room too.
constexpr size_t kMaxEmbedded = size_t{1900} << 20;

size_t data_size(const UnsavedModel& model) {
  size_t total = 0;
  for (const UnsavedTensor& each : model.tensors) total += each.tensor.bytes().size();
  return total;
}

/// Lends the tensors' bytes to the message for as long as it is written: nothing is copied but what
/// lies in mapped files.
class LentBytes {
 public:
  explicit LentBytes(UnsavedModel& model) {
    for (UnsavedTensor& each : model.tensors) {
      if (each.proto->data_location() == onnx::TensorProto::EXTERNAL) continue;
      if (const auto& owned = each.tensor.owned_bytes()) {
        each.proto->set_allocated_raw_data(const_cast<std::string*>(owned.get()));
        lent_.push_back(each.proto);
      } else {
        const Tensor tensor = in_memory(each.tensor);
        each.proto->set_raw_data(tensor.bytes().data(), tensor.bytes().size());
      }
    }
  }
  ~LentBytes() {
    for (onnx::TensorProto* proto : lent_) static_cast<void>(proto->release_raw_data());
  }
  LentBytes(const LentBytes&) = delete;
  LentBytes& operator=(const LentBytes&) = delete;

 private:
  std::vector<onnx::TensorProto*> lent_;
};

void put_entry(onnx::TensorProto& proto, const std::string& key, const std::string& value) {
  auto* entry = proto.add_external_data();
  entry->set_key(key);
  entry->set_value(value);
}

/// Large tensors on pages of their own, so that another reader can map them; small ones on cache
/// lines.
int64_t aligned(int64_t offset, size_t bytes) {
  const int64_t alignment = bytes >= (size_t{1} << 20) ? 4096 : 64;
  return (offset + alignment - 1) / alignment * alignment;
}

/// A name beside `file` that nothing has yet: data that an older model refers to is never touched.
fs::path fresh_data_file(const fs::path& file) {
  fs::path candidate = file;
  candidate += ".data";
  for (int i = 1; fs::exists(fs::symlink_status(candidate)); ++i) {
    candidate = file;
    candidate += fmt::format(".{}.data", i);
  }
  return candidate;
}

void write_external_data(UnsavedModel& model, const fs::path& data_file) {
  write_atomically(data_file, [&](int descriptor) {
    const std::string padding(4096, '\0');
    int64_t end = 0;
    for (UnsavedTensor& each : model.tensors) {
      if (each.tensor.bytes().size() < kSmallestExternal) continue;
      const Tensor tensor = in_memory(each.tensor);
      const auto bytes = tensor.bytes();
      const int64_t offset = aligned(end, bytes.size());
      write_all(descriptor, padding.data(), static_cast<size_t>(offset - end));
      write_all(descriptor, bytes.data(), bytes.size());
      end = offset + static_cast<int64_t>(bytes.size());
      each.proto->set_data_location(onnx::TensorProto::EXTERNAL);
      put_entry(*each.proto, "location", data_file.filename().string());
      put_entry(*each.proto, "offset", std::to_string(offset));
      put_entry(*each.proto, "length", std::to_string(bytes.size()));
    }
  });
}

void serialize(UnsavedModel& model, int descriptor) {
  const LentBytes lent(model);
  google::protobuf::io::FileOutputStream stream(descriptor);
  const bool written = model.proto.SerializeToZeroCopyStream(&stream) && stream.Flush();
  if (!written) {
    throw Error(fmt::format("writing failed: {}", stream.GetErrno()
                                                      ? std::strerror(stream.GetErrno())
                                                      : "the model is too large"));
  }
}

}  // namespace

void save(const Model& model, const fs::path& file, const SaveOptions& options) {
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  UnsavedModel unsaved = prepare_to_save(model, options, folder);
  if (options.external_data || unsaved.had_external_data || data_size(unsaved) > kMaxEmbedded) {
    const bool any = std::any_of(
        unsaved.tensors.begin(), unsaved.tensors.end(),
        [](const auto& each) { return each.tensor.bytes().size() >= kSmallestExternal; });
    if (any) write_external_data(unsaved, fresh_data_file(file));
  }
  write_atomically(file, [&](int descriptor) {
    serialize(unsaved, descriptor);
    if (options.finish) options.finish(descriptor);
  });
}

std::string to_bytes(const Model& model, const SaveOptions& options) {
  UnsavedModel unsaved = prepare_to_save(model, options, {});
  if (data_size(unsaved) > kMaxEmbedded) {
    throw Error("the model exceeds protobuf's limit of 2 GB: save it with external data");
  }
  const LentBytes lent(unsaved);
  return unsaved.proto.SerializeAsString();
}

}  // namespace onward
