"""Training jobs that the tests hand over: small networks in float64, every optimizer in every formula."""

import subprocess

import numpy as np
from safetensors.numpy import load_file, save_file

from emitted import TOOLS, onward

# Names as PyTorch gives them, one layer of each kind; the loss reads what comes before the Softmax.
NETWORK = """
<ir_version: 8, opset_import: ["" : 17]>
network ({type}[N,2,8,8] image) => ({type}[N,3] probabilities) <
  {type}[4,2,3,3] "features.0.weight" = normal(1, 0.3),
  {type}[4] "features.0.bias" = uniform(2, -0.1, 0.1),
  {type}[4] "features.1.weight" = uniform(3, 0.5, 1.5),
  {type}[4] "features.1.bias" = uniform(4, -0.2, 0.2),
  {type}[4] "features.1.running_mean" = uniform(5, -0.1, 0.1),
  {type}[4] "features.1.running_var" = uniform(6, 0.5, 1.5),
  {type}[4,1,2,2] "features.4.weight" = normal(7, 0.4),
  {type}[36,5] dense = normal(8, 0.2),
  {type}[5] dense_bias = uniform(9, -0.1, 0.1),
  {type}[5] "norm.weight" = uniform(10, 0.5, 1.5),
  {type}[5] "norm.bias" = uniform(11, -0.1, 0.1),
  {type}[3,5] "head.weight" = normal(12, 0.4),
  {type}[3] "head.bias" = uniform(13, -0.1, 0.1)
>
{{
  c = Conv<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(image, "features.0.weight", "features.0.bias")
  b = BatchNormalization(c, "features.1.weight", "features.1.bias", "features.1.running_mean",
                         "features.1.running_var")
  r = Relu(b)
  p = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(r)
  d = Conv<group = 4, pads = [0, 0, 0, 0]>(p, "features.4.weight")
  f = Flatten(d)
  product = MatMul(f, dense)
  h = Add(product, dense_bias)
  t = Tanh(h)
  n = LayerNormalization<axis = -1>(t, "norm.weight", "norm.bias")
  logits = Gemm<transB = 1>(n, "head.weight", "head.bias")
  probabilities = Softmax<axis = 1>(logits)
}}
"""

# Rows of a table, some of them read several times; classes for each place, in dimension 1.
TABLE = """
<ir_version: 8, opset_import: ["" : 17]>
table (int64[N,6] image) => ({type}[N,3,6] scores) <
  {type}[5,4] "rows.weight" = normal(1, 0.5),
  {type}[4,3] "head.weight" = normal(2, 0.5),
  {type}[3] "head.bias" = uniform(3, -0.1, 0.1)
>
{{
  read = Gather("rows.weight", image)
  product = MatMul(read, "head.weight")
  sum = Add(product, "head.bias")
  scores = Transpose<perm = [0, 2, 1]>(sum)
}}
"""

# Recurrent layers as exporters write them: both ways and batch first, backwards with a first state, with the sequences
# apart; names are PyTorch's for the first one, and the standard's.
LSTM = """
<ir_version: 8, opset_import: ["" : 17]>
texts ({type}[N,5,4] image) => ({type}[N,3] probabilities) <
  {type}[2,12,4] "lstm.W" = normal(1, 0.5), {type}[2,12,3] "lstm.R" = normal(2, 0.5),
  {type}[2,24] "lstm.B" = normal(3, 0.3),
  {type}[1,8,6] "second.W" = normal(4, 0.5), {type}[1,8,2] "second.R" = normal(5, 0.5),
  {type}[1,16] "second.B" = normal(6, 0.3),
  {type}[5,3] "head.weight" = normal(7, 0.5), {type}[3] "head.bias" = normal(8, 0.1)
>
{{
  turned = Transpose<perm = [1, 0, 2]>(image)
  apart, last, cell = LSTM<hidden_size = 3, direction = "bidirectional">(turned, "lstm.W", "lstm.R", "lstm.B")
  near = Transpose<perm = [0, 2, 1, 3]>(apart)
  sizes = Constant<value = int64[3] {{0, 0, -1}}>()
  beside = Reshape(near, sizes)
  y = Transpose<perm = [1, 0, 2]>(beside)
  again = Transpose<perm = [1, 0, 2]>(y)
  split, h, c = LSTM<hidden_size = 2, direction = "reverse">(again, "second.W", "second.R", "second.B")
  axis = Constant<value = int64[1] {{0}}>()
  state = Squeeze(h, axis)
  zero = Constant<value = int64 {{0}}>()
  cells = Gather<axis = 0>(cell, zero)
  both = Concat<axis = 1>(state, cells)
  logits = MatMul(both, "head.weight")
  scores = Add(logits, "head.bias")
  probabilities = Softmax<axis = 1>(scores)
}}
"""

