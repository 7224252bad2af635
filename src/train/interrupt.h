#pragma once

namespace onward {

/// While it lives, Ctrl-C (and a request to terminate) is only noted, so that what runs can end in
/// good order; a second one ends the program at once.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  static bool requested();
};

}  // namespace onward
