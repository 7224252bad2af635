"""Nodes of attention and of what stands around it."""

from graph import Unsuitable


def heads(g, op, type, shape):
    return g.new(type, shape, -1.5, 1.5)


def attention(g):
    op = "Attention"
    type = g.type_for(op)
    batch, queries, keys, size, value_size = (g.between(1, 4) for _ in range(5))
    kv_heads = g.between(1, 3)
    q_heads = kv_heads * g.one_of(1, 1, 2)
    past = g.between(1, 3) if g.maybe(0.3) else 0
    attributes = {"scale": g.one_of(None, 0.5), "softcap": g.one_of(None, 2.0),
                  "is_causal": g.one_of(None, 0, 1)}
    if g.opset >= 25 and g.maybe(0.3):
        attributes |= {"left_window_size": g.one_of(-1, 0, 2), "right_window_size": g.one_of(-1, 0, 1)}
    if g.maybe(0.4):
        shapes = [(batch, queries, q_heads * size), (batch, keys, kv_heads * size), (batch, keys, kv_heads * value_size)]
        attributes |= {"q_num_heads": q_heads, "kv_num_heads": kv_heads}
        result = (batch, queries, q_heads * value_size)
    else:
        shapes = [(batch, q_heads, queries, size), (batch, kv_heads, keys, size), (batch, kv_heads, keys, value_size)]
        result = (batch, q_heads, queries, value_size)
    inputs = [heads(g, op, type, shape) for shape in shapes]
    total = past + keys
    mask = None
    if g.maybe(0.4):
        shape = g.one_of((queries, total), (batch, 1, queries, total), (1, 1, 1, total))
        mask = g.new(g.one_of("bool", type), shape)
    inputs.append(mask)
    outputs = [(type, result)]
    if past:
        inputs += [heads(g, op, type, (batch, kv_heads, past, each)) for each in (size, value_size)]
        outputs += [(type, (batch, kv_heads, total, each)) for each in (size, value_size)]
        if g.maybe(0.4):
            outputs.append((type, (batch, q_heads, queries, total)))
            attributes["qk_matmul_output_mode"] = g.one_of(None, 0, 1, 2, 3)
    elif g.opset >= 24 and g.maybe(0.3):
        inputs += [None, None, g.number(g.numbers.integers(1, keys + 1, batch))]
    g.add(op, inputs, outputs, **attributes)


def rotary_embedding(g):
    op = "RotaryEmbedding"
    type = g.type_for(op, among=frozenset(["float"]))
    batch, length, count = (g.between(1, 4) for _ in range(3))
    half = g.between(1, 3)
    size = 2 * half
    part = g.one_of(None, 2 * g.between(1, half))
    turned = part or size
    packed = g.maybe(0.5)
    x = heads(g, op, type, (batch, length, count * size) if packed else (batch, count, length, size))
    ids = None
    table = (batch, length, turned // 2)
    if g.maybe(0.5):
        ids = g.number(g.numbers.integers(0, 5, (batch, length)))
        table = (5, turned // 2)
    # A part needs the number of heads in some runtimes, whatever the rank is.
    g.add(op, [x, heads(g, op, type, table), heads(g, op, type, table), ids], [(type, x.shape)],
          interleaved=g.one_of(None, 0, 1), num_heads=count if packed or part else None, rotary_embedding_dim=part)


def tensor_scatter(g):
    op = "TensorScatter"
    cache = g.operand(op, rank=range(3, 5), smallest=1)
    axis = g.one_of(*range(1, cache.rank), *range(1 - cache.rank, 0))
    length = g.between(1, cache.shape[axis])
    shape = list(cache.shape)
    shape[axis] = length
    mode = g.one_of(None, "linear", "circular")
    begins = None
    if g.maybe(0.7):
        most = cache.shape[axis] + 3 if mode == "circular" else cache.shape[axis] - length
        begins = g.number(g.numbers.integers(0, most + 1, cache.shape[0]))
    update = g.operand(op, 1, cache.type, shape=tuple(shape))
    g.add(op, [cache, update, begins], [(cache.type, cache.shape)], axis=axis, mode=mode)


def causal_conv_with_state(g):
    op = "CausalConvWithState"
    type = g.type_for(op, among=frozenset(["float"]))
    batch, channels, length, taps = (g.between(1, 4) for _ in range(4))
    bias = g.new(type, (channels,)) if g.maybe(0.5) else None
    # ONNX's inliner, which a smooth graph needs, fails where an input is left out and a later one is not.
    past = g.new(type, (batch, channels, taps - 1)) if g.maybe(0.5) and (bias or not g.smooth) else None
    inputs = [g.new(type, (batch, channels, length)), g.new(type, (channels, 1, taps)), bias, past]
    g.add(op, inputs, [(type, (batch, channels, length)), (type, (batch, channels, taps - 1))],
          activation=g.one_of(None, "none", "silu", "swish"))


def linear_attention(g):
    op = "LinearAttention"
    if g.smooth:
        raise Unsuitable(op)  # it has no double, and its function has a graph inside, in which nothing is widened
    type = g.type_for(op, among=frozenset(["float"]))
    batch, length, keys, values = (g.between(1, 4) for _ in range(4))
    kv_heads = g.between(1, 2)
    q_heads = kv_heads * g.one_of(1, 2)
    rule = g.one_of("linear", "gated", "delta", "gated_delta")
    state = (batch, kv_heads, keys, values)
    past = g.new(type, state) if g.maybe(0.5) else None
    decay = g.new(type, (batch, length, kv_heads * g.one_of(1, keys)), -1.0, 0.0) if "gated" in rule else None
    beta = g.new(type, (batch, length, g.one_of(1, kv_heads)), 0.0, 1.0) if "delta" in rule else None
    inputs = [g.new(type, (batch, length, q_heads * keys)), g.new(type, (batch, length, kv_heads * keys), -0.5, 0.5),
              g.new(type, (batch, length, kv_heads * values)), past, decay, beta]
    g.add(op, inputs, [(type, (batch, length, q_heads * values)), (type, state)], update_rule=rule,
          q_num_heads=q_heads, kv_num_heads=kv_heads, scale=g.one_of(None, 0.5))


OPERATORS = {
    "Attention": attention,
    "CausalConvWithState": causal_conv_with_state,
    "LinearAttention": linear_attention,
    "RotaryEmbedding": rotary_embedding,
    "TensorScatter": tensor_scatter,
}