GRU = """
<ir_version: 8, opset_import: ["" : 17]>
texts ({type}[N,5,4] image) => ({type}[N,3] probabilities) <
  {type}[2,9,4] "gru.W" = normal(1, 0.5), {type}[2,9,3] "gru.R" = normal(2, 0.5), {type}[2,18] "gru.B" = normal(3, 0.3),
  {type}[1,2,6] "rnn.W" = normal(4, 0.5), {type}[1,2,2] "rnn.R" = normal(5, 0.5), {type}[1,4] "rnn.B" = normal(6, 0.3),
  {type}[1,1,2] start = normal(9, 0.5),
  {type}[5,3] "head.weight" = normal(7, 0.5), {type}[3] "head.bias" = normal(8, 0.1)
>
{{
  apart, last = GRU<hidden_size = 3, direction = "bidirectional", linear_before_reset = 1, layout = 1>
    (image, "gru.W", "gru.R", "gru.B")
  sizes = Constant<value = int64[3] {{0, 0, -1}}>()
  beside = Reshape(apart, sizes)
  turned = Transpose<perm = [1, 0, 2]>(beside)
  rows = Shape<start = 0, end = 1>(image)
  one = Constant<value = int64[1] {{1}}>()
  wanted = Concat<axis = 0>(one, rows, one)
  first = Expand(start, wanted)
  all, h = RNN<hidden_size = 2, activations = ["Relu"]>(turned, "rnn.W", "rnn.R", "rnn.B", , first)
  axis = Constant<value = int64[1] {{0}}>()
  end = Constant<value = int64 {{-1}}>()
  state = Gather<axis = 0>(all, end)
  flat = Squeeze(state, axis)
  backwards = Constant<value = int64 {{1}}>()
  more = Gather<axis = 1>(last, backwards)
  both = Concat<axis = 1>(flat, more)
  logits = MatMul(both, "head.weight")
  scores = Add(logits, "head.bias")
  probabilities = Softmax<axis = 1>(scores)
}}
"""

# The biases of a GRU as PyTorch has them.
TWO_BIASES = GRU.replace('{type}[2,18] "gru.B" = normal(3, 0.3)',
                         '{type}[2,9] "gru.Wb" = normal(3, 0.3), {type}[2,9] "gru.Rb" = normal(4, 0.3)').replace(
    "  apart, last", '  biases = Concat<axis = 1>("gru.Wb", "gru.Rb")\n  apart, last').replace('"gru.B"', "biases")

# What Keras has layers for: one bias, of which nothing else is left; the reset gate before the product.
ONE_BIAS = """
<ir_version: 8, opset_import: ["" : 17]>
texts ({type}[N,5,4] image) => ({type}[N,3] probabilities) <
  {type}[1,12,4] "lstm.W" = normal(1, 0.5), {type}[1,12,3] "lstm.R" = normal(2, 0.5), {type}[1,12] "lstm.B" = normal(3, 0.3),
  {type}[1,6,3] "gru.W" = normal(4, 0.5), {type}[1,6,2] "gru.R" = normal(5, 0.5), {type}[1,6] "gru.B" = normal(6, 0.3),
  {type}[1,2,3] "rnn.W" = normal(4, 0.5), {type}[1,2,2] "rnn.R" = normal(5, 0.5),
  {type}[4,3] "head.weight" = normal(7, 0.5), {type}[3] "head.bias" = normal(8, 0.1)
>
{{
  none = Constant<value = {type}[1,12] {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}}>()
  few = Constant<value = {type}[1,6] {{0, 0, 0, 0, 0, 0}}>()
  biases = Concat<axis = 1>("lstm.B", none)
  apart = LSTM<hidden_size = 3, layout = 1, direction = "reverse">(image, "lstm.W", "lstm.R", biases)
  beside = Constant<value = int64[1] {{2}}>()
  y = Squeeze(apart, beside)
  others = Concat<axis = 1>(few, "gru.B")
  , h = GRU<hidden_size = 2, layout = 1>(y, "gru.W", "gru.R", others)
  , last = RNN<hidden_size = 2, layout = 1>(y, "rnn.W", "rnn.R")
  axis = Constant<value = int64[1] {{1}}>()
  state = Squeeze(h, axis)
  other = Squeeze(last, axis)
  both = Concat<axis = 1>(state, other)
  logits = MatMul(both, "head.weight")
  scores = Add(logits, "head.bias")
  probabilities = Softmax<axis = 1>(scores)
}}
"""

