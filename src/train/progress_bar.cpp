#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "train/report.h"

namespace onward {

namespace {

/// Whether lines can be redrawn: a terminal, and not one that calls itself dumb (as Emacs's shell).
bool can_redraw() {
  const char* kind = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) != 0 && (!kind || std::string_view(kind) != "dumb");
}

/// Asked anew for each drawing, since windows change their size.
size_t terminal_width() {
  winsize size{};
  constexpr size_t kUsual = 80;
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

/// One line that fits: "epoch 1/4 [=====     ]  50 %  loss 0.3".
std::string fitted_line(int percent, const std::string& label, const std::string& text,
                        size_t width) {
  constexpr size_t kWidest = 24, kNarrowest = 8;
  const std::string before = label + " ", after = fmt::format("{:3} %  {}", percent, text);
  const size_t taken = before.size() + after.size() + 3;  // the brackets, and a space behind them
  const size_t room = width > taken ? std::min(width - taken, kWidest) : 0;
  std::string line = before;
  if (room >= kNarrowest) {
    const size_t filled = static_cast<size_t>(percent) * room / 100;
    line += fmt::format("[{:=<{}}{: <{}}] ", "", filled, "", room - filled);
  }
  line += after;
  return line.substr(0, width);
}

}  // namespace

ProgressBar::ProgressBar() : is_terminal_(can_redraw()), last_(Clock::now()) {}

void ProgressBar::show(double part, const std::string& label, const std::string& text) {
  using namespace std::chrono_literals;
  const auto now = Clock::now();
  if (now - last_ < (is_terminal_ ? Clock::duration(100ms) : Clock::duration(10s))) return;
  last_ = now;
  const int percent = static_cast<int>(std::clamp(part, 0.0, 1.0) * 100);
  if (!is_terminal_) {
    fmt::print(stderr, "{} {:3} %  {}\n", label, percent, text);
    return;
  }
  // Back to the first column, and away with what is left of a longer line. The last column stays
  // free: some terminals wrap once it is written.
  fmt::print(stderr, "\r{}\x1b[K", fitted_line(percent, label, text, terminal_width() - 1));
  std::fflush(stderr);
  is_drawn_ = true;
}

void ProgressBar::clear() {
  if (is_drawn_) fmt::print(stderr, "\r\x1b[K");
  is_drawn_ = false;
}

}  // namespace onward
