#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "train/report.h"

namespace onward {

ProgressBar::ProgressBar() : is_terminal_(::isatty(STDERR_FILENO) != 0), last_(Clock::now()) {}

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
  constexpr int kWidth = 24;
  const int filled = percent * kWidth / 100;
  // Back to the first column, and away with what is left of a longer line.
  fmt::print(stderr, "\r{} [{:=<{}}{: <{}}] {:3} %  {}\x1b[K", label, "", filled, "",
             kWidth - filled, percent, text);
  std::fflush(stderr);
  is_drawn_ = true;
}

void ProgressBar::clear() {
  if (is_drawn_) fmt::print(stderr, "\r\x1b[K");
  is_drawn_ = false;
}

}  // namespace onward
