// y = softmax(q k^T / sqrt(size) + bias) v, with queries q [batch, heads, Lq, size], keys k
// [batch, heads, L, size] and values v [batch, heads, L, any size].

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>

#include "onward/error.h"
#include "ops/families.h"
#include "ops/heads.h"

namespace onward {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// The standard's inputs, in order.
enum AttentionInput : uint8_t { kQ, kK, kV, kMask, kPastKey, kPastValue, kLengths };

std::optional<int64_t> known_dim(const Value* value, size_t axis) {
  const auto& shape = value->type.shape;
  if (!shape || axis >= shape->size()) return std::nullopt;
  return (*shape)[axis].value;
}

/// Whether the heads are in the last dimension: [batch, length, heads * size].
bool is_packed(const ExpandContext& c) {
  const auto known = rank(c.node().input(kQ));
  return known ? *known == 3 : c.node().attribute("q_num_heads") != nullptr;
}

Expr product_of_heads(Expr q, Expr k) { return matmul(q, transpose(k, {0, 1, 3, 2})); }

/// Keys or values, each head as often as there are heads of queries to it: h0, h0, h1, h1.
Expr repeated_heads(Expr x, Expr q) {
  Builder& b = x.builder();
  const Expr one = b.integers({1}), heads = dim_of(q, 1);
  const Expr times = concat({one, one, heads / larger(dim_of(x, 1), one), one, one}, 0);
  const Expr repeated = expand(unsqueeze(x, b.integers({2})), times);
  return reshape(repeated, concat({dim_of(x, 0), heads, dim_of(x, 2), dim_of(x, 3)}, 0));
}

/// How queries, keys and values are multiplied, where it does not matter what hides keys.
struct Scaling {
  Expr q, k;  // what each is multiplied by

  /// By the root of the scale, so that products do not overflow; a scale below 0 turns q round.
  static Scaling of(const ExpandContext& c, Expr q, std::optional<int64_t> size) {
    const DType dtype = q.dtype();
    Builder& b = c.builder();
    const auto* given = c.node().get<float>("scale");
    if (given || size) {
      const double scale =
          given ? static_cast<double>(*given) : 1 / std::sqrt(static_cast<double>(*size));
      const Expr root = b.scalar(std::sqrt(std::fabs(scale)), dtype);
      return {scale < 0 ? -root : root, root};
    }
    const Expr root = cast(1 / sqrt(sqrt(cast(dim_of(q, 3), wide_type(dtype)))), dtype);
    return {root, root};
  }
};

/// What is added to the scores, and whether it can hide all keys from a query.
struct Bias {
  std::optional<Expr> value;
  bool can_hide_all = false;
};

/// Finds the bias of one node.
class Masking {
 public:
  Masking(const ExpandContext& c, Expr q, Expr k) : c_(c), b_(c.builder()), q_(q), k_(k) {}

  Bias bias() {
    std::optional<Expr> added;
    if (c_.has_input(kMask)) {
      const Expr mask = padded_mask();
      if (mask.dtype() == DType::boolean) {
        allow_only(mask);
      } else {
        added = mask;
      }
    }
    look_at_positions();
    if (allowed_) {
      const Expr zero = b_.scalar(0, q_.dtype()), hidden = b_.scalar(kMinusInfinity, q_.dtype());
      const Expr hides = where(*allowed_, zero, hidden);
      added = added ? *added + hides : hides;
    }
    return {added, c_.has_input(kMask) || c_.has_input(kLengths) || has_windows()};
  }

 private:
  int64_t window(const char* side) const { return c_.node().int_or(side, -1); }
  bool has_windows() const {
    return window("left_window_size") >= 0 || window("right_window_size") >= 0;
  }

  void allow_only(Expr condition) {
    allowed_ = allowed_ ? logical_and(*allowed_, condition) : condition;
  }

  /// The number of keys with those of the past, where it is known.
  std::optional<int64_t> known_length() const {
    const auto own = known_dim(c_.node().input(kK), is_packed(c_) ? 1 : 2);
    if (!own || !c_.has_input(kPastKey)) return own;
    const auto past = known_dim(c_.node().input(kPastKey), 2);
    return past ? std::optional(*own + *past) : std::nullopt;
  }

