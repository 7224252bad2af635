#pragma once

// Operators that are written as a call of a helper, which has the same name and arguments in every
// dialect.

#include <string>

#include "emit/call.h"

namespace onward::emit {

// Elements by indices.
std::string gather_elements(const Call& c);
std::string gather_nd(const Call& c);
std::string scatter_elements(const Call& c);
std::string scatter_nd(const Call& c);
std::string top_k(const Call& c);
std::string reverse_sequence(const Call& c);
std::string compress(const Call& c);

// Images.
std::string center_crop_pad(const Call& c);
std::string max_unpool(const Call& c);
std::string resized(const Call& c);

}  // namespace onward::emit