# Loops and branches that read weights around them.
CONTROL_FLOW = """
<ir_version: 8, opset_import: ["" : 17]>
steps ({type}[N,5,4] image) => ({type}[N,3] probabilities) <
  {type}[4,4] "cell.weight" = normal(1, 0.5), {type}[4] "cell.bias" = normal(2, 0.3),
  {type}[4,4] "again.weight" = normal(3, 0.5),
  {type}[4,3] "head.weight" = normal(7, 0.5), {type}[3] "head.bias" = normal(8, 0.1)
>
{{
  first = ReduceMin<keepdims = 0, axes = [1]>(image)
  last, all = Scan<num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [1], scan_output_axes = [1],
    body = step ({type}[n, k] state, {type}[n, k] row) => ({type}[n, k] next, {type}[n, k] shown) {{
      product = MatMul(state, "cell.weight")
      moved = Add(product, "cell.bias")
      mixed = Add(moved, row)
      next = Tanh(mixed)
      shown = Mul(next, row)
    }}>(first, image)
  mean = ReduceMean<keepdims = 0, axes = [1]>(all)
  times = Constant<value = int64 {{3}}>()
  more = Loop<body = again (int64 i, bool go, {type}[n, k] s) => (bool on, {type}[n, k] t) {{
      on = Identity(go)
      one = Constant<value = int64 {{1}}>()
      is_first = Less(i, one)
      t = If<then_branch = yes () => ({type}[n, k] a) {{ p = MatMul(s, "again.weight") a = Sigmoid(p) }},
             else_branch = no () => ({type}[n, k] b) {{ b = Sin(s) }}>(is_first)
    }}>(times, , last)
  both = Add(more, mean)
  logits = MatMul(both, "head.weight")
  scores = Add(logits, "head.bias")
  probabilities = Softmax<axis = 1>(scores)
}}
"""

# Loops that data ends, after 3 to 9 iterations: one with results of all of them, and one without a bound.
OPEN_LOOPS = """
<ir_version: 8, opset_import: ["" : 17]>
steps ({type}[N,5,4] image) => ({type}[N,3] probabilities) <
  {type}[4,4] "cell.weight" = normal(1, 0.5), {type}[4,4] "grow.weight" = normal(3, 0.4),
  {type}[4,3] "head.weight" = normal(7, 0.5), {type}[3] "head.bias" = normal(8, 0.1)
>
{{
  first = ReduceMin<keepdims = 0, axes = [1]>(image)
  go = Constant<value = bool {{1}}>()
  times = Constant<value = int64 {{6}}>()
  last, all = Loop<body = again (int64 i, bool given, {type}[n, k] s)
    => (bool on, {type}[n, k] t, {type}[n, k] shown) {{
      product = MatMul(s, "cell.weight")
      t = Tanh(product)
      shown = Mul(t, s)
      squares = Mul(t, t)
      size = ReduceMean<keepdims = 0>(squares)
      limit = Constant<value = {type} {{0.06}}>()
      on = Greater(size, limit)
    }}>(times, go, first)
  mean = ReduceMean<keepdims = 0, axes = [0]>(all)
  more = Loop<body = grow (int64 j, bool held, {type}[n, k] u) => (bool goes, {type}[n, k] v) {{
      longer = MatMul(u, "grow.weight")
      v = Sin(longer)
      energies = Mul(v, v)
      energy = ReduceMean<keepdims = 0>(energies)
      most = Constant<value = {type} {{0.15}}>()
      is_small = Less(energy, most)
      ten = Constant<value = int64 {{10}}>()
      is_early = Less(j, ten)
      goes = And(is_small, is_early)
    }}>(, go, last)
  both = Add(more, mean)
  logits = MatMul(both, "head.weight")
  scores = Add(logits, "head.bias")
  probabilities = Softmax<axis = 1>(scores)
}}
"""

