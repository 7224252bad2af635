#include "cli/show.h"

#include <fmt/format.h>
#include <unistd.h>

#include <limits>
#include <memory>

#include "cli/commands.h"
#include "format/load.h"
#include "infer/infer.h"
#include "ir/utf8.h"
#include "recipe/recipe.h"

namespace onward::cli {
namespace {

using Json = nlohmann::ordered_json;

struct ShowArguments {
  std::string model;
  bool json = false;
  bool full = false;
};

/// A terminal shows the beginning of a long list; a pipe, a file and --full get all of it.
class Printer {
 public:
  explicit Printer(bool full)
      : most_(full || ::isatty(STDOUT_FILENO) == 0 ? std::numeric_limits<size_t>::max() : 20) {}

  void heading(const std::string& text) { fmt::print("\n{}\n", text); }

  /// Rows of columns, each column as wide as its widest cell.
  void table(const std::vector<std::vector<std::string>>& rows) {
    const size_t shown = std::min(rows.size(), most_);
    std::vector<size_t> widths;
    for (size_t r = 0; r < shown; ++r) {
      widths.resize(std::max(widths.size(), rows[r].size()));
      for (size_t c = 0; c < rows[r].size(); ++c) {
        widths[c] = std::max(widths[c], rows[r][c].size());
      }
    }
    for (size_t r = 0; r < shown; ++r) {
      std::string line = " ";
      for (size_t c = 0; c < rows[r].size(); ++c) {
        line += fmt::format(" {:<{}} ", rows[r][c], c + 1 < rows[r].size() ? widths[c] : 0);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      fmt::print("{}\n", printable(line));
    }
    say_rest(rows.size() - shown, "rows");
  }

  void text(const std::string& text) {
    size_t lines = 0;
    size_t begin = 0;
    while (begin < text.size()) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      if (lines++ < 2 * std::min(most_, text.size())) {
        fmt::print("    {}\n", printable(text.substr(begin, end - begin)));
      }
      begin = end + 1;
    }
    if (most_ < lines / 2) say_rest(lines - 2 * most_, "lines");
  }

 private:
  static void say_rest(size_t rest, std::string_view what) {
    if (rest > 0) fmt::print("  ... and {} more {} (--full shows all)\n", rest, what);
  }

