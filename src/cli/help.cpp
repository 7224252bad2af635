#include <fmt/format.h>

#include "cli/commands.h"

namespace onward::cli {

void add_help(CommandLine& line) {
  Command command = line.command("help", "Show help for a command");
  const auto about = std::make_shared<std::string>();
  command.positional("COMMAND", about.get(), "the command; without it, all are listed");
  command.footer("Example:\n  onward help train");
  command.run([&line, about] { fmt::print("{}", line.help(*about)); });
}

}  // namespace onward::cli
