#include "emit/body.h"

#include <fmt/format.h>

#include <numeric>

#include "emit/helpers.h"
#include "ir/rewrite.h"
#include "onward/error.h"

namespace onward::emit {
namespace {

/// Fewer than three dimensions have the same order in both forms.
Form effective(const Value* value, Form form) {
  const auto dimensions = rank(value);
  return dimensions && *dimensions <= 2 ? Form::plain : form;
}

}  // namespace

std::vector<int64_t> to_channels_last(size_t rank) {
  std::vector<int64_t> permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  for (size_t i = 1; i + 1 < rank; ++i) permutation[i] = static_cast<int64_t>(i) + 1;
  if (rank > 1) permutation[rank - 1] = 1;
  return permutation;
}

std::vector<int64_t> from_channels_last(size_t rank) { return inverse(to_channels_last(rank)); }

std::vector<int64_t> inverse(const std::vector<int64_t>& permutation) {
  std::vector<int64_t> result(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) {
    result[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
  }
  return result;
}

Body::Body(SourceContext& context) : context_(context) {
  for (const Import& each : dialect().imports) names_.reserve(each.name);
  for (const std::string_view name : words_of(dialect().reserved_variables)) names_.reserve(name);
  for (const std::string_view function : helper_names(dialect())) names_.reserve(function);
}

std::string Body::add_argument(const Value* value) { return declare(value, Form::plain); }

void Body::alias(const Value* value, Form form, const std::string& expression) {
  variables_[value][effective(value, form)] = expression;
}

bool Body::has(const Value* value, Form form) const {
  const auto found = variables_.find(value);
  return found != variables_.end() && found->second.contains(effective(value, form));
}

std::string Body::declare(const Value* value, Form form) {
  std::string variable = names_.fresh(value->name());
  variables_[value][effective(value, form)] = variable;
  return variable;
}

std::string Body::tensor(const Value* value, Form form) {
  form = effective(value, form);
  auto& forms = variables_[value];
  if (const auto found = forms.find(form); found != forms.end()) return found->second;
  if (forms.empty()) {
    if (!context_.held.contains(value)) context_.hold(value);
    const HeldTensor& tensor = context_.held.at(value);
    std::string expression = tensor.expression;
    if (!tensor.permutation.empty()) {
      expression = fmt::format(fmt::runtime(dialect().transpose), expression,
                               python_tuple(inverse(tensor.permutation)));
    }
    forms[Form::plain] = expression;
    if (form == Form::plain) return expression;
  }
  const auto dimensions = rank(value);
  if (!dimensions) {
    throw Error(fmt::format("the rank of '{}' is not known; declare its shape", value->name()));
  }
  const auto permutation = form == Form::plain
                               ? from_channels_last(static_cast<size_t>(*dimensions))
                               : to_channels_last(static_cast<size_t>(*dimensions));
  const std::string source = forms.begin()->second;
  const std::string variable =
      names_.fresh(fmt::format("{}_{}", identifier(value->name()),
                               form == Form::plain ? "channels_first" : "channels_last"));
  add_line(fmt::format(
      "{} = {}", variable,
      fmt::format(fmt::runtime(dialect().transpose), source, python_tuple(permutation))));
  forms[form] = variable;
  return variable;
}

}  // namespace onward::emit
