#include "onward/log.h"

#include <mutex>

#include "api/data.h"

namespace onward::api {
namespace {

struct Listener {
  std::recursive_mutex mutex;  // a callback may set another one
  LogCallback callback;
};

Listener& listener() {
  static Listener one;
  return one;
}

}  // namespace

void set_log_callback(LogCallback callback) {
  const std::scoped_lock lock(listener().mutex);
  listener().callback = std::move(callback);
}

void log(LogLevel level, std::string_view message) {
  const std::scoped_lock lock(listener().mutex);
  if (const LogCallback callback = listener().callback) callback(level, message);
}

}  // namespace onward::api
