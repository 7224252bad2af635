#pragma once

// Operators in functions of the names and arguments that NumPy's have: {np}.abs(x). keras.ops and
// jax.numpy share them; a dialect's own rows come before these.

#include <span>
#include <string>

#include "emit/call.h"

namespace onward::emit::numpy {

std::span<const CallRow> calls();

// elementwise.cpp
std::string cast(const Call&);
std::string clip(const Call&);
std::string div(const Call&);
std::string gemm(const Call&);
std::string is_inf(const Call&);
std::string max(const Call&);
std::string min(const Call&);
std::string mod(const Call&);
std::string pow(const Call&);
std::string where(const Call&);

// shape.cpp
std::string constant_of_shape(const Call&);
std::string expand(const Call&);
std::string flatten(const Call&);
std::string reshape(const Call&);
std::string size(const Call&);
std::string squeeze(const Call&);
std::string tile(const Call&);
std::string transpose(const Call&);
std::string unsqueeze(const Call&);

// indexing.cpp
std::string pad(const Call&);
std::string split(const Call&);

// matrix.cpp
std::string einsum(const Call&);
std::string eye_like(const Call&);
std::string trilu(const Call&);

// reduction.cpp
std::string arg_max(const Call&);
std::string arg_min(const Call&);
std::string global_average_pool(const Call&);
std::string reduce_log_sum_exp(const Call&);
std::string reduce_max(const Call&);
std::string reduce_mean(const Call&);
std::string reduce_min(const Call&);
std::string reduce_prod(const Call&);
std::string reduce_sum(const Call&);

}  // namespace onward::emit::numpy