  size_t most_;
};

std::string human_size(int64_t bytes) {
  constexpr std::string_view kUnits[] = {"B", "KB", "MB", "GB", "TB"};
  size_t unit = 0;
  double size = static_cast<double>(bytes);
  while (size >= 1000 && unit + 1 < std::size(kUnits)) {
    size /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", size, kUnits[unit]);
}

std::string text_of(const Json& json) {
  return json.is_string() ? json.get<std::string>() : json.dump();
}

void print_values(Printer& out, const std::string& title, const Json& values) {
  if (values.empty()) return;
  out.heading(title);
  std::vector<std::vector<std::string>> rows;
  for (const Json& value : values) rows.push_back({value["name"], value["type"]});
  out.table(rows);
}

void print_initializers(Printer& out, const std::string& title, const Json& initializers) {
  if (initializers.empty()) return;
  int64_t total = 0;
  std::vector<std::vector<std::string>> rows;
  for (const Json& each : initializers) {
    total += each["bytes"].get<int64_t>();
    rows.push_back({each["name"], each["type"], human_size(each["bytes"]),
                    each.contains("value") ? "= " + text_of(each["value"]) : "", each["reason"]});
  }
  out.heading(fmt::format("{} ({} tensor{}, {})", title, rows.size(), rows.size() == 1 ? "" : "s",
                          human_size(total)));
  out.table(rows);
}

void print_bindings(Printer& out, const std::string& title, const Json& bindings) {
  if (bindings.empty()) return;
  fmt::print("  {}\n", title);
  std::vector<std::vector<std::string>> rows;
  for (const Json& binding : bindings) {
    rows.push_back({"", binding["target"], "<- " + binding["source"].get<std::string>()});
  }
  out.table(rows);
}

void print_optimizer(const Json& optimizer) {
  std::string line = fmt::format("{} '{}': R = {}, T = {}", optimizer["op"].get<std::string>(),
                                 optimizer["node"].get<std::string>(), text_of(optimizer["R"]),
                                 text_of(optimizer["T"]));
  if (optimizer.contains("attributes")) {
    for (const auto& [name, value] : optimizer["attributes"].items()) {
      line += fmt::format(", {} = {}", name, text_of(value));
    }
  }
  std::vector<std::string> names;
  for (const Json& name : optimizer["updates"]) names.push_back(name);
  constexpr size_t kShown = 6;
  const size_t rest = names.size() > kShown ? names.size() - kShown : 0;
  names.resize(names.size() - rest);
  line += fmt::format("; updates {}{}", fmt::join(names, ", "),
                      rest ? fmt::format(" and {} more", rest) : "");
  fmt::print("  optimizer  {}\n", printable(line));
}

/// "adam as in PyTorch: lr = 0.001, beta1 = 0.9"
std::string recipe_text(const Json& recipe) {
  const std::string formula = recipe["formula"];
  const std::string_view framework = formula == "torch"   ? "PyTorch"
                                     : formula == "keras" ? "Keras"
                                                          : "ONNX";
  std::vector<std::string> settings;
  for (const auto& [name, value] : recipe["settings"].items()) {
    settings.push_back(fmt::format("{} = {}", name, text_of(value)));
  }
  return fmt::format("{} as in {}: {}", recipe["optimizer"].get<std::string>(), framework,
                     fmt::join(settings, ", "));
}

/// "a = 1, b = 2"
std::string settings_text(const Json& settings) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : settings.items()) {
    if (name != "name") parts.push_back(fmt::format("{} = {}", name, text_of(value)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// What is done to rates and gradients, and for some parameters only.
void print_more_of(const Json& recipe) {
  if (recipe.contains("schedule")) {
    fmt::print("  schedule   {}: {}\n", recipe["schedule"]["name"].get<std::string>(),
               settings_text(recipe["schedule"]));
  }
  if (recipe.contains("clipping")) {
    fmt::print("  gradients  clipped: {}\n", settings_text(recipe["clipping"]));
  }
  if (recipe.contains("ema")) {
    fmt::print("  averages   of each parameter: ema = {}\n", text_of(recipe["ema"]));
  }
  if (recipe.contains("groups")) {
    for (const auto& [pattern, settings] : recipe["groups"].items()) {
      fmt::print("  group      {}: {}\n", printable(pattern), settings_text(settings));
    }
  }
  if (recipe.contains("decay_biases")) {
    fmt::print("  group      biases and scales of normalizations: weight_decay = 0\n");
  }
}

void print_training_info(Printer& out, const Json& info, size_t index) {
  out.heading(fmt::format("training info {} (one training step)", index));
  const Json& recipe = info["recipe"];
  const bool has_named_loss = !recipe.is_null() && recipe["loss"] != kCustomLoss;
  for (const Json& loss : info["losses"]) {
    std::string kind;
    if (has_named_loss) {
      kind = fmt::format("{}, {}", text_of(recipe["loss"]), text_of(recipe["reduction"]));
      if (recipe.contains("loss_settings")) kind += ", " + settings_text(recipe["loss_settings"]);
      kind = fmt::format(" ({})", kind);
    }
    fmt::print("  loss       {}{}\n", printable(loss.get<std::string>()), kind);
  }
  if (!info["gradients"].empty()) {
    std::vector<std::vector<std::string>> rows;
    for (const Json& each : info["gradients"]) {
      rows.push_back({"", each["gradient"],
                      fmt::format("= d {} / d {}", each["of"].get<std::string>(),
                                  each["by"].get<std::string>())});
    }
    fmt::print("  gradients\n");
    out.table(rows);
  }
  for (const Json& optimizer : info["optimizers"]) print_optimizer(optimizer);
  if (info["optimizers"].empty() && !info["gradients"].empty()) {
    fmt::print("  optimizer  {}\n", recipe.is_null()
                                        ? "custom, written in the operators of the step below"
                                        : recipe_text(recipe));
  }
  if (!recipe.is_null()) print_more_of(recipe);
  print_bindings(out, "after the step", info["update_bindings"]);
  print_bindings(out, "initialization", info["initialization_bindings"]);
  if (info["initialization"].is_string()) {
    fmt::print("  initialization graph\n");
    out.text(info["initialization"]);
  }
  if (info["algorithm"].is_string()) {
    fmt::print("  step\n");
    out.text(info["algorithm"]);
  }
}

void print_text(const ShowArguments& options, const Json& json) {
  Printer out(options.full);
  std::string opsets;
  if (json.contains("opsets")) {
    for (const auto& [domain, version] : json["opsets"].items()) {
      opsets += fmt::format(", {} {}", domain, version.get<int64_t>());
    }
  }
  fmt::print("{}: '{}', IR version {}{}\n", options.model,
             printable(json["name"].get<std::string>()), json["ir_version"].get<int64_t>(),
             printable(opsets));
  if (json["form"] != "standard") fmt::print("form: {}\n", json["form"].get<std::string>());
  const std::string producer = json["producer"];
  if (!producer.empty()) fmt::print("producer: {}\n", printable(producer));
  print_values(out, "inputs", json["inputs"]);
  print_values(out, "outputs", json["outputs"]);
  print_initializers(out, "parameters", json["parameters"]);
  print_initializers(out, "other state", json["state"]);
  print_initializers(out, "constants", json["constants"]);
  for (size_t i = 0; i < json["training"].size(); ++i) {
    print_training_info(out, json["training"][i], i);
  }
  out.heading("operators");
  std::vector<std::vector<std::string>> rows;
  for (const Json& each : json["operators"]) {
    const std::string domain = each["domain"];
    rows.push_back({each["op"], std::to_string(each["count"].get<int>()), domain});
  }
  out.table(rows);
}

void run_show(const ShowArguments& options) {
  Model model = load(options.model);
  Problems ignored;  // `check` reports them; what is known of the types is shown
  infer_types(model, ignored);
  const Json json = describe(model);
  if (options.json) {
    fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    print_text(options, json);
  }
}

}  // namespace

void add_show(CommandLine& line) {
  auto options = std::make_shared<ShowArguments>();
  Command command =
      line.command("show", "Show what is in a model: parameters, state, loss, optimizer");
  command.positional("MODEL", &options->model, "an .onnx or .onnxtxt file").required();
  command.flag("--json", &options->json, "print the description as JSON");
  command.flag("--full", &options->full, "do not shorten long lists");
  command.footer("Example: onward show model.onnx");
  command.run([options] { run_show(*options); });
}

}  // namespace onward::cli