  /// A mask may end before the keys do, which it hides from there on.
  Expr padded_mask() const {
    const Expr mask = c_.input(kMask);
    const bool is_truth = mask.dtype() == DType::boolean;
    if (!is_truth && mask.dtype() != q_.dtype()) {
      throw Error(fmt::format("its attn_mask is of type {}, neither bool nor {} as the queries",
                              name(mask.dtype()), name(q_.dtype())));
    }
    const auto own = rank(mask.value());
    const auto last =
        own && *own > 0 ? known_dim(mask.value(), static_cast<size_t>(*own - 1)) : std::nullopt;
    if (last && last == known_length()) return mask;
    const Expr behind = dim_of(k_, 2) - dim_of(mask, -1);
    const Expr hidden = is_truth ? cast(b_.scalar(0, DType::i64), DType::boolean)
                                 : b_.scalar(kMinusInfinity, mask.dtype());
    return b_.add("Pad",
                  values({mask, concat({b_.integers({0}), behind}, 0), hidden, b_.integers({-1})}),
                  mask.dtype());
  }

  /// Keys at j that a query at position p may look at. Positions count from the first key, so that
  /// those of the past come before the first query.
  void look_at_positions() {
    const bool is_causal = c_.node().int_or("is_causal", 0) != 0;
    if (!is_causal && !has_windows() && !c_.has_input(kLengths)) return;
    const Expr j = numbers_below(dim_of(k_, 2));
    std::optional<Expr> lengths;  // [batch, 1, 1, 1]
    if (c_.has_input(kLengths)) {
      lengths = unsqueeze(checked_up_to(c_.input(kLengths), dim_of(k_, 2)), b_.integers({1, 2, 3}));
      allow_only(less(j, *lengths));
    }
    if (!is_causal && !has_windows()) return;
    Expr p = unsqueeze(numbers_below(dim_of(q_, 2)), b_.integers({1}));
    if (c_.has_input(kPastKey)) {
      p = p + dim_of(c_.input(kPastKey), 2);
    } else if (lengths) {
      p = p + (*lengths - dim_of(q_, 2));
    }
    const auto back = static_cast<double>(window("left_window_size"));
    const auto ahead = static_cast<double>(window("right_window_size"));
    if (is_causal) allow_only(logical_not(greater(j, p)));
    if (back >= 0) allow_only(logical_not(less(j, p - back)));
    if (ahead >= 0) allow_only(logical_not(greater(j, p + ahead)));
  }

