// Files appear whole or not at all, also where the power goes: what a name leads to is on the disk
// before it has that name.

#include "format/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>

#include "format/load.h"
#include "format/save.h"
#include "tests/temporary_folder.h"

namespace {

std::vector<std::string> calls;

std::string name_of(const std::string& file) {
  const std::string name = std::filesystem::path(file).filename().string();
  // ".model.onnx.Ab12Cd" is model.onnx while it is unfinished.
  return name.starts_with('.') ? "unfinished " + name.substr(1, name.size() - 8) : name;
}

}  // namespace

// These take the place of the C library's in this program.
extern "C" int fsync(int descriptor) {
  const auto link = "/proc/self/fd/" + std::to_string(descriptor);
  calls.push_back("sync " + name_of(std::filesystem::read_symlink(link)));
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}

extern "C" int rename(const char* from, const char* to) noexcept {
  calls.push_back("rename " + name_of(from) + " to " + name_of(to));
  return static_cast<int>(::syscall(SYS_rename, from, to));
}

namespace onward {
namespace {

using Calls = std::vector<std::string>;

TEST(AtomicFileTest, AFileIsOnTheDiskBeforeItHasItsName) {
  const TemporaryFolder folder;
  calls.clear();
  write_atomically(folder.path() / "file", [](int descriptor) { write_all(descriptor, "x", 1); });
  const std::string in = folder.path().filename().string();
  EXPECT_EQ(calls, (Calls{"sync unfinished file", "rename unfinished file to file", "sync " + in}));
}

TEST(AtomicFileTest, AModelsDataIsOnTheDiskBeforeTheModel) {
  const TemporaryFolder folder;
  const Model model = parse_text(
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[1000] x) => (float[1000] y) "
      "<float[1000] w = full(1)> { y = Add(x, w) }");
  calls.clear();
  save(model, folder.path() / "model.onnx", {.external_data = true});
  const std::string in = folder.path().filename().string();
  EXPECT_EQ(calls, (Calls{"sync unfinished model.onnx.data",
                          "rename unfinished model.onnx.data to model.onnx.data", "sync " + in,
                          "sync unfinished model.onnx",
                          "rename unfinished model.onnx to model.onnx", "sync " + in}));
}

}  // namespace
}  // namespace onward
