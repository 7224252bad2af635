#include "runtime/state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "onward/error.h"

namespace onward {

State::State(const Model& model) {
  const auto add = [&](const std::vector<Binding>& bindings) {
    for (const Binding& binding : bindings) {
      const std::string& name = binding.target->name();
      const Tensor* tensor = binding.target->tensor();
      if (!tensor || tensor->dtype() == DType::string) {
        throw Error(
            fmt::format("'{}' is the target of a binding, but not a dense numeric tensor", name));
      }
      if (entries_.contains(name)) continue;
      entries_.emplace(name, Entry{.dtype = tensor->dtype(),
                                   .dims = tensor->dims(),
                                   .buffer = Buffer(tensor->bytes().size())});
      set(name, *tensor);
    }
  };
  for (const TrainingInfo& info : model.training) {
    add(info.initialization_bindings);
    add(info.update_bindings);
  }
}

const State::Entry& State::find(std::string_view name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) throw Error(fmt::format("there is no state tensor '{}'", name));
  return found->second;
}

std::vector<std::string> State::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

Tensor State::get(std::string_view name) const {
  const Entry& entry = find(name);
  auto bytes = std::make_shared<std::string>(reinterpret_cast<const char*>(entry.buffer.data()),
                                             entry.buffer.size());
  return Tensor::from_bytes(entry.dtype, entry.dims, std::move(bytes));
}

Tensor State::view(std::string_view name) const {
  const Entry& entry = find(name);
  return Tensor::view(entry.dtype, entry.dims, {entry.buffer.data(), entry.buffer.size()}, nullptr);
}

bool State::owns(const Tensor& tensor) const {
  if (tensor.dtype() == DType::string) return false;
  const std::byte* at = tensor.bytes().data();
  return std::ranges::any_of(entries_, [&](const auto& each) {
    const Buffer& buffer = each.second.buffer;
    return at >= buffer.data() && at < buffer.data() + buffer.size();
  });
}

void State::require(std::string_view name, DType dtype, std::span<const int64_t> dims) const {
  const Entry& entry = find(name);
  if (dtype == entry.dtype && std::ranges::equal(dims, entry.dims)) return;
  throw Error(
      fmt::format("'{}' is {}, not {}", name,
                  to_string(Type::tensor(entry.dtype, std::span<const int64_t>(entry.dims))),
                  to_string(Type::tensor(dtype, dims))));
}

void State::set(std::string_view name, const Tensor& value) {
  require(name, value.dtype(), value.dims());
  if (value.bytes().empty()) return;
  note_change();
  std::memcpy(data(name), value.bytes().data(), value.bytes().size());
}

void State::set_all(const TensorMap& values) {
  for (const auto& [name, value] : values) require(name, value.dtype(), value.dims());
  for (const auto& [name, value] : values) set(name, value);
}

StateUndo::~StateUndo() {
  if (!kept_.empty()) state_.note_change();
  for (const auto& [name, buffer] : kept_) {
    std::memcpy(state_.data(name), buffer.data(), buffer.size());
  }
}

void StateUndo::keep(std::span<const std::string> names) {
  for (const std::string& name : names) {
    if (kept_.contains(name)) continue;
    Buffer buffer(state_.bytes(name));
    std::memcpy(buffer.data(), state_.data(name), buffer.size());
    kept_.emplace(name, std::move(buffer));
  }
}

}  // namespace onward
