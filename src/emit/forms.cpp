#include "emit/forms.h"

#include <algorithm>

#include "ir/rewrite.h"
#include "ops/op_def.h"

namespace onward::emit {

Forms::Forms(Module& module, std::span<const Value* const> results) : module_(module) {
  SourceContext& context = module.context();
  if (!context.dialect->channels_last) return;
  const auto helpers = context.helpers, modules = context.modules;
  Body body(context, "");
  for (const Value* input : module.graph().inputs()) {
    if (!input->initializer()) body.add_argument(input);
  }
  module.write(body, results);
  for (const auto& node : module.graph().nodes()) {
    for (const auto& output : node->outputs()) {
      if (output && body.first_form(output.get()) == Form::channels_last) {
        channels_last_.insert(output.get());
      }
    }
  }
  module.forget_refusals();
  context.helpers = helpers;
  context.modules = modules;
}

Form Forms::of(const Value* value) const {
  return channels_last_.contains(value) ? Form::channels_last : Form::plain;
}

Form Forms::wanted(const Scope& scope, const Value* input) const {
  const auto dimensions = rank(input);
  if (of(input) == Form::channels_last || !module_.context().dialect->channels_last ||
      (dimensions && *dimensions <= 2)) {
    return of(input);
  }
  return asked_for(scope, input).value_or(Form::plain);
}

/// What the first reader in a scope wants a value in.
std::optional<Form> Forms::asked_for(const Scope& scope, const Value* input) const {
  for (const ScopeItem& item : scope.items) {
    if (const auto* inside = std::get_if<Scope*>(&item)) {
      const auto& inputs = (*inside)->inputs;
      if (std::ranges::find(inputs, input) != inputs.end()) return asked_for(**inside, input);
      continue;
    }
    const Node& node = *std::get<const Node*>(item);
    const auto reads = module_.reads(node);
    if (std::ranges::find(reads, input) == reads.end()) continue;
    if (const Layer* layer = module_.layer_of(node)) return layer->form;
    const bool is_image = has_traits(node, kImages) && node.input(0) == input;
    return is_image ? Form::channels_last : Form::plain;
  }
  return std::nullopt;
}

bool Forms::fits(const Layer& layer, const Value* input, Form form) {
  const auto dimensions = rank(input);
  return layer.follows || (dimensions && *dimensions <= 2) || layer.form == form;
}

}  // namespace onward::emit
