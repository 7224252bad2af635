#pragma once

#include <nlohmann/json.hpp>

#include "ir/model.h"

namespace onward::cli {

/// All that `onward show` says of a model, for programs; the text for people is made from it.
nlohmann::ordered_json describe(const Model& model);

}  // namespace onward::cli
