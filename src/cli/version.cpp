#include "onward/version.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <thread>

#include "cli/build_info.h"
#include "cli/commands.h"
#include "runtime/libraries.h"

namespace onward::cli {

void add_version(CommandLine& line) {
  Command command = line.command("version", "Show version, commit, CPU features and libraries");
  command.footer("Example:\n  onward version");
  command.run([] {
    fmt::print("onward {}{}\n", kVersion,
               commit().empty() ? "" : fmt::format(", commit {}", commit()));
    std::vector<std::string> parts;
    for (const auto& [name, version] : libraries()) parts.push_back(name + " " + version);
    fmt::print("libraries: {}\n", fmt::join(parts, ", "));
    const std::vector<std::string> features = processor_features();
    fmt::print("CPU: {} threads, {}\n", std::thread::hardware_concurrency(),
               features.empty() ? "without avx2, fma and avx512f"
                                : fmt::format("{}", fmt::join(features, ", ")));
  });
}

}  // namespace onward::cli
