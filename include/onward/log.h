#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "onward/api.h"

namespace onward::api {

enum class LogLevel : uint8_t { info = 0, warning = 1 };

using LogCallback = std::function<void(LogLevel level, std::string_view message)>;

/// Sets who is told what a caller should know beside a result: what `prepare` decided, what a
/// lowered step can't repeat. The library itself prints nothing. One for the process; it may be
/// called from any thread, one call at a time. An empty one ends it.
ONWARD_API void set_log_callback(LogCallback callback);

}  // namespace onward::api
