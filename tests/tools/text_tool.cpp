// Prints every model of a folder as text, reads the text and prints it again, for the Python tests:
//
//   text_tool IN
//
// Prints one line of JSON a file: {"file": ..., "equal": ..., "error": ...}.

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "format/load.h"
#include "onward/error.h"
#include "text/text.h"

int main(int argc, char** argv) {
  using onward::PrintOptions;
  if (argc != 2) return 2;
  constexpr PrintOptions kAll{.max_elements = PrintOptions::kAllElements};
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    nlohmann::json line = {{"file", entry.path().filename().string()}};
    try {
      const std::string text = to_text(onward::load(entry.path()), kAll);
      line["equal"] = to_text(onward::parse_text(text), kAll) == text;
    } catch (const onward::Error& error) {
      line["error"] = error.what();
    }
    fmt::print("{}\n", line.dump());
  }
}
