#pragma once

#include <filesystem>
#include <functional>

namespace onward {

/// Writes a file so that it appears whole or not at all: `write` gets the descriptor of a new file
/// in the same folder, which is then synced and renamed. Where `write` throws or the disk is full,
/// the new file is removed and an existing one stays as it was. A device or pipe is written to
/// directly.
void write_atomically(const std::filesystem::path& file,
                      const std::function<void(int descriptor)>& write);

/// Throws Error where write_atomically could not even begin: no folder, none that can be written
/// in, a folder in the file's place. Leaves nothing behind, and an existing file as it is: for what
/// is to be written in the end of long work.
void require_writable(const std::filesystem::path& file);

/// Writes all bytes to a descriptor; throws Error where the system refuses some.
void write_all(int descriptor, const void* bytes, size_t count);

}  // namespace onward
