// What stands around attention: positions that are turned into vectors, and what is kept from one
// step of decoding to the next.

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "onward/error.h"
#include "ops/families.h"
#include "ops/heads.h"
#include "ops/subgraph.h"

namespace onward {
namespace {

// ---- RotaryEmbedding

/// The part of the last dimension from `begin` to `end`, vectors of one, in steps.
Expr last_part(Expr x, Expr begin, Expr end, int64_t step = 1) {
  Builder& b = x.builder();
  std::vector<Value*> inputs = values({x, begin, end, b.integers({-1})});
  if (step != 1) inputs.push_back(b.integers({step}).value());
  return b.add("Slice", std::move(inputs), x.dtype());
}

/// Turns the pairs (x1, x2) by angles of which cosines and sines are given.
struct Turned {
  Expr real, imaginary;

  Turned(Expr x1, Expr x2, Expr cosine, Expr sine)
      : real(cosine * x1 - sine * x2), imaginary(sine * x1 + cosine * x2) {}
};

/// x with all of its last dimension turned: halves are pairs, or neighbours are.
Expr turned(Expr x, Expr cosine, Expr sine, bool interleaved) {
  Builder& b = x.builder();
  const Expr size = dim_of(x, -1), begin = b.integers({0});
  if (!interleaved) {
    const Expr half = size / 2;
    const Turned pairs(last_part(x, begin, half), last_part(x, half, size), cosine, sine);
    return concat({pairs.real, pairs.imaginary}, -1);
  }
  const Turned pairs(last_part(x, begin, size, 2), last_part(x, b.integers({1}), size, 2), cosine,
                     sine);
  const Expr last = b.integers({-1});
  const Expr joined = concat({unsqueeze(pairs.real, last), unsqueeze(pairs.imaginary, last)}, -1);
  return reshape(joined, shape_of(x));
}

bool has_packed_heads(const ExpandContext& c) {
  const auto known = rank(c.node().input(0));
  if (!known && c.node().attribute("num_heads")) {
    throw Error(fmt::format("the rank of '{}' must be known", c.node().input(0)->name()));
  }
  return known == 3;
}

// X [batch, heads, length, size] or [batch, length, heads * size]; tables of cosines and sines with
// a row for each position, which position_ids pick, or with one for each element of the sequences.
std::vector<Expr> rotary_embedding_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const bool packed = has_packed_heads(c);
  const Expr x = packed ? split_heads(c.input(0), c.node().int_or("num_heads", 1)) : c.input(0);
  const auto table = [&](size_t input) {
    const Expr rows = c.has_input(3) ? gather(c.input(input), c.input(3), 0) : c.input(input);
    return unsqueeze(rows, b.integers({packed ? 2 : 1}));  // the same for all heads
  };
  const bool interleaved = c.node().int_or("interleaved", 0) != 0;
  const int64_t size = c.node().int_or("rotary_embedding_dim", 0);
  const auto merged = [&](Expr y) { return packed ? merge_heads(y) : y; };
  if (size == 0) return {merged(turned(x, table(1), table(2), interleaved))};
  const Expr end = b.integers({size});
  const Expr first = turned(last_part(x, b.integers({0}), end), table(1), table(2), interleaved);
  return {merged(concat({first, last_part(x, end, dim_of(x, -1))}, -1))};
}

// ---- TensorScatter

/// Where along the axis each element of the update goes, in the update's shape.
Expr written_places(const Node& node, Expr cache, Expr update, std::optional<Expr> begins) {
  Builder& b = cache.builder();
  const int64_t axis = node.int_or("axis", -2);
  const Expr one = b.integers({1});
  const Expr behind = axis < 0 ? b.integers(std::vector<int64_t>(static_cast<size_t>(-axis - 1), 1))
                               : expand(one, rank_of(cache) - static_cast<double>(axis + 1));
  const Expr length = dim_of(update, axis);
  Expr places = reshape(numbers_below(length), concat({length, behind}, 0));
  if (begins) {
    const Expr ones = expand(one, rank_of(cache) - 1);
    places = places + reshape(*begins, concat({shape_of(*begins), ones}, 0));
  }
  const Expr size = dim_of(cache, axis), zero = b.scalar(0, DType::i64);
  if (node.string_or("mode", "linear") == "circular") {
    const Expr rest = places - places / size * size;
    places = where(less(rest, zero), rest + size, rest);
  } else if (begins) {
    // Places before the first would count from the end: one behind it is refused by whatever runs
    // it.
    places = where(less(places, zero), size, places);
  }
  return expand(places, shape_of(update));
}

std::vector<Expr> tensor_scatter_expansion(const ExpandContext& c) {
  std::optional<Expr> begins;
  if (c.has_input(2)) begins = c.input(2);
  const Expr cache = c.input(0), update = c.input(1);
  const Expr places = written_places(c.node(), cache, update, begins);
  return {c.builder().add("ScatterElements", values({cache, places, update}), cache.dtype(),
                          {{"axis", c.node().int_or("axis", -2)}})};
}

// What is overwritten has no gradient; the update has that of its places.
Grads tensor_scatter_vjp(const VjpContext& c) {
  std::optional<Expr> begins;
  if (c.has_input(2)) begins = c.input(2);
  const Expr update = c.input(1), dy = c.grad(0);
  const int64_t axis = c.attribute("axis", -2);
  std::vector<Value*> inputs = values({dy, zeros_like(update)});
  if (begins) inputs.push_back(begins->value());
  const Expr kept =
      c.builder().add("TensorScatter", std::move(inputs), dy.dtype(),
                      {{"axis", axis}, {"mode", c.node().string_or("mode", "linear")}});
  const Expr places = written_places(c.node(), c.input(0), update, begins);
  return {kept,
          c.builder().add("GatherElements", values({dy, places}), dy.dtype(), {{"axis", axis}})};
}

// ---- CausalConvWithState

/// x sigmoid(x), of small types in float32.
Expr swish(Expr x) {
  const Expr wide = bits(x.dtype()) < 32 ? cast(x, DType::f32) : x;
  return cast(wide * sigmoid(wide), x.dtype());
}

int64_t known_channels(const ExpandContext& c) {
  for (const auto& [input, axis] : {std::pair<size_t, size_t>{0, 1}, {1, 0}}) {
    const auto& shape = c.node().input(input)->type.shape;
    if (shape && axis < shape->size() && (*shape)[axis].value) return *(*shape)[axis].value;
  }
  throw Error(
      fmt::format("the number of channels of '{}' must be known", c.node().input(0)->name()));
}

// Each channel of x [batch, channels, length] is convolved with its own kernel of k taps, which
// reads k - 1 elements of the past before the first: the state, or zeros.
std::vector<Expr> causal_conv_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const Expr x = c.input(0), w = c.input(1), taps = dim_of(w, 2) - 1;
  const Expr past = c.has_input(3) ? c.input(3)
                                   : expand(b.scalar(0, x.dtype()),
                                            concat({dim_of(x, 0), dim_of(x, 1), taps}, 0));
  const Expr whole = concat({past, x}, 2);
  std::vector<Value*> inputs = values({whole, w});
  if (c.has_input(2)) inputs.push_back(c.input(2).value());
  const Expr y = b.add("Conv", std::move(inputs), x.dtype(), {{"group", known_channels(c)}});
  const std::string activation = c.node().string_or("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish") {
    throw Error(fmt::format("its activation '{}' is none of the standard's", activation));
  }
  const Expr state = slice(whole, dim_of(x, 2), dim_of(whole, 2), b.integers({2}));
  return {activation == "none" ? y : swish(y), state};
}

