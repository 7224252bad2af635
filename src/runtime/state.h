#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/model.h"
#include "runtime/buffer.h"

namespace onward {

/// Tensors by the names of the values that they are for.
using TensorMap = std::map<std::string, Tensor, std::less<>>;

/// The tensors that training changes, by name: all targets of bindings. Programs read and write
/// them in place; whoever asks for one gets a copy.
class State {
 public:
  /// The state of a model, with the values that its initializers have.
  explicit State(const Model& model);

  bool has(std::string_view name) const { return entries_.contains(name); }
  std::vector<std::string> names() const;

  Tensor get(std::string_view name) const;
  /// Throws Error where there is no such tensor, or `value` is of another type or shape.
  void set(std::string_view name, const Tensor& value);

  /// Where the elements are, for as long as the state lives: row-major, packed.
  std::byte* data(std::string_view name) const { return find(name).buffer.data(); }

 private:
  struct Entry {
    DType dtype;
    std::vector<int64_t> dims;
    Buffer buffer;
  };
  const Entry& find(std::string_view name) const;

  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace onward
