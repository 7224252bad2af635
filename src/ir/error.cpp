#include "onward/error.h"

namespace onward {

// Here, so that what a catch clause compares is in one place, which libonward.so shows.
Error::~Error() = default;
Bug::~Bug() = default;

}  // namespace onward