# Settings that are not the defaults, all that the formula has: a number that gets lost shows.
OPTIMIZERS = {
    ("sgd", "torch"): ["--weight-decay", "0.01"],
    ("momentum", "torch"): ["--momentum", "0.9", "--dampening", "0.25", "--weight-decay", "0.01"],
    ("nesterov", "torch"): ["--momentum", "0.8", "--weight-decay", "0.01"],
    ("adam", "torch"): ["--beta1", "0.8", "--beta2", "0.99", "--epsilon", "1e-3", "--weight-decay", "0.01", "--amsgrad", "1"],
    ("adamw", "torch"): ["--beta1", "0.8", "--beta2", "0.99", "--epsilon", "1e-3", "--weight-decay", "0.05"],
    # Their steps go by signs, which a bias before a normalization has none of: its gradient is rounding errors.
    ("rprop", "torch"): ["--eta-minus", "0.4", "--eta-plus", "1.3", "--min-step", "0.001", "--max-step", "0.03", "--freeze",
                         "features.0.*"],
    ("lion", "keras"): ["--beta1", "0.8125", "--beta2", "0.9921875", "--weight-decay", "0.0078125", "--freeze",
                        "features.0.*"],
    ("adamax", "torch"): ["--beta1", "0.8", "--beta2", "0.9", "--epsilon", "1e-3", "--weight-decay", "0.01"],
    ("radam", "torch"): ["--beta1", "0.8", "--beta2", "0.9", "--epsilon", "1e-3", "--weight-decay", "0.01",
                         "--decoupled-weight-decay", "1"],
    ("adadelta", "torch"): ["--rho", "0.8", "--epsilon", "1e-3", "--weight-decay", "0.01"],
    ("adagrad", "torch"): ["--lr-decay", "0.1", "--initial-accumulator", "0.2", "--epsilon", "1e-3", "--weight-decay", "0.01"],
    ("rmsprop", "torch"): ["--rho", "0.9", "--momentum", "0.8", "--centered", "1", "--epsilon", "1e-3", "--weight-decay", "0.01"],
    # Exact in float32, to which Keras on TensorFlow rounds an optimizer's numbers.
    ("sgd", "keras"): ["--weight-decay", "0.0078125"],
    ("momentum", "keras"): ["--momentum", "0.875", "--weight-decay", "0.0078125"],
    ("nesterov", "keras"): ["--momentum", "0.8125", "--weight-decay", "0.0078125"],
    ("adam", "keras"): ["--beta1", "0.8125", "--beta2", "0.9921875", "--epsilon", str(2.0**-10), "--weight-decay", "0.0078125",
                        "--amsgrad", "1"],
    ("adamax", "keras"): ["--beta1", "0.8125", "--beta2", "0.9", "--epsilon", "1e-3", "--weight-decay", "0.0078125"],
    ("adadelta", "keras"): ["--rho", "0.8", "--epsilon", "1e-3", "--weight-decay", "0.0078125"],
    ("adamw", "keras"): ["--weight-decay", "0.046875", "--beta1", "0.875", "--beta2", "0.9921875",
                         "--epsilon", str(2.0**-10)],
    ("adagrad", "keras"): ["--initial-accumulator", "0.1875", "--epsilon", str(2.0**-10), "--weight-decay", "0.0078125"],
    ("rmsprop", "keras"): ["--rho", "0.9", "--momentum", "0.8", "--centered", "1", "--epsilon", "1e-3",
                           "--weight-decay", "0.0078125"],
    ("sgd", "onnx"): [],
    ("momentum", "onnx"): ["--momentum", "0.9", "--dampening", "0.25", "--weight-decay", "0.01"],
    ("nesterov", "onnx"): ["--momentum", "0.8"],
    ("adam", "onnx"): ["--beta1", "0.8", "--beta2", "0.99", "--epsilon", "1e-3", "--weight-decay", "0.01"],
    ("adamw", "onnx"): ["--weight-decay", "0.001"],
    ("adagrad", "onnx"): ["--lr-decay", "0.1", "--epsilon", "1e-3", "--weight-decay", "0.01"],
}


# What the frameworks have no class for, or not with these settings.
MORE_LOSSES = [
    ("softmax_cross_entropy", ["--label-smoothing", "0.1", "--class-weights", "1,2,3"]),
    ("categorical_cross_entropy", ["--label-smoothing", "0.1"]), ("huber", []), ("huber", ["--delta", "0.3"]),
    ("smooth_l1", []), ("bce", []), ("bce_with_logits", ["--pos-weight", "2", "--focal-gamma", "2", "--focal-alpha", "0.25"]),
    ("kl_divergence", []), ("poisson", ["--log-input", "0"]), ("squared_hinge", []), ("cosine_similarity", []),
]


