#include "tests/ops/case.h"

namespace onward {
namespace {

/// Queries of 3 elements, keys and values of 4, in 2 heads of 2 sequences.
std::vector<CaseInput> of_heads(std::vector<CaseInput> more = {}) {
  std::vector<CaseInput> inputs = {f64("q", {2, 2, 3, 4}), f64("k", {2, 2, 4, 4}),
                                   f64("v", {2, 2, 4, 3})};
  inputs.insert(inputs.end(), more.begin(), more.end());
  return inputs;
}

/// The same with the heads in the last dimension.
std::vector<CaseInput> packed(std::vector<CaseInput> more = {}) {
  std::vector<CaseInput> inputs = {f64("q", {2, 3, 8}), f64("k", {2, 4, 8}), f64("v", {2, 4, 6})};
  inputs.insert(inputs.end(), more.begin(), more.end());
  return inputs;
}

const Case kCases[] = {
    {"Attention", "y = Attention(q, k, v)", of_heads()},
    {"Attention scale", "y = Attention<scale = 0.75>(q, k, v)", of_heads()},
    {"Attention of packed heads", "y = Attention<q_num_heads = 2, kv_num_heads = 2>(q, k, v)",
     packed()},
    {"Attention of packed heads that share keys",
     "y = Attention<q_num_heads = 4, kv_num_heads = 2, is_causal = 1>(q, k, v)",
     {f64("q", {2, 3, 8}), f64("k", {2, 3, 4}), f64("v", {2, 3, 6})}},
    {"Attention of heads that share keys",
     "y = Attention(q, k, v)",
     {f64("q", {1, 4, 2, 3}), f64("k", {1, 2, 3, 3}), f64("v", {1, 2, 3, 2})}},
    {"Attention causal", "y = Attention<is_causal = 1>(q, k, v)", of_heads()},
    {"Attention causal with a past",
     "y, pk, pv = Attention<is_causal = 1>(q, k, v, , past_k, past_v)",
     {f64("q", {2, 2, 3, 4}), f64("k", {2, 2, 3, 4}), f64("v", {2, 2, 3, 3}),
      f64("past_k", {2, 2, 2, 4}), f64("past_v", {2, 2, 2, 3})},
     {},
     {"y", "pk", "pv"}},
    {"Attention of packed heads with a past",
     "y, pk, pv = Attention<q_num_heads = 2, kv_num_heads = 2>(q, k, v, , past_k, past_v)",
     packed({f64("past_k", {2, 2, 1, 4}), f64("past_v", {2, 2, 1, 3})}),
     {},
     {"y", "pk", "pv"}},
    // The second query of each sequence may look at no key.
    {"Attention with a mask", "y = Attention(q, k, v, m)",
     of_heads({boolean("m", {3, 4}, {1, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1, 0})})},
    {"Attention with a mask of each sequence, causal", "y = Attention<is_causal = 1>(q, k, v, m)",
     of_heads({boolean("m", {2, 1, 1, 4}, {1, 0, 1, 1, 0, 1, 1, 0})})},
    {"Attention with what is added", "y = Attention(q, k, v, m)", of_heads({f64("m", {3, 4})})},
    {"Attention with what is added to each head, causal",
     "y = Attention<is_causal = 1>(q, k, v, m)", of_heads({f64("m", {2, 2, 3, 4})})},
    {"Attention with a mask that ends early", "y = Attention(q, k, v, m)",
     of_heads({boolean("m", {3, 2}, {1, 0, 1, 1, 0, 1})})},
    {"Attention with what is added to the first keys", "y = Attention(q, k, v, m, , , n)",
     of_heads({f64("m", {3, 3}), i64("n", {3, 2})})},
    {"Attention of lengths", "y = Attention(q, k, v, , , , n)", of_heads({i64("n", {4, 2})})},
    // There are more queries than keys in the second sequence.
    {"Attention of lengths, causal", "y = Attention<is_causal = 1>(q, k, v, , , , n)",
     of_heads({i64("n", {4, 2})})},
    {"Attention softcap", "y = Attention<softcap = 1.5>(q, k, v)", of_heads()},
    {"Attention softmax_precision", "y = Attention<softmax_precision = 11>(q, k, v)", of_heads()},
    {"Attention windows", "y = Attention<left_window_size = 1, right_window_size = 0>(q, k, v)",
     of_heads()},
    {"Attention windows that leave queries alone",
     "y = Attention<left_window_size = 0>(q, k, v)",
     {f64("q", {1, 1, 4, 2}), f64("k", {1, 1, 2, 2}), f64("v", {1, 1, 2, 2})}},
    {"Attention windows over a past",
     "y = Attention<is_causal = 1, left_window_size = 2>(q, k, v, , past_k, past_v)",
     of_heads({f64("past_k", {2, 2, 2, 4}), f64("past_v", {2, 2, 2, 3})})},
    {"Attention and its products",
     "y, , , s = Attention<qk_matmul_output_mode = 0, softcap = 2.0>(q, k, v)",
     of_heads(),
     {},
     {"y", "s"}},
    {"Attention and its capped products",
     "y, , , s = Attention<qk_matmul_output_mode = 1, softcap = 2.0, is_causal = 1>(q, k, v)",
     of_heads(),
     {},
     {"y", "s"}},
    {"Attention and its scores",
     "y, , , s = Attention<qk_matmul_output_mode = 2>(q, k, v, m)",
     of_heads({f64("m", {3, 4})}),
     {},
     {"y", "s"}},
    {"Attention and its probabilities",
     "y, , , s = Attention<qk_matmul_output_mode = 3>(q, k, v, m)",
     of_heads({boolean("m", {3, 4}, {1, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1, 0})}),
     {},
     {"y", "s"}},
    {"TensorScatter",
     "y = TensorScatter(cache, x)",
     {f64("cache", {2, 4, 3}), f64("x", {2, 2, 3})}},
    {"TensorScatter at places",
     "y = TensorScatter(cache, x, at)",
     {f64("cache", {2, 2, 4, 3}), f64("x", {2, 2, 2, 3}), i64("at", {2, 1})}},
    {"TensorScatter axis",
     "y = TensorScatter<axis = 1>(cache, x, at)",
     {f64("cache", {2, 4, 3, 2}), f64("x", {2, 2, 3, 2}), i64("at", {2, 0})}},
    {"TensorScatter in a circle",
     "y = TensorScatter<mode = \"circular\">(cache, x, at)",
     {f64("cache", {2, 4, 3}), f64("x", {2, 3, 3}), i64("at", {3, 9})}},
    Case{"Attention of heads that do not fit",
         "y = Attention<q_num_heads = 3, kv_num_heads = 2>(q, k, v)", packed()}
        .refused("8 elements cannot be divided among 3 heads"),
    Case{"TensorScatter beyond the end",
         "y = TensorScatter(cache, x, at)",
         {f64("cache", {2, 4, 3}), f64("x", {2, 2, 3}), i64("at", {0, 3})}}
        .refused("it writes 2 elements from 3 on, of 4"),
};

}  // namespace

std::span<const Case> attention_cases() { return kCases; }

}  // namespace onward
