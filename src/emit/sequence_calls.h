#pragma once

// Sequences as lists, and optional values as they are, or None: what frameworks share.

#include <string>

#include "emit/call.h"

namespace onward::emit {

std::string optional(const Call& c);
std::string sequence_at(const Call& c);
std::string sequence_erase(const Call& c);
std::string sequence_insert(const Call& c);

}  // namespace onward::emit
