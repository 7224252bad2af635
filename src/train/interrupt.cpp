#include "train/interrupt.h"

#include <csignal>

namespace onward {
namespace {

volatile std::sig_atomic_t interrupted = 0;

constexpr int kSignals[] = {SIGINT, SIGTERM};

void note(int /*signal*/) {
  interrupted = 1;
  for (const int each : kSignals) std::signal(each, SIG_DFL);  // the next one ends the program
}

struct sigaction before[2];

}  // namespace

Interrupt::Interrupt() {
  interrupted = 0;
  struct sigaction action{};
  action.sa_handler = note;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (int i = 0; i < 2; ++i) {
    sigaction(kSignals[i], &action, &before[i]);
    // Who started us with the signal ignored (nohup) wants it so.
    if (before[i].sa_handler == SIG_IGN) sigaction(kSignals[i], &before[i], nullptr);
  }
}

Interrupt::~Interrupt() {
  for (int i = 0; i < 2; ++i) sigaction(kSignals[i], &before[i], nullptr);
}

bool Interrupt::requested() { return interrupted != 0; }

}  // namespace onward