// ---- LinearAttention

/// How the state S [batch, heads, keys, values] goes on from one element to the next.
struct StateUpdate {
  bool is_gated, is_delta;

  static StateUpdate of(const ExpandContext& c) {
    const std::string rule = c.node().string_or("update_rule", "gated_delta");
    if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta") {
      throw Error(fmt::format("its update_rule '{}' is none of the standard's", rule));
    }
    const StateUpdate update{rule.starts_with("gated"), rule.ends_with("delta")};
    if (update.is_gated != c.has_input(4) || update.is_delta != c.has_input(5)) {
      throw Error(fmt::format("update_rule '{}' takes {} decay and {} beta", rule,
                              update.is_gated ? "a" : "no", update.is_delta ? "a" : "no"));
    }
    return update;
  }
};

/// [batch, time, heads * size] as [time, batch, heads, size], in float32.
Expr over_time(Expr x, int64_t heads) {
  return transpose(split_heads(cast(x, DType::f32), heads), {1, 0, 2, 3});
}

// S = exp(g) S + k (v - k^T S) beta, y = scale q^T S, where g, beta and the correction of v are
// those of the rule. Query heads that share one of the keys are rows of a matrix.
std::vector<Expr> linear_attention_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const StateUpdate update = StateUpdate::of(c);
  const int64_t q_heads = c.node().int_or("q_num_heads", 1);
  const int64_t heads = c.node().int_or("kv_num_heads", 1), group = q_heads / heads;
  const Expr query = c.input(0), value = c.input(2);
  const Expr keys = dim_of(query, 2) / static_cast<double>(q_heads);
  const Expr size = dim_of(value, 2) / static_cast<double>(heads);
  const Expr batch = dim_of(query, 0), time = dim_of(query, 1);
  const DType state_type = c.has_input(3) ? c.input(3).dtype() : query.dtype();
  const Expr initial = c.has_input(3) ? cast(c.input(3), DType::f32)
                                      : expand(b.scalar(0, DType::f32),
                                               concat({batch, b.integers({heads}), keys, size}, 0));

  auto body = std::make_unique<Graph>(&b.graph());
  body->name = b.fresh("element");
  Builder inside = b.inside(*body);
  const auto input = [&](const char* name, size_t dims) {
    return inside.expr(body->add_input(b.fresh(name), Type::tensor(DType::f32, Shape(dims))));
  };
  const Expr before = input("state", 4);
  std::vector<Value*> inputs = {initial.value()};
  const auto element = [&](const char* name, Expr whole, size_t dims) {
    inputs.push_back(whole.value());
    return input(name, dims);
  };
  const Expr grouped = reshape(over_time(query, q_heads),
                               concat({time, batch, b.integers({heads, group}), keys}, 0));
  const Expr q = element("q", grouped, 4);
  const Expr k = element("k", over_time(c.input(1), heads), 3);
  const Expr v = element("v", over_time(value, heads), 3);
  const Expr last = inside.integers({-1}), row = inside.integers({-2});
  Expr state = before;
  if (update.is_gated) {
    const Expr g = element("g", over_time(c.input(4), heads), 3);
    state = state * exp(unsqueeze(g, last));
  }
  Expr written = unsqueeze(v, row);  // [batch, heads, 1, values]
  if (update.is_delta) {
    // One for each head, or one for all: [time, batch, heads or 1, 1].
    const Expr rates = transpose(cast(c.input(5), DType::f32), {1, 0, 2});
    const Expr beta = element("beta", unsqueeze(rates, b.integers({-1})), 3);
    written = unsqueeze(beta, last) * (written - matmul(unsqueeze(k, row), state));
  }
  state = state + unsqueeze(k, last) * written;
  const Expr read = matmul(q, state);  // [batch, heads, group, values]
  body->add_output(state.value());
  body->add_output(read.value());

  SubgraphNode scan{
      .op = "Scan",
      .inputs = std::move(inputs),
      .attributes = {},
      .graphs = {},
      .outputs = {Type::tensor(DType::f32, Shape(4)), Type::tensor(DType::f32, Shape(5))}};
  const auto sequences = static_cast<int64_t>(scan.inputs.size() - 1);
  scan.attributes.push_back({"num_scan_inputs", sequences});
  scan.graphs.emplace_back("body", std::move(body));
  const std::vector<Expr> results = add_subgraph_node(b, std::move(scan));

  const auto given = static_cast<double>(c.node().float_or("scale", 0));
  const Expr scale = given != 0 ? b.scalar(given, DType::f32) : 1 / sqrt(cast(keys, DType::f32));
  const Expr y = transpose(results[1] * scale, {1, 0, 2, 3, 4});
  const Expr packed = reshape(y, concat({batch, time, size * static_cast<double>(q_heads)}, 0));
  return {cast(packed, query.dtype()), cast(results[0], state_type)};
}

const OpDef kAttentionStateOps[] = {
    {.name = "CausalConvWithState",
     .expansion = causal_conv_expansion,
     .inputs = {In::data, In::weight, In::bias, In::data}},
    {.name = "LinearAttention", .expansion = linear_attention_expansion},
    {.name = "RotaryEmbedding",
     .expansion = rotary_embedding_expansion,
     .inputs = {In::data, In::setting, In::setting, In::index}},
    {.name = "TensorScatter",
     .vjp = tensor_scatter_vjp,
     .expansion = tensor_scatter_expansion,
     .traits = kMovesData,
     .inputs = {In::data, In::data, In::index}},
};

}  // namespace

std::span<const OpDef> attention_state_ops() { return kAttentionStateOps; }

}  // namespace onward
