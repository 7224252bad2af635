#include "api/c_handles.h"

namespace onward::api {
namespace {

thread_local std::string last_error;

onward_status remember(const char* message, onward_status status) noexcept {
  try {
    last_error = message;
  } catch (...) {
    last_error.clear();
  }
  return status;
}

onward_status status_of(ErrorCode code) {
  return code == ErrorCode::unspecified ? ONWARD_INVALID_ARGUMENT
                                        : static_cast<onward_status>(code);
}
static_assert(static_cast<int>(ErrorCode::data) == ONWARD_DATA);
static_assert(static_cast<int>(ErrorCode::file) == ONWARD_FILE);
static_assert(static_cast<int>(ErrorCode::unsupported) == ONWARD_UNSUPPORTED);

}  // namespace

onward_status reported(const std::function<void()>& work) {
  try {
    work();
    return ONWARD_OK;
  } catch (const Error& error) {
    return remember(error.what(), status_of(error.code()));
  } catch (const std::bad_alloc&) {
    return remember("out of memory", ONWARD_OUT_OF_MEMORY);
  } catch (const std::exception& bug) {
    return remember(bug.what(), ONWARD_BUG);
  } catch (...) {
    return remember("something was thrown that is no exception", ONWARD_BUG);
  }
}

void require_given(const void* pointer, const char* name) {
  if (pointer) return;
  throw Error(std::string(name) + " is NULL", ErrorCode::invalid_argument);
}

}  // namespace onward::api

using namespace onward::api;

const char* onward_last_error(void) { return last_error.c_str(); }
const char* onward_version(void) { return onward::kVersion.data(); }

void onward_set_log_callback(onward_log_callback callback, void* user_data) {
  if (!callback) return set_log_callback({});
  set_log_callback([callback, user_data](LogLevel level, std::string_view message) {
    callback(static_cast<onward_log_level>(level), std::string(message).c_str(), user_data);
  });
}
