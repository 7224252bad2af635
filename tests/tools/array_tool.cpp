// Reads arrays as the command line's --data does, and writes them as an .npz file:
// array_tool WHERE OUT.npz [compressed]

#include <fmt/format.h>

#include "data/dataset.h"
#include "onward/error.h"

int main(int argc, char** argv) {
  try {
    if (argc < 3) throw onward::Error("usage: array_tool WHERE OUT.npz [compressed]");
    const onward::Dataset data = onward::open_dataset(argv[1]);
    onward::write_npz(data.arrays(), argv[2], argc > 3);
    fmt::print("{} {:016x}\n", data.description(), data.fingerprint());
  } catch (const onward::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
