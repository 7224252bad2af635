#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "ir/model.h"

namespace onward {

struct SaveOptions {
  /// Put the data of initializers of at least 1 KB into a file beside the model. Done in any case
  /// where the model would pass protobuf's limit of 2 GB.
  bool external_data = false;
  /// Patch the message that the model was read from, where it has one and its structure is
  /// unchanged.
  bool use_source = true;
  /// Is given the model's file when all is written to it but before it is synced.
  std::function<void(int descriptor)> finish;
};

/// Writes a model. The file appears whole or not at all: it is written under another name, synced
/// and renamed; external data goes to a file of a fresh name first.
void save(const Model& model, const std::filesystem::path& file, const SaveOptions& options = {});

/// The bytes of the model's file, all data inside.
std::string to_bytes(const Model& model, const SaveOptions& options = {});

}  // namespace onward
