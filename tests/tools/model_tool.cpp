// Does one thing with every model of a folder, for the Python tests: thousands of files in one
// process.
//
//   model_tool round-trip IN OUT   load each IN/*.onnx and save it twice, OUT/patched/*.onnx by way
//   of
//                                  the kept message and OUT/rebuilt/*.onnx from the IR alone
//   model_tool check IN            check each, and print the problems
//   model_tool upgrade IN OUT N    write each IN/*.onnx in opset N, OUT/*.onnx
//
// Prints one line of JSON a file: {"file": ..., "error": ..., "bug": ..., "problems": [...],
// "seconds": ..., "peak_mb": ...}; the last two are what this file alone took.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "check/check.h"
#include "format/load.h"
#include "format/save.h"
#include "lower/upgrade.h"
#include "onward/error.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> models_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".onnx") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Lets the kernel's count of the peak memory start anew.
void reset_peak_memory() { std::ofstream("/proc/self/clear_refs") << "5"; }

int64_t peak_memory_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6)) / 1024;
  }
  return -1;
}

void round_trip(const fs::path& file, const fs::path& out) {
  const Model model = load(file);
  save(model, out / "patched" / file.filename());
  save(model, out / "rebuilt" / file.filename(), {.use_source = false});
}

nlohmann::json check_one(const fs::path& file) {
  auto list = nlohmann::json::array();
  const Problems problems = check_file(file);
  for (const Problem& problem : problems.list()) {
    list.push_back({{"severity", problem.severity == Severity::error ? "error" : "warning"},
                    {"rule", problem.rule},
                    {"text", to_string(problem)}});
  }
  return list;
}

void upgrade_one(const fs::path& file, const fs::path& out, int64_t opset) {
  save(upgrade(load(file), {.opset = opset}), out / file.filename());
}

int run(std::string_view what, const fs::path& in, const fs::path& out, int64_t opset) {
  if (what == "upgrade") fs::create_directories(out);
  if (what == "round-trip") {
    fs::create_directories(out / "patched");
    fs::create_directories(out / "rebuilt");
  }
  for (const fs::path& file : models_in(in)) {
    nlohmann::json line = {{"file", file.filename().string()}};
    reset_peak_memory();
    const auto begin = std::chrono::steady_clock::now();
    try {
      if (what == "round-trip") round_trip(file, out);
      if (what == "upgrade") upgrade_one(file, out, opset);
      if (what == "check") line["problems"] = check_one(file);
    } catch (const Error& error) {
      line["error"] = error.what();
    } catch (const std::exception& error) {
      line["bug"] = error.what();
    }
    line["seconds"] =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    line["peak_mb"] = peak_memory_mb();
    fmt::print("{}\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  return 0;
}

}  // namespace
}  // namespace onward

int main(int argc, char** argv) {
  if (argc < 3) return 1;
  return onward::run(argv[1], argv[2], argc > 3 ? argv[3] : "",
                     argc > 4 ? std::strtoll(argv[4], nullptr, 10) : 0);
}
