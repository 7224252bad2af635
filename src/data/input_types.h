#pragma once

#include <map>
#include <string>

#include "data/npz.h"
#include "ir/model.h"

namespace onward {

/// The types of all inputs of a model's graphs, which arrays that somebody gives are fitted to.
class InputTypes {
 public:
  explicit InputTypes(const Model& model);

  /// The arrays in the types of the inputs (data/convert.h). Throws Error where one does not fit,
  /// or is for no input: a misspelt name of an input with a default would otherwise go unnoticed.
  Arrays fitted(Arrays arrays) const;

 private:
  std::map<std::string, Type> types_;
};

}  // namespace onward
