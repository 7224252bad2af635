#pragma once

// What the handles of the C interface hold, and how its functions report what is thrown.

#include <functional>
#include <new>
#include <string>

#include "onward/onward.h"
#include "onward/onward_c.h"

struct onward_tensors {
  onward::api::Tensors tensors;
};

struct onward_model {
  onward::api::Model model;
};

struct onward_trainer {
  onward::api::Trainer trainer;
};

struct onward_dataset {
  onward::api::Dataset dataset;
};

namespace onward::api {

/// Does the work and gives the status; what is thrown becomes the thread's last error.
onward_status reported(const std::function<void()>& work);

/// Throws Error where a pointer that must not be is null.
void require_given(const void* pointer, const char* name);

/// Gives the caller a handle of its own; `*place` is null where making it throws.
template <typename Handle, typename Make>
onward_status give(Handle** place, Make make) {
  if (place) *place = nullptr;
  return reported([&] {
    require_given(place, "the pointer to the result");
    *place = new Handle{make()};
  });
}

}  // namespace onward::api
