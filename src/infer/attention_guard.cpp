#include "infer/attention_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "infer/operand_checks.h"

namespace onward {
namespace {

using Size = std::optional<int64_t>;
using Answer = std::optional<Refusal>;

Answer misfit(const Operands& o, size_t input, const std::string& complaint) {
  return Refusal{"shape", o.node().input(input)->name(),
                 fmt::format("input {}: {}", input, complaint)};
}

/// An operand has that rank, and these sizes where both are known.
Answer expect_sizes(const Operands& o, size_t input, const std::vector<Size>& wanted) {
  const auto shape = o.shape(input);
  if (!o.has(input) || !shape) return std::nullopt;
  if (shape->size() != wanted.size()) {
    return misfit(o, input, fmt::format("it has rank {}, not {}", shape->size(), wanted.size()));
  }
  for (size_t d = 0; d < wanted.size(); ++d) {
    const Size given = (*shape)[d].value;
    if (!given || !wanted[d] || *given == *wanted[d]) continue;
    return misfit(o, input, fmt::format("dimension {} is {}, not {}", d, *given, *wanted[d]));
  }
  return std::nullopt;
}

Answer expect_divisible(const Operands& o, size_t input, Size size, Size heads) {
  if (!size || !heads || *heads < 1 || *size % *heads == 0) return std::nullopt;
  return misfit(o, input,
                fmt::format("{} elements cannot be divided among {} heads", *size, *heads));
}

Size over(Size size, Size heads) {
  return size && heads && *heads > 0 ? Size(*size / *heads) : std::nullopt;
}
Size product(Size a, Size b) { return a && b ? Size(*a * *b) : std::nullopt; }
Size sum_of_sizes(Size a, Size b) { return a && b ? Size(*a + *b) : std::nullopt; }

/// The sizes of one of the operands that have heads, in either order.
struct Heads {
  Size batch, heads, length, size;

