#include "onward/version.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <thread>

#include "cli/build_info.h"
#include "cli/commands.h"
#include "runtime/libraries.h"

namespace onward::cli {

void add_version(CommandLine& line) {
  Command command = line.command("version", "Show the version, and what the program is made of");
  command.footer("Example:\n  onward version");
  command.run([] {
    fmt::print("onward {}{}\n", kVersion,
               commit().empty() ? "" : fmt::format(", commit {}", commit()));
    std::vector<std::string> parts;
    for (const auto& [name, version] : libraries()) parts.push_back(name + " " + version);
    fmt::print("libraries: {}\n", fmt::join(parts, ", "));
    const std::vector<std::string> features = processor_features();
    fmt::print("processor: {} threads, {}\n", std::thread::hardware_concurrency(),
               features.empty() ? "none of avx2, fma, avx512f"
                                : fmt::format("{}", fmt::join(features, ", ")));
  });
}

}  // namespace onward::cli
