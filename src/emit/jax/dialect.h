#pragma once

#include "emit/dialect.h"

namespace onward::emit::jax {

// calls.cpp
std::span<const CallRow> calls();

const Dialect& dialect();

}  // namespace onward::emit::jax
