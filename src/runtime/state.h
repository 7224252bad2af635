#pragma once

#include <map>
#include <span>
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
  /// The tensor without a copy, for as long as nobody changes it.
  Tensor view(std::string_view name) const;
  /// Whether the tensor's bytes are the state's own.
  bool owns(const Tensor& tensor) const;
  /// Throws Error where there is no such tensor, or `value` is of another type or shape.
  void set(std::string_view name, const Tensor& value);
  /// Sets several, or none of them where one is not as `set` wants it.
  void set_all(const TensorMap& values);

  /// Throws Error where there is no such tensor, or it is of another type or shape.
  void require(std::string_view name, DType dtype, std::span<const int64_t> dims) const;

  /// Where the elements are, for as long as the state lives: row-major, packed.
  std::byte* data(std::string_view name) const { return find(name).buffer.data(); }
  /// Whoever writes there says so, for those who remember something of what was there.
  void note_change() const { ++changes_; }
  uint64_t changes() const { return changes_; }
  size_t bytes(std::string_view name) const { return find(name).buffer.size(); }

 private:
  struct Entry {
    DType dtype;
    std::vector<int64_t> dims;
    Buffer buffer;
  };
  const Entry& find(std::string_view name) const;

  std::map<std::string, Entry, std::less<>> entries_;
  mutable uint64_t changes_ = 1;
};

/// Puts back what it kept of a state, unless it is told that all went well: for work that writes
/// to the state before its last chance to fail.
class StateUndo {
 public:
  explicit StateUndo(const State& state) : state_(state) {}
  ~StateUndo();
  StateUndo(const StateUndo&) = delete;
  StateUndo& operator=(const StateUndo&) = delete;

  /// Keeps these tensors as they are now; those that it has already stay as they were then.
  void keep(std::span<const std::string> names);
  /// What it kept of a tensor.
  const std::byte* kept(std::string_view name) const { return kept_.find(name)->second.data(); }
  void dismiss() { kept_.clear(); }

 private:
  const State& state_;
  std::map<std::string, Buffer, std::less<>> kept_;
};

}  // namespace onward
