#include "emit/shared_calls.h"

#include <fmt/format.h>

#include <algorithm>

#include "emit/node_facts.h"
#include "onward/error.h"

namespace onward::emit {

std::string extremum(const Call& c, const Extremum& words) {
  if (c.inputs() == 1) return c.in(0);
  if (!is_whole(c.dtype(0)) && (c.inputs() > 2 || !words.shares)) {
    std::vector<std::string> inputs;
    for (size_t i = 0; i < c.inputs(); ++i) inputs.push_back(c.in(i));
    return fmt::format("{}({})", c.function(words.of_all), fmt::join(inputs, ", "));
  }
  std::string all = c.in(0);
  for (size_t i = 1; i < c.inputs(); ++i) {
    all = fmt::format("{}({}, {})", words.of_two, all, c.in(i));
  }
  return all;
}

// Where both choices are numbers nothing says their type: then one is made a tensor.
std::string chosen(const Call& c, std::string_view function) {
  const bool both = c.is_number(1) && c.is_number(2);
  return fmt::format("{}({}, {}, {})", function, c.in(0), both ? c.in(1) : c.operand(1),
                     c.operand(2));
}

std::string gemm(const Call& c, std::string_view transposed, std::string_view product) {
  const auto matrix = [&](size_t input, std::string_view attribute) {
    if (c.int_attribute(attribute, 0) == 0) return c.in(input);
    return fmt::format(fmt::runtime(transposed), c.in(input));
  };
  std::string text = fmt::format(fmt::runtime(product), matrix(0, "transA"), matrix(1, "transB"));
  const bool scaled = c.node().float_or("alpha", 1) != 1;
  if (scaled) text = fmt::format("{} * ({})", c.float_attribute("alpha", 1), text);
  if (!c.has(2)) return text;
  const bool beta = c.node().float_or("beta", 1) != 1;
  return fmt::format("{} + {}{}", text, beta ? c.float_attribute("beta", 1) + " * " : "",
                     c.operand(2));
}

std::string sum(const Call& c) {
  std::string all = c.operand(0);
  for (size_t i = 1; i < c.inputs(); ++i) all += " + " + c.operand(i);
  return all;
}

std::string constant(const Call&) { throw Error("its value is no dense tensor of numbers"); }

std::string one_hot(const Call& c) {
  return fmt::format("{}({}, {}, {}, axis={})", c.function("one_hot"), c.in(0), c.scalar(1),
                     c.in(2), c.int_attribute("axis", -1));
}

std::string sliced(const Call& c) {
  if (const auto text = subscript(c)) {
    return text->empty() ? c.in(0) : fmt::format("{}[{}]", c.in(0), *text);
  }
  std::string options;
  if (c.has(3)) options += ", axes=" + c.ints(3);
  if (c.has(4)) options += ", steps=" + c.ints(4);
  return fmt::format("{}({}, {}, {}{})", c.function("take_slices"), c.in(0), c.ints(1), c.ints(2),
                     options);
}

std::string padded(const Call& c) {
  std::string options;
  if (c.has(3)) options += ", axes=" + c.ints(3);
  const std::string mode = c.node().string_or("mode", "constant");
  if (mode != "constant") options += ", mode=" + python_string(mode);
  if (c.has(2)) options += ", value=" + c.operand(2);
  return fmt::format("{}({}, {}{})", c.function("pad"), c.in(0), c.ints(1), options);
}

std::string batch_norm_in_training(const Call& c) {
  const std::string text =
      fmt::format("{}({}, {}, {}, {}, {}, epsilon={}, momentum={})", c.function("batch_norm"),
                  c.in(0), c.plain(1), c.plain(2), c.plain(3), c.plain(4),
                  c.float_attribute("epsilon", 1e-5F), c.float_attribute("momentum", 0.9F));
  // Only y, or all that the function gives.
  return c.node().outputs().size() == 1 ? text + "[0]" : text;
}

std::string loss_options(const Call& c) {
  std::string text;
  if (c.has(2)) text += ", weight=" + c.in(2);
  if (const auto* ignored = c.node().get<int64_t>("ignore_index")) {
    text += fmt::format(", ignore_index={}", *ignored);
  }
  const std::string reduction = c.node().string_or("reduction", "mean");
  if (reduction != "mean") text += fmt::format(", reduction={}", python_string(reduction));
  return text;
}

std::string with_log_prob(const Call& c, const std::string& loss, const std::string& log_prob) {
  return c.node().outputs().size() > 1 ? fmt::format("{}, {}", loss, log_prob) : loss;
}

std::string bit_shift(const Call& c) {
  return fmt::format("{}({}, {}, {}, left={})", c.function("bit_shift"), c.in(0), c.in(1),
                     bits(c.dtype(0)), python_bool(c.node().string_or("direction", "") == "LEFT"));
}

namespace {

std::string accumulated(const Call& c, std::string_view function) {
  std::string options;
  if (c.int_attribute("exclusive", 0) != 0) options += ", exclusive=True";
  if (c.int_attribute("reverse", 0) != 0) options += ", reverse=True";
  return fmt::format("{}({}, {}{})", c.function(function), c.in(0), c.scalar(1), options);
}

}  // namespace

std::string cum_prod(const Call& c) { return accumulated(c, "cumulative_product"); }
std::string cum_sum(const Call& c) { return accumulated(c, "cumulative_sum"); }

std::string einsum(const Call& c, std::string_view function) {
  std::string equation = c.node().string_or("equation", "");
  std::erase(equation, ' ');
  if (equation.find("->") == std::string::npos) {  // which TensorFlow does not read like the others
    std::string output = equation.find('.') == std::string::npos ? "" : "...", once;
    for (const char label : equation) {
      if (label >= 'A' && std::ranges::count(equation, label) == 1) once += label;
    }
    std::ranges::sort(once);
    equation += "->" + output + once;
  }
  std::string operands;
  for (size_t i = 0; i < c.inputs(); ++i) operands += ", " + c.in(i);
  return fmt::format("{}({}{})", function, python_string(equation), operands);
}

std::string hardmax(const Call& c) {
  return fmt::format("{}({}, {})", c.function("hardmax"), c.in(0),
                     c.axis(c.int_attribute("axis", -1)));
}

std::string_view refuse_alpha(const Node& node) {
  return node.float_or("alpha", 1) != 1 ? "frameworks have the one whose alpha is 1" : "";
}

std::string_view refuse_output_shape(const Node& node) {
  return node.attribute("output_shape") ? "frameworks take padding, not the result's shape" : "";
}

}  // namespace onward::emit
