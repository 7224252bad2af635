#include "data/npz.h"

#include <fmt/format.h>

#include "data/npy.h"
#include "data/zip.h"
#include "format/atomic_file.h"
#include "ir/utf8.h"
#include "onward/error.h"
#include "proto/external_data.h"

namespace onward {
namespace {

constexpr std::string_view kSuffix = ".npy";

}  // namespace

Arrays parse_npz(std::span<const std::byte> archive, const std::shared_ptr<const void>& owner) {
  Arrays arrays;
  for (const ZipEntry& entry : zip_entries(archive)) {
    try {
      if (!entry.name.ends_with(kSuffix)) throw Error("it is not an .npy array");
      const ZipBytes content = read_zip_entry(archive, entry);
      const std::string name = entry.name.substr(0, entry.name.size() - kSuffix.size());
      if (arrays.contains(name)) throw Error("two arrays have this name");
      arrays.emplace(name, parse_npy(content.bytes, content.owner ? content.owner : owner));
    } catch (Error& error) {
      error.add_context(fmt::format("in entry '{}'", printable(entry.name)));
      throw;
    }
  }
  return arrays;
}

Arrays read_npz(const std::filesystem::path& file) {
  try {
    const auto mapped = std::make_shared<const MappedFile>(file);
    return parse_npz(mapped->bytes(), mapped);
  } catch (Error& error) {
    error.add_context(fmt::format("in '{}'", file.string()));
    throw;
  }
}

void write_npz(const Arrays& arrays, const std::filesystem::path& file, bool compressed) {
  write_atomically(file, [&](int descriptor) {
    ZipWriter writer(descriptor);
    for (const auto& [name, tensor] : arrays) {
      const NpyFile npy(tensor);
      writer.add(name + std::string(kSuffix), {npy.header(), npy.elements()}, compressed);
    }
    writer.finish();
  });
}

}  // namespace onward