  Heads(const Operands& o, size_t input, bool packed, const char* attribute)
      : batch(o.dim(input, 0)), length(o.dim(input, packed ? 1 : 2)) {
    const auto* given = o.node().get<int64_t>(attribute);
    heads = packed ? (given ? Size(*given) : std::nullopt) : o.dim(input, 1);
    size = packed ? over(o.dim(input, 2), heads) : o.dim(input, 3);
  }
};

Answer guard_attention_attributes(const Operands& o, bool packed) {
  const Node& node = o.node();
  for (const char* name : {"q_num_heads", "kv_num_heads"}) {
    if (auto refusal = check_count(node, name, 1, kLargestCount)) return refusal;
    if (packed && !node.attribute(name)) {
      return refused_attribute(fmt::format("attribute '{}' is missing, which rank 3 needs", name));
    }
  }
  for (const char* name : {"left_window_size", "right_window_size"}) {
    if (auto refusal = check_count(node, name, -1, kLargestCount)) return refusal;
  }
  const int64_t mode = node.int_or("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) {
    return refused_attribute(
        fmt::format("attribute 'qk_matmul_output_mode' is {}, but must be 0, 1, 2 or 3", mode));
  }
  return std::nullopt;
}

/// Broadcasts to [batch, heads, queries, keys], but for the last dimension, which may be shorter.
Answer guard_mask(const Operands& o, const std::vector<Size>& scores) {
  const auto mask = o.shape(3);
  if (!o.has(3) || !mask) return std::nullopt;
  bool fits = !mask->empty() && mask->size() <= scores.size();
  for (size_t back = 1; fits && back <= mask->size(); ++back) {
    const Size given = (*mask)[mask->size() - back].value, wanted = scores[scores.size() - back];
    if (!given || !wanted) continue;
    fits = back == 1 ? *given <= *wanted : *given == 1 || *given == *wanted;
  }
  if (fits) return std::nullopt;
  return misfit(
      o, 3,
      fmt::format("a mask of shape {} does not go with scores of {} keys", to_string(*mask),
                  scores.back() ? fmt::to_string(*scores.back()) : "?"));
}

Answer guard_lengths(const Operands& o, Size batch, Size length) {
  if (!o.has(6)) return std::nullopt;
  if (o.has(4) || o.has(5)) {
    return misfit(o, 6, "lengths cannot be given together with a past");
  }
  if (auto refusal = expect_sizes(o, 6, {batch})) return refusal;
  const auto numbers = o.numbers(6);
  if (!numbers || !length) return std::nullopt;
  for (const double number : *numbers) {
    if (number >= 0 && number <= static_cast<double>(*length)) continue;
    return misfit(o, 6, fmt::format("a sequence of {} elements, of {}", number, *length));
  }
  return std::nullopt;
}

Answer guard_attention_node(const Operands& o) {
  const auto rank = o.rank(0);
  if (!rank) return guard_attention_attributes(o, false);
  if (*rank != 3 && *rank != 4)
    return misfit(o, 0, fmt::format("it has rank {}, not 3 or 4", *rank));
  const bool packed = *rank == 3;
  if (auto refusal = guard_attention_attributes(o, packed)) return refusal;
  const Heads q(o, 0, packed, "q_num_heads"), k(o, 1, packed, "kv_num_heads"),
      v(o, 2, packed, "kv_num_heads");
  if (packed) {
    const Size of_heads[] = {q.heads, k.heads, v.heads};
    for (size_t i = 0; i < 3; ++i) {
      if (auto refusal = expect_sizes(o, i, {Size(), Size(), Size()})) return refusal;
      if (auto refusal = expect_divisible(o, i, o.dim(i, 2), of_heads[i])) return refusal;
    }
  }
  const auto expect = [&](size_t input, Size heads, Size length, Size size) {
    const Size all = packed ? product(heads, size) : size;
    return packed ? expect_sizes(o, input, {q.batch, length, all})
                  : expect_sizes(o, input, {q.batch, heads, length, all});
  };
  if (auto refusal = expect(1, k.heads, k.length, q.size)) return refusal;
  if (auto refusal = expect(2, k.heads, k.length, v.size)) return refusal;
  if (q.heads && k.heads && (*k.heads == 0 ? *q.heads != 0 : *q.heads % *k.heads != 0)) {
    return misfit(
        o, 1, fmt::format("{} heads of queries cannot share {} heads of keys", *q.heads, *k.heads));
  }
  if (o.has(4) != o.has(5)) {
    return misfit(o, o.has(4) ? 4 : 5, "past keys and values must be given together");
  }
  const Size past = o.has(4) ? o.dim(4, 2) : Size(0);
  if (auto refusal = expect_sizes(o, 4, {q.batch, k.heads, past, q.size})) return refusal;
  if (auto refusal = expect_sizes(o, 5, {q.batch, k.heads, past, v.size})) return refusal;
  const Size keys = sum_of_sizes(past, k.length);
  if (auto refusal = guard_mask(o, {q.batch, q.heads, q.length, keys})) return refusal;
  return guard_lengths(o, q.batch, keys);
}

/// Positions that are known have a row in both tables.
Answer guard_positions(const Operands& o) {
  const auto positions = o.has(3) ? o.numbers(3) : std::nullopt;
  if (!positions) return std::nullopt;
  for (const size_t table : {size_t{1}, size_t{2}}) {
    const Size rows = o.dim(table, 0);
    for (const double position : *positions) {
      if (!rows ||
          (position >= -static_cast<double>(*rows) && position < static_cast<double>(*rows)))
        continue;
      return misfit(o, table, fmt::format("it has {} rows, none for position {}", *rows, position));
    }
  }
  return std::nullopt;
}

Answer guard_rotary(const Operands& o) {
  const Node& node = o.node();
  if (auto refusal = check_count(node, "num_heads", 1, kLargestCount)) return refusal;
  const int64_t part = node.int_or("rotary_embedding_dim", 0);
  if (part < 0 || part % 2 != 0 || part > std::numeric_limits<int32_t>::max()) {
    return refused_attribute(
        fmt::format("attribute 'rotary_embedding_dim' is {}, but must be even", part));
  }
  const auto rank = o.rank(0);
  if (!rank) return std::nullopt;
  if (*rank != 3 && *rank != 4)
    return misfit(o, 0, fmt::format("it has rank {}, not 3 or 4", *rank));
  const bool packed = *rank == 3;
  if (packed && !node.attribute("num_heads")) {
    return refused_attribute("attribute 'num_heads' is missing, which rank 3 needs");
  }
  const Heads x(o, 0, packed, "num_heads");
  if (packed) {
    if (auto refusal = expect_divisible(o, 0, o.dim(0, 2), x.heads)) return refusal;
  }
  if (x.size && part > *x.size) {
    return refused_attribute(fmt::format(
        "attribute 'rotary_embedding_dim' is {}, more than a head's {}", part, *x.size));
  }
  const Size turned = part == 0 ? x.size : Size(part);
  if (turned && *turned % 2 != 0) {
    return misfit(o, 0, fmt::format("a head's size of {} is not even", *turned));
  }
  for (const size_t table : {size_t{1}, size_t{2}}) {
    const std::vector<Size> wanted =
        o.has(3) ? std::vector<Size>{Size(), Size()} : std::vector<Size>{x.batch, x.length, Size()};
    if (auto refusal = expect_sizes(o, table, wanted)) return refusal;
    const Size last = o.dim(table, wanted.size() - 1);
    if (last && turned && 2 * *last != *turned) {
      return misfit(o, table,
                    fmt::format("its last dimension is {}, not half of {}", *last, *turned));
    }
  }
  if (auto refusal = expect_sizes(o, 3, {x.batch, x.length})) return refusal;
  return guard_positions(o);
}

Answer guard_tensor_scatter(const Operands& o) {
  const Node& node = o.node();
  if (auto refusal = check_word(node, "mode", {"linear", "circular"})) return refusal;
  const auto cache = o.shape(0), update = o.shape(1);
  if (!cache) return std::nullopt;
  const auto rank = static_cast<int64_t>(cache->size());
  const int64_t axis = node.int_or("axis", -2), from_front = axis < 0 ? axis + rank : axis;
  if (from_front < 1 || from_front >= rank) {
    return refused_axis(axis, rank);
  }
  const auto at = static_cast<size_t>(from_front);
  std::vector<Size> wanted;
  for (size_t d = 0; d < cache->size(); ++d) {
    wanted.push_back(d == at ? Size() : (*cache)[d].value);
  }
  if (auto refusal = expect_sizes(o, 1, wanted)) return refusal;
  if (auto refusal = expect_sizes(o, 2, {(*cache)[0].value})) return refusal;
  const Size room = (*cache)[at].value, length = update ? (*update)[at].value : Size();
  if (room && length && *length > *room) {
    return misfit(o, 1, fmt::format("it writes {} elements, of {}", *length, *room));
  }
  const auto begins = o.has(2) ? o.numbers(2) : std::nullopt;
  if (!begins || !room || !length || node.string_or("mode", "linear") != "linear") {
    return std::nullopt;
  }
  for (const double begin : *begins) {
    if (begin >= 0 && begin + static_cast<double>(*length) <= static_cast<double>(*room)) continue;
    return misfit(o, 2,
                  fmt::format("it writes {} elements from {} on, of {}", *length, begin, *room));
  }
  return std::nullopt;
}

Answer guard_causal_conv(const Operands& o) {
  if (auto refusal = check_word(o.node(), "activation", {"none", "silu", "swish"})) {
    return refusal;
  }
  if (auto refusal = expect_sizes(o, 0, {Size(), Size(), Size()})) return refusal;
  const Size batch = o.dim(0, 0), channels = o.dim(0, 1), taps = o.dim(1, 2);
  if (o.dim(0, 2) == 0) return misfit(o, 0, "its sequences are empty");
  if (auto refusal = expect_sizes(o, 1, {channels, Size(1), Size()})) return refusal;
  if (taps == 0) return misfit(o, 1, "its kernel is empty");
  if (auto refusal = expect_sizes(o, 2, {channels})) return refusal;
  return expect_sizes(o, 3, {batch, channels, taps ? Size(*taps - 1) : Size()});
}

Answer guard_linear_attention(const Operands& o) {
  const Node& node = o.node();
  for (const char* name : {"q_num_heads", "kv_num_heads"}) {
    if (auto refusal = check_count(node, name, 1, kLargestCount)) return refusal;
  }
  const int64_t of_q = node.int_or("q_num_heads", 1), of_k = node.int_or("kv_num_heads", 1);
  if (of_q % of_k != 0) {
    return refused_attribute(
        fmt::format("{} heads of queries cannot share {} heads of keys", of_q, of_k));
  }
  for (size_t i = 0; i < 3; ++i) {
    if (auto refusal = expect_sizes(o, i, {o.dim(0, 0), o.dim(0, 1), Size()})) return refusal;
    if (auto refusal = expect_divisible(o, i, o.dim(i, 2), i == 0 ? of_q : of_k)) return refusal;
  }
  const Size keys = over(o.dim(0, 2), of_q), values = over(o.dim(2, 2), of_k);
  if (auto refusal = expect_sizes(o, 1, {Size(), Size(), product(keys, of_k)})) return refusal;
  if (auto refusal = expect_sizes(o, 3, {o.dim(0, 0), of_k, keys, values})) return refusal;
  for (const size_t gate : {size_t{4}, size_t{5}}) {
    if (auto refusal = expect_sizes(o, gate, {o.dim(0, 0), o.dim(0, 1), Size()})) return refusal;
    const Size last = o.has(gate) ? o.dim(gate, 2) : Size();
    const Size other = gate == 4 ? product(keys, of_k) : Size(1);
    if (!last || !other || *last == of_k || *last == *other) continue;
    return misfit(o, gate,
                  fmt::format("its last dimension is {}, neither {} nor {}", *last, of_k, *other));
  }
  return std::nullopt;
}

struct AttentionGuard {
  std::string_view op;
  Answer (*check)(const Operands&);
};
constexpr AttentionGuard kAttentionGuards[] = {
    {"Attention", guard_attention_node},         {"CausalConvWithState", guard_causal_conv},
    {"LinearAttention", guard_linear_attention}, {"RotaryEmbedding", guard_rotary},
    {"TensorScatter", guard_tensor_scatter},
};

}  // namespace

std::optional<Refusal> guard_attention(const Operands& o) {
  if (!o.node().domain.empty()) return std::nullopt;
  const auto* found =
      std::ranges::find(kAttentionGuards, std::string_view(o.node().op), &AttentionGuard::op);
  return found == std::end(kAttentionGuards) ? std::nullopt : found->check(o);
}

}  // namespace onward
