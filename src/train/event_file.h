#pragma once

#include <optional>
#include <span>
#include <string>

#include "train/appended_file.h"
#include "train/report.h"

namespace onward {

/// A new file of events in a folder, as TensorBoard reads them: records with checksums, each with
/// an Event message of protobuf.
class EventFile {
 public:
  /// The file comes after all that are there. With `restart`, points of those from that step on no
  /// longer count.
  explicit EventFile(const std::filesystem::path& folder,
                     std::optional<uint64_t> restart = std::nullopt);

  void add(uint64_t step, const NamedValues& values);

 private:
  AppendedFile file_;
};

/// CRC-32C, of Castagnoli.
uint32_t crc32c(std::string_view bytes);

/// The bytes with their length before them, and a checksum of either.
std::string event_record(std::string_view bytes);

}  // namespace onward
