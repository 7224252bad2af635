#pragma once

#include <cstddef>
#include <functional>

namespace onward {

/// How many allocations by `new` of at least so many bytes a call makes.
int large_allocations(size_t bytes, const std::function<void()>& call);

}  // namespace onward
