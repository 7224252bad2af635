#include "emit/body.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>

#include "emit/helpers.h"
#include "emit/paths.h"
#include "emit/scopes.h"
#include "ir/rewrite.h"
#include "onward/error.h"

namespace onward::emit {
namespace {

/// Fewer than three dimensions have the same order in both forms.
Form effective(const Value* value, Form form) {
  const auto dimensions = rank(value);
  return dimensions && *dimensions <= 2 ? Form::plain : form;
}

/// The name without the counter at its end.
std::string_view stem(std::string_view name) {
  const size_t end = name.find_last_not_of("0123456789_");
  return end == std::string_view::npos ? "" : name.substr(0, end + 1);
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

/// Whether a tool made the name up, rather than the model's author.
bool is_made_up(const Value* value) {
  const Node* node = value->producer();
  if (!node) return false;
  for (const auto& [key, text] : node->metadata) {
    if (key.starts_with("pkg.torch.onnx") || key == "onward.name_scopes") return true;
  }
  if (value->name().find_first_of("/:") != std::string::npos) return true;
  const std::string name = lower(stem(value->name()));
  constexpr std::string_view kNoNames[] = {"",     "node", "onnx", "out",   "output", "t",
                                           "temp", "tmp",  "val",  "value", "var"};
  return name == lower(node->op) || std::ranges::find(kNoNames, name) != std::end(kNoNames) ||
         name.ends_with("_output");
}

/// "q", "k" or "v" for a third of what one layer computes for all three of an attention.
std::string_view third_of_attention(const Value* value, const Known& known) {
  const Node* node = value->producer();
  size_t part = 0;
  if (node->op == "Split" && node->outputs().size() == 3) {
    while (part < 3 && node->output(part) != value) ++part;
  } else {
    const auto index = node->op == "Gather" ? known.integers(node->input(1)) : std::nullopt;
    if (!index || index->size() != 1 || index->front() < 0) return "";
    part = static_cast<size_t>(index->front());
  }
  // The layer, with what changes the shape of its result.
  for (int steps = 0; node && part < 3 && steps < 6; ++steps) {
    for (const Value* input : node->inputs()) {
      const std::string name = input ? lower(input->name()) : "";
      if (name.find("qkv") != name.npos || name.find("in_proj") != name.npos ||
          name.find("c_attn") != name.npos) {
        return std::array<std::string_view, 3>{"q", "k", "v"}[part];
      }
    }
    node = node->input(0) ? node->input(0)->producer() : nullptr;
  }
  return "";
}

/// How a variable is called where nothing better is known.
Wish wish_for(const Value* value, const Known& known) {
  if (!is_made_up(value)) {
    const std::string_view name = stem(value->name());
    return {std::string(name.empty() ? value->name() : name), true};
  }
  const Node* node = value->producer();
  if (const auto name = third_of_attention(value, known); !name.empty())
    return {std::string(name), true};
  // What a tensor of truth values is for, in nearly all models.
  if (value->type.dtype == DType::boolean) return {"mask"};
  if (node->op == "MatMul" || node->op == "Softmax") return {"scores"};
  return {};
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

Body::Body(SourceContext& context, std::string path) : Body(context) { path_ = std::move(path); }

std::string Body::add_argument(const Value* value, Form form) {
  arguments_.push_back(value);
  // A module inside of another calls what it is given x; the model's own inputs have names.
  const bool is_input = !path_ || path_->empty();
  Wish wish{is_input                 ? value->name()
            : arguments_.size() == 1 ? "x"
                                     : wish_for(value, *context_.known).name,
            true};
  return declare(value, form, std::move(wish));
}

void Body::alias(const Value* value, Form form, const std::string& expression) {
  first_forms_.try_emplace(value, effective(value, form));
  variables_[value][effective(value, form)] = expression;
}

Form Body::first_form(const Value* value) const {
  const auto found = first_forms_.find(value);
  return found == first_forms_.end() ? Form::plain : found->second;
}

bool Body::has(const Value* value, Form form) const {
  const auto found = variables_.find(value);
  return found != variables_.end() && found->second.contains(effective(value, form));
}

std::string Body::declare(const Value* value, Form form) {
  return declare(value, form, path_ ? wish_for(value, *context_.known) : Wish{});
}

std::string Body::declare(const Value* value, Form form, Wish wish) {
  std::string variable = path_ ? deferred_.variable(std::move(wish)) : names_.fresh(value->name());
  if (!has(value)) order_.push_back(value);
  first_forms_.try_emplace(value, effective(value, form));
  variables_[value][effective(value, form)] = variable;
  return variable;
}

void Body::add_line(std::string line, bool is_random) {
  if (path_) {
    deferred_.add(std::move(line), is_random);
  } else {
    lines_.push_back(std::string(4 * blocks_.size(), ' ') + line);
  }
}

void Body::add_statement(std::string line) {
  if (!path_) return add_line(std::move(line));
  deferred_.add_statement(std::move(line));
}

void Body::open_block(std::string line) {
  add_statement(std::move(line));
  blocks_.push_back({order_, variables_, first_forms_});
  deferred_.indent(1);
}

void Body::close_block() {
  order_ = std::move(blocks_.back().order);
  variables_ = std::move(blocks_.back().variables);
  first_forms_ = std::move(blocks_.back().first_forms);
  blocks_.pop_back();
  deferred_.indent(-1);
}

std::vector<std::string> Body::written(std::vector<std::string>& arguments) const {
  return deferred_.written(names_, arguments);
}

std::string Body::attribute(std::string_view path, std::string_view root) const {
  const std::string inside = path_ && !path_->empty() ? *path_ + "." : "";
  if (!path.starts_with(inside)) throw LeavesScope{*path_};
  std::string text(root), at(inside.substr(0, inside.empty() ? 0 : inside.size() - 1));
  for (const std::string& part : path_parts(path.substr(inside.size()))) {
    if (context_.dicts.contains(at)) {
      text += fmt::format("[\"{}\"]", part);
    } else if (!is_number(part)) {
      text += "." + part;
    } else if (at.empty() && !context_.lists.contains(at)) {
      text = fmt::format("getattr({}, \"{}\")", root, part);
    } else if (context_.lists.contains(at)) {
      text += fmt::format("[{}]", part);
    } else {
      text += fmt::format("[\"{}\"]", part);
    }
    at += at.empty() ? part : "." + part;
  }
  return text;
}

std::optional<std::vector<std::string>> Body::sizes(const Value* value) {
  if (!context_.sizes || has(value)) return std::nullopt;
  const auto* elements = context_.sizes->find(value);
  if (!elements) return std::nullopt;
  std::vector<std::string> texts;
  for (const Size& each : *elements) texts.push_back(size(each));
  return texts;
}

std::string Body::size(const Size& size) {
  if (size.number) return std::to_string(*size.number);
  if (size.op != 0) {
    const auto part = [&](const Size& each) {
      return each.op != 0 ? fmt::format("({})", this->size(each)) : this->size(each);
    };
    const std::string first = part(size.parts[0]);
    return fmt::format("{} {} {}", first, size.op == '/' ? "//" : std::string(1, size.op),
                       part(size.parts[1]));
  }
  if (size.base) return size_of(size.base, size.axis);
  // Arguments come first, so that sizes are asked of them.
  for (const Value* value : order_) {
    const auto& shape = value->type.shape;
    if (!shape) continue;
    const auto found = std::ranges::find(*shape, size.symbol, &Dim::symbol);
    if (found != shape->end()) return size_of(value, static_cast<size_t>(found - shape->begin()));
  }
  if (path_ && !path_->empty()) throw LeavesScope{*path_};
  throw Bug(fmt::format("nothing has the size '{}'", size.symbol));
}

std::string Body::size_of(const Value* value, size_t axis) {
  auto& forms = variables_[value];
  std::string tensor;
  const bool is_turned = !forms.empty() && !forms.contains(Form::plain);
  if (is_turned) {
    tensor = forms.begin()->second;
    const auto order = to_channels_last((*value->type.shape).size());
    axis =
        static_cast<size_t>(std::ranges::find(order, static_cast<int64_t>(axis)) - order.begin());
  } else {
    tensor = this->tensor(value);
  }
  const std::string text = fmt::format(fmt::runtime(dialect().size), tensor, axis);
  if (!path_ || !Lines::is_mark(tensor) || !blocks_.empty()) return text;
  auto& variable = size_variables_[{tensor, axis}];
  if (variable.empty()) {
    const std::string& symbol = (*value->type.shape)[axis].symbol;
    const bool is_letter =
        symbol.size() == 1 && std::isalpha(static_cast<unsigned char>(symbol[0])) != 0;
    std::string name = axis == 0 ? "b" : axis == 1 ? "t" : "n";
    if (is_letter) name = static_cast<char>(std::tolower(static_cast<unsigned char>(symbol[0])));
    variable = deferred_.variable({name, true});
    const bool is_argument = std::ranges::find(arguments_, value) != arguments_.end();
    deferred_.add_size(fmt::format("{} = {}", variable, text), is_argument);
  }
  return variable;
}

void Body::set_number(const Value* value, const std::string& expression) {
  if (value) numbers_[value] = expression;
}

const std::string* Body::number(const Value* value) const {
  const auto found = numbers_.find(value);
  return found == numbers_.end() ? nullptr : &found->second;
}

/// Numbers of Python's as a tensor, for what takes nothing else.
std::string Body::materialized(const Value* value, const std::string& elements) {
  const std::string dtype = dtype_text(dialect(), value->type.dtype);
  const std::string variable = declare(value, Form::plain);
  add_line(fmt::format("{} = {}", variable,
                       fmt::format(fmt::runtime(dialect().size_tensor), elements, dtype)));
  return variable;
}

std::string Body::tensor(const Value* value, Form form) {
  form = effective(value, form);
  auto& forms = variables_[value];
  if (const auto found = forms.find(form); found != forms.end()) return found->second;
  if (forms.empty() && numbers_.contains(value)) return materialized(value, numbers_.at(value));
  if (forms.empty() && context_.sizes && context_.sizes->find(value)) {
    const auto elements = *sizes(value);
    return materialized(
        value, rank(value) == 0 ? elements.at(0) : fmt::format("[{}]", fmt::join(elements, ", ")));
  }
  if (forms.empty()) {
    if (!context_.held.contains(value)) context_.hold(value);
    const HeldTensor& tensor = context_.held.at(value);
    if (path_ && !is_inside(tensor.path, *path_)) {
      variables_.erase(value);
      throw LeavesScope{*path_, value};
    }
    std::string expression =
        path_ && !tensor.path.empty() ? attribute(tensor.path) : tensor.expression;
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
      path_ ? deferred_.variable({})
            : names_.fresh(fmt::format("{}_{}", identifier(value->name()),
                                       form == Form::plain ? "channels_first" : "channels_last"));
  add_line(fmt::format(
      "{} = {}", variable,
      fmt::format(fmt::runtime(dialect().transpose), source, python_tuple(permutation))));
  forms[form] = variable;
  return variable;
}

}  // namespace onward::emit