  const ExpandContext& c_;
  Builder& b_;
  Expr q_, k_;
  std::optional<Expr> allowed_;
};

Expr softmax_of_last(Expr x) {
  return x.builder().add("Softmax", {x.value()}, x.dtype(), {{"axis", int64_t{-1}}});
}

/// The probabilities of keys. A query from which all are hidden has none, and all are 0: the
/// softmax is of other numbers there, so that its gradient is 0 as well.
Expr probabilities(Expr scores, const Bias& bias, DType precision) {
  const DType dtype = scores.dtype();
  if (!bias.can_hide_all) return cast(softmax_of_last(cast(scores, precision)), dtype);
  Builder& b = scores.builder();
  const Expr highest = b.add("ReduceMax", values({*bias.value, b.integers({-1})}), dtype);
  const Expr hidden = equal(highest, b.scalar(kMinusInfinity, dtype));
  const Expr zero = b.scalar(0, dtype);
  const Expr visible = cast(softmax_of_last(cast(where(hidden, zero, scores), precision)), dtype);
  return where(hidden, zero, visible);
}

DType softmax_type(const Node& node, DType fallback) {
  const int64_t given = node.int_or("softmax_precision", 0);
  return given == 0 ? fallback : dtype_from_onnx(given).value_or(fallback);
}

/// Heads of an input: an attribute where they are packed, else a dimension.
std::optional<int64_t> known_heads(const ExpandContext& c, size_t input, const char* attribute) {
  if (const auto* given = c.node().get<int64_t>(attribute)) return *given;
  return known_dim(c.node().input(input), 1);
}

std::optional<int64_t> known_head_size(const ExpandContext& c) {
  const Value* q = c.node().input(kQ);
  if (!is_packed(c)) return known_dim(q, 3);
  const auto all = known_dim(q, 2);
  return all ? std::optional(*all / c.node().int_or("q_num_heads", 1)) : std::nullopt;
}

std::vector<Expr> attention_expansion(const ExpandContext& c) {
  const bool packed = is_packed(c);
  const auto unpacked = [&](size_t input, const char* heads) {
    if (!packed) return c.input(input);
    return swap_heads(split_heads(c.input(input), c.node().int_or(heads, 1)));
  };
  const auto behind_past = [&](size_t past, Expr x) {
    return c.has_input(past) ? concat({c.input(past), x}, 2) : x;
  };
  const Expr q = unpacked(kQ, "q_num_heads");
  const Expr k = behind_past(kPastKey, unpacked(kK, "kv_num_heads"));
  const Expr v = behind_past(kPastValue, unpacked(kV, "kv_num_heads"));

  const auto of_q = known_heads(c, kQ, "q_num_heads"), of_k = known_heads(c, kK, "kv_num_heads");
  const bool is_shared = !of_q || !of_k || *of_q != *of_k;
  const auto for_queries = [&](Expr x) { return is_shared ? repeated_heads(x, q) : x; };
  const Scaling scaling = Scaling::of(c, q, known_head_size(c));
  const Expr raw = product_of_heads(q * scaling.q, for_queries(k) * scaling.k);
  const auto cap = static_cast<double>(c.node().float_or("softcap", 0));
  const Expr capped = cap > 0 ? tanh(raw / cap) * cap : raw;
  const Bias bias = Masking(c, q, k).bias();
  const Expr scores = bias.value ? capped + *bias.value : capped;
  const Expr p = probabilities(scores, bias, softmax_type(c.node(), q.dtype()));
  const Expr y = matmul(p, cast(for_queries(v), q.dtype()));

  const Expr shown[] = {raw, capped, scores, p};
  const int64_t mode = c.node().int_or("qk_matmul_output_mode", 0);
  return {packed ? merge_heads(swap_heads(y)) : y, k, v, shown[static_cast<size_t>(mode)]};
}

// ---- FlexAttention

/// What a graph of the node makes of scores or probabilities.
Expr modified(const ExpandContext& c, const char* attribute, Expr x) {
  const auto* graph = c.node().get<std::unique_ptr<Graph>>(attribute);
  if (!graph) return x;
  Value* given[] = {x.value()};
  return c.builder().splice(**graph, given).at(0);
}

std::vector<Expr> flex_attention_expansion(const ExpandContext& c) {
  const Expr q = c.input(kQ), k = c.input(kK), v = c.input(kV);
  const auto of_q = known_dim(q.value(), 1), of_k = known_dim(k.value(), 1);
  const bool is_shared = !of_q || !of_k || *of_q != *of_k;
  const auto for_queries = [&](Expr x) { return is_shared ? repeated_heads(x, q) : x; };
  const Scaling scaling = Scaling::of(c, q, known_dim(q.value(), 3));
  const Expr raw = product_of_heads(q * scaling.q, for_queries(k) * scaling.k);
  const DType precision = softmax_type(c.node(), q.dtype() == DType::f64 ? DType::f64 : DType::f32);
  const Expr scores = modified(c, "score_mod", cast(raw, precision));
  const Expr p = modified(c, "prob_mod", softmax_of_last(scores));
  return {cast(matmul(p, cast(for_queries(v), precision)), q.dtype())};
}

const OpDef kAttentionOps[] = {
    {.name = "Attention",
     .expansion = attention_expansion,
     .inputs = {In::data, In::data, In::data, In::data, In::data, In::data, In::setting}},
    {.name = "FlexAttention", .domain = "ai.onnx.preview", .expansion = flex_attention_expansion},
};

}  // namespace

std::span<const OpDef> attention_ops() { return kAttentionOps; }

}  // namespace onward
