#include "runtime/state.h"

#include <fmt/format.h>

#include "onward/error.h"

namespace onward {

State::State(const Model& model) {
  const auto add = [&](const std::vector<Binding>& bindings) {
    for (const Binding& binding : bindings) {
      tensors_.insert_or_assign(binding.target->name(), *binding.target->tensor());
    }
  };
  for (const TrainingInfo& info : model.training) {
    add(info.initialization_bindings);
    add(info.update_bindings);
  }
}

std::vector<std::string> State::names() const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors_) names.push_back(name);
  return names;
}

Tensor State::get(std::string_view name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) throw Error(fmt::format("there is no state tensor '{}'", name));
  return found->second;
}

void State::set(std::string_view name, const Tensor& value) {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) throw Error(fmt::format("there is no state tensor '{}'", name));
  if (value.dtype() != found->second.dtype() || value.dims() != found->second.dims()) {
    throw Error(fmt::format("'{}' is {}, not {}", name, to_string(found->second.type()),
                            to_string(value.type())));
  }
  found->second = value;
}

}  // namespace onward