def made_up(network, loss, random):
    """An image, or the numbers of rows, with its label."""
    if network == TABLE:
        return random.integers(0, 5, (6, 6)), random.integers(0, 3, (6, 6))
    image = random.normal(size=(6, 5, 4) if network in (CONTROL_FLOW, GRU, LSTM, ONE_BIAS, OPEN_LOOPS, TWO_BIASES) else (6, 2, 8, 8))
    return image, random.integers(0, 3, 6) if loss == "softmax_cross_entropy" else random.uniform(0, 1, (6, 3))


def batches(folder, network, loss, steps, dtype="float64"):
    """Batches of different data, as a file for the tool and as a list."""
    random = np.random.default_rng(3)
    made = []
    for _ in range(steps):
        pair = made_up(network, loss, random)
        made.append({name: array if array.dtype == np.int64 else array.astype(dtype)
                     for name, array in zip(("image", "label"), pair)})
    file = folder / "data.safetensors"
    save_file({f"{i}.{name}": array for i, batch in enumerate(made) for name, array in batch.items()}, file)
    return file, made


def steps_of(model, data, steps, out):
    """Onward's own losses; the model as it is then goes to OUT.onnx."""
    subprocess.run([TOOLS / "emit_tool", "steps", model, data, str(steps), out], check=True)
    return load_file(f"{out}.safetensors")["loss"]


def prepared(folder, *options, dtype="double", network=NETWORK):
    """A job that has been trained for 3 steps, so that its state is not what it starts with."""
    text = folder / "network.onnxtxt"
    text.write_text(network.format(type=dtype))
    job = folder / "job.onnx"
    onward("prepare", text, "-o", job, *options)
    return job


def differing(one, other):
    """The tensors of two safetensors files that are not bit for bit the same."""
    a, b = load_file(one), load_file(other)
    assert a.keys() == b.keys()
    return [name for name in a if a[name].tobytes() != b[name].tobytes() or a[name].dtype != b[name].dtype]


def relay(folder, target, options, loss="softmax_cross_entropy", dtype="double", steps=20, network=NETWORK):
    """Trains a job for 3 steps, exports it, and gives Onward's next losses with what the other side needs."""
    job = prepared(folder, "--loss", loss, *options, dtype=dtype, network=network)
    numpy_type = {"double": "float64", "float": "float32"}[dtype]
    data, made = batches(folder, network, loss, steps, numpy_type)
    steps_of(job, data, 3, folder / "warm")
    onward("export", folder / "warm.onnx", "--to", target, "-o", folder / target)
    return steps_of(folder / "warm.onnx", data, steps, folder / "ahead"), made


def assert_same_state(folder, target, tolerance):
    """What the framework saved after its steps is what Onward has after the same: weights, running statistics, slots."""
    onward("export", folder / "ahead.onnx", "--to", target, "-o", folder / "expected")
    for file in ("weights", "optimizer"):
        saved, expected = (load_file(folder / each / f"{file}.safetensors") for each in (target, "expected"))
        assert saved.keys() == expected.keys()
        for name in saved:
            if name.endswith("num_batches_tracked"):
                continue
            # A bias before a normalization has no gradient but rounding errors.
            scale = max(np.abs(expected[name]).max(), 1e-6)
            np.testing.assert_allclose(saved[name], expected[name], rtol=tolerance, atol=tolerance * scale, err_msg=name)


def taken_back_exactly(folder, target):
    """`take` gives a file whose export holds, bit for bit, what the framework saved; True if Onward goes on from it."""
    onward("import-weights", folder / target, folder / "warm.onnx", "-o", folder / "taken.onnx")
    onward("export", folder / "taken.onnx", "--to", target, "-o", folder / "again")
    counters = {name for name in load_file(folder / "again/weights.safetensors") if name.endswith("num_batches_tracked")}
    assert set(differing(folder / target / "weights.safetensors", folder / "again/weights.safetensors")) <= counters
    saved, again = (load_file(folder / each / "optimizer.safetensors") for each in (target, "again"))
    assert saved.keys() == again.keys()
    for name in saved:
        np.testing.assert_array_equal(saved[name], again[name], err_msg=name)
