// Operators that know no float64; tests/ops/f32_gradient_test.cpp has their gradients.

#include "tests/ops/case.h"

namespace onward {
namespace {

Case in_float(std::string name, std::string text, std::vector<CaseInput> inputs) {
  return Case{std::move(name), std::move(text), std::move(inputs)}.in_f32().without_gradient();
}

const Case kCases[] = {
    in_float("RotaryEmbedding", "y = RotaryEmbedding(x, c, s)",
             {f64("x", {2, 3, 2, 4}), f64("c", {2, 2, 2}), f64("s", {2, 2, 2})}),
    in_float("RotaryEmbedding of positions", "y = RotaryEmbedding(x, c, s, at)",
             {f64("x", {2, 3, 2, 4}), f64("c", {5, 2}), f64("s", {5, 2}),
              i64("at", {2, 2}, {0, 4, 2, 2})}),
    in_float("RotaryEmbedding of packed heads, interleaved",
             "y = RotaryEmbedding<num_heads = 3, interleaved = 1>(x, c, s, at)",
             {f64("x", {2, 2, 12}), f64("c", {5, 2}), f64("s", {5, 2}),
              i64("at", {2, 2}, {0, 4, 2, 2})}),
    in_float("RotaryEmbedding of a part", "y = RotaryEmbedding<rotary_embedding_dim = 4>(x, c, s)",
             {f64("x", {1, 2, 2, 6}), f64("c", {1, 2, 2}), f64("s", {1, 2, 2})}),
    in_float(
        "RotaryEmbedding of a part, interleaved",
        "y = RotaryEmbedding<rotary_embedding_dim = 4, interleaved = 1, num_heads = 2>(x, c, s)",
        {f64("x", {1, 2, 12}), f64("c", {1, 2, 2}), f64("s", {1, 2, 2})}),
    in_float("CausalConvWithState", "y, p = CausalConvWithState(x, w)",
             {f64("x", {2, 3, 5}), f64("w", {3, 1, 3})})
        .giving({"y", "p"}),
    in_float("CausalConvWithState of a past",
             "y, p = CausalConvWithState<activation = \"silu\">(x, w, b, past)",
             {f64("x", {2, 3, 2}), f64("w", {3, 1, 4}), f64("b", {3}), f64("past", {2, 3, 3})})
        .giving({"y", "p"}),
    in_float("CausalConvWithState of one tap",
             "y, p = CausalConvWithState<activation = \"swish\">(x, w, b)",
             {f64("x", {2, 3, 2}), f64("w", {3, 1, 1}), f64("b", {3})}),
    in_float("LinearAttention",
             "y, s = LinearAttention<q_num_heads = 2, kv_num_heads = 2, update_rule = \"linear\","
             " scale = 0.5, chunk_size = 2>(q, k, v)",
             {f64("q", {2, 3, 4}), f64("k", {2, 3, 4}), f64("v", {2, 3, 6})})
        .giving({"y", "s"}),
    in_float("LinearAttention gated",
             "y, s = LinearAttention<q_num_heads = 4, kv_num_heads = 2, update_rule = \"gated\">"
             "(q, k, v, past, g)",
             {f64("q", {2, 3, 8}), f64("k", {2, 3, 4}), f64("v", {2, 3, 6}),
              f64("past", {2, 2, 2, 3}), f64("g", {2, 3, 4}, -1, 0)})
        .giving({"y", "s"}),
    in_float("LinearAttention delta",
             "y, s = LinearAttention<q_num_heads = 2, kv_num_heads = 1, update_rule = \"delta\">"
             "(q, k, v, , , beta)",
             {f64("q", {1, 3, 4}), f64("k", {1, 3, 2}, -0.7, 0.7), f64("v", {1, 3, 3}),
              f64("beta", {1, 3, 1}, 0, 1)})
        .giving({"y", "s"}),
    in_float("LinearAttention gated delta",
             "y, s = LinearAttention<q_num_heads = 2, kv_num_heads = 2>(q, k, v, , g, beta)",
             {f64("q", {1, 3, 4}), f64("k", {1, 3, 4}, -0.7, 0.7), f64("v", {1, 3, 6}),
              f64("g", {1, 3, 2}, -1, 0), f64("beta", {1, 3, 2}, 0, 1)})
        .giving({"y", "s"}),
    in_float("RotaryEmbedding of tables that do not fit", "y = RotaryEmbedding(x, c, s)",
             {f64("x", {2, 3, 2, 4}), f64("c", {2, 2, 3}), f64("s", {2, 2, 3})})
        .refused("its last dimension is 3, not half of 4"),
    in_float("LinearAttention without its decay",
             "y, s = LinearAttention<q_num_heads = 2, kv_num_heads = 2, update_rule = \"gated\">"
             "(q, k, v)",
             {f64("q", {1, 3, 4}), f64("k", {1, 3, 4}), f64("v", {1, 3, 6})})
        .refused("update_rule 'gated' takes a decay and no beta"),
};

}  // namespace

std::span<const Case> attention_state_cases() { return kCases; }

}  // namespace onward
