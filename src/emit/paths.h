#pragma once

// Where layers and tensors live in the module: "layer1.0.conv1" is self.layer1["0"].conv1 in torch,
// whose state_dict then has the names of the model, and self.layer1_0_conv1 in Keras.

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "emit/body.h"

namespace onward::emit {

class AttributePaths {
 public:
  /// `root_is_list` where the model's own modules are numbered, so that "0.weight" is one.
  explicit AttributePaths(const Dialect& dialect, bool root_is_list = false);

  /// Takes a path, as near to `wanted` as is free and allowed.
  std::string take(std::string_view wanted);

  /// "self.layer1[\"0\"].conv1".
  static std::string expression(std::string_view path);

 private:
  bool is_free(const std::string& path) const;

  const Dialect& dialect_;
  bool root_is_list_;
  std::set<std::string> taken_;
  std::set<std::string> containers_;
};

std::vector<std::string> path_parts(std::string_view path);
bool is_number(std::string_view part);

}  // namespace onward::emit
