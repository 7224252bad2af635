#pragma once

// What all public headers share.

/// Marks what libonward.so shows; all else inside it is hidden (cmake/library.cmake).
#define ONWARD_API __attribute__((visibility("default")))

namespace onward {

/// What programs call `onward::Model`, `onward::Trainer` and so on. The implementation has types of
/// the same names in `onward` itself, and sees these as `api::Model`.
namespace api {}

#ifndef ONWARD_IMPLEMENTATION
using namespace api;
#endif

}  // namespace onward
