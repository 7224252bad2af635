"""Gradients equal those of torch.autograd, in float64, on every operator case that torch can say.

Each case's model is run node by node with the functions of the table below; then the sum of u y^2 over
its results is differentiated by autograd, and compared with what Onward's gradient graphs gave.
"""

import json
import os
import pathlib
import subprocess

import numpy as np
import onnx
import pytest
import torch
import torch.nn.functional as F
from onnx import numpy_helper

from onward._activations import ACTIVATIONS
from torch_images import IMAGES, MISSING_IMAGES

# Cases that torch has nothing to compare with, and why.
GAPS = {
    "Dropout in training": "random numbers are each one's own",
    "Dropout of the default ratio": "random numbers are each one's own",
    "AveragePool dilations": "torch's average pooling has no dilation",
    **dict.fromkeys(["RNN both ways, batch first, clipped", "RNN of activations with kinks", "RNN of leaky activations",
                     "RNN of Relu and Softplus", "RNN of Softsign", "GRU both ways, batch first",
                     "LSTM both ways, batch first, coupled gates, clipped"], "torch has no such activations"),
    "GRU": "torch's GRU is linear before the reset",
    **MISSING_IMAGES,
    "LSTM of bias, lengths, states and peepholes": "torch's LSTM has no peepholes",
}
# Control flow and containers are Python's own in torch: differences, and the cases of RNNs, check those. Attention is
# compared with torch's own where it is emitted as that, and TensorScatter is ScatterElements.
NO_OPERATORS = ("Attention", "TensorScatter", "If ", "Loop ", "Scan", "Sequence", "ConcatFromSequence", "SplitToSequence", "Optional",
                "Identity of a sequence")


class Node:
    """A node with its attributes, defaults included."""

    def __init__(self, proto, opset):
        self.op, self.inputs, self.outputs = proto.op_type, proto.input, proto.output
        schema = onnx.defs.get_schema(proto.op_type, opset, proto.domain)
        self.given = {a.name: onnx.helper.get_attribute_value(a) for a in proto.attribute}
        self.defaults = {name: onnx.helper.get_attribute_value(a.default_value)
                         for name, a in schema.attributes.items() if a.default_value.name}

    def __getitem__(self, name):
        value = self.given.get(name, self.defaults.get(name))
        return value.decode() if isinstance(value, bytes) else value


def integers(tensor):
    return [int(i) for i in tensor]


def spatial_pads(node, x, kernel, dilations, strides):
    """Begin and end of each spatial dimension."""
    rank = len(kernel)
    if node["auto_pad"] in ("NOTSET", "VALID"):
        pads = node["pads"] or [0] * (2 * rank)
        return list(zip(pads[:rank], pads[rank:]))
    pairs = []
    for size, k, d, s in zip(x.shape[2:], kernel, dilations, strides):
        total = max((-(-size // s) - 1) * s + (k - 1) * d + 1 - size, 0)
        small, large = total // 2, total - total // 2
        pairs.append((small, large) if node["auto_pad"] == "SAME_UPPER" else (large, small))
    return pairs


def pad(x, pairs, value=0.0, mode="constant"):
    """torch counts from the last dimension."""
    flat = [amount for pair in reversed(pairs) for amount in pair]
    return F.pad(x, flat, mode=mode, value=value) if mode == "constant" else F.pad(x, flat, mode=mode)


def conv(node, x, w, b=None):
    rank = x.dim() - 2
    strides, dilations = node["strides"] or [1] * rank, node["dilations"] or [1] * rank
    padded = pad(x, spatial_pads(node, x, w.shape[2:], dilations, strides))
    function = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[rank]
    return function(padded, w, b, stride=strides, dilation=dilations, groups=node["group"])


def conv_transpose(node, x, w, b=None):
    rank = x.dim() - 2
    strides, dilations = node["strides"] or [1] * rank, node["dilations"] or [1] * rank
    function = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}[rank]
    whole = function(x, w, stride=strides, dilation=dilations, groups=node["group"])
    pads, beyond = node["pads"] or [0] * (2 * rank), node["output_padding"] or [0] * rank
    pairs = [(-pads[d], beyond[d] - pads[rank + d]) for d in range(rank)]
    if node["output_shape"] or node["auto_pad"].startswith("SAME"):
        shape = node["output_shape"] or [min(n * s, size) for n, s, size in zip(x.shape[2:], strides, whole.shape[2:])]
        total = [max(size + extra - wanted, 0) for size, extra, wanted in zip(whole.shape[2:], beyond, shape)]
        before = [t // 2 if node["auto_pad"] == "SAME_UPPER" else t - t // 2 for t in total]
        pairs = [(-first, first + wanted - size) for first, wanted, size in zip(before, shape, whole.shape[2:])]
    y = pad(whole, pairs)
    return y if b is None else y + b.reshape(-1, *[1] * rank)


def max_pool(node, x):
    kernel = node["kernel_shape"]
    rank = len(kernel)
    strides, dilations = node["strides"] or [1] * rank, node["dilations"] or [1] * rank
    padded = pad(x, spatial_pads(node, x, kernel, dilations, strides), value=-torch.inf)
    function = {1: F.max_pool1d, 2: F.max_pool2d}[rank]
    return function(padded, kernel, strides, dilation=dilations, ceil_mode=bool(node["ceil_mode"]))


def average_pool(node, x):
    kernel = node["kernel_shape"]
    strides = node["strides"] or [1] * len(kernel)
    pairs = spatial_pads(node, x, kernel, [1] * len(kernel), strides)
    function = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}[len(kernel)]

    def mean(padded):
        pooled = function(padded, kernel, strides, ceil_mode=bool(node["ceil_mode"]))
        for axis, (stride, (before, _)) in enumerate(zip(strides, pairs), start=2):
            # No window begins in the padding at the end; to torch that padding is part of the input.
            windows = -(-(x.shape[axis] + before) // stride)
            pooled = pooled.narrow(axis, 0, min(windows, pooled.shape[axis]))
        return pooled

    if node["count_include_pad"]:
        return mean(pad(x, pairs))
    return mean(pad(x, pairs)) / mean(pad(torch.ones_like(x), pairs))  # the counts cancel


def batch_normalization(node, x, scale, bias, mean, var):
    by_channel = lambda v: v.reshape([1, -1] + [1] * (x.dim() - 2))
    if not node["training_mode"]:  # torch's own has no gradients by the statistics
        normal = (x - by_channel(mean)) / torch.sqrt(by_channel(var) + node["epsilon"])
        return normal * by_channel(scale) + by_channel(bias)
    y = F.batch_norm(x, None, None, scale, bias, training=True, eps=node["epsilon"])
    axes = [axis for axis in range(x.dim()) if axis != 1]
    keep = node["momentum"]
    batch_mean, batch_var = x.mean(axes), x.var(axes, unbiased=False)
    return y, mean * keep + batch_mean * (1 - keep), var * keep + batch_var * (1 - keep)


def layer_normalization(node, x, scale, bias=None):
    shape = x.shape[node["axis"]:]
    bias = None if bias is None else bias.expand(shape)
    return F.layer_norm(x, shape, scale.expand(shape), bias, node["epsilon"])


def reduction(function):
    def reduce(node, x, axes=None):
        axes = [] if axes is None else integers(axes)
        if not axes and node["noop_with_empty_axes"]:
            return x.clone()
        return function(x, dim=axes or list(range(x.dim())), keepdim=bool(node["keepdims"]))
    return reduce


def gemm(node, a, b, c=None):
    a, b = a.T if node["transA"] else a, b.T if node["transB"] else b
    product = node["alpha"] * (a @ b)
    return product if c is None else product + node["beta"] * c


def reshape(node, x, shape):
    dims = [x.shape[i] if dim == 0 and not node["allowzero"] else dim for i, dim in enumerate(integers(shape))]
    return x.reshape(dims)


def flatten(node, x):
    axis = node["axis"] % x.dim() if node["axis"] < 0 else node["axis"]
    return x.reshape(int(np.prod(x.shape[:axis], dtype=int)), -1)


def unsqueeze(node, x, axes):
    rank = x.dim() + len(axes)
    for axis in sorted(axis % rank for axis in integers(axes)):
        x = x.unsqueeze(axis)
    return x


def slices(node, x, starts, ends, axes=None, steps=None):
    axes = range(len(starts)) if axes is None else integers(axes)
    steps = [1] * len(starts) if steps is None else integers(steps)
    for start, end, axis, step in zip(integers(starts), integers(ends), axes, steps):
        start = max(start, -x.shape[axis]) if step < 0 else start  # the standard begins with the first element
        kept = range(*slice(start, end, step).indices(x.shape[axis]))
        x = x.index_select(axis, torch.tensor(list(kept), dtype=torch.int64))
    return x


def pads(node, x, amounts, value=None, axes=None):
    axes = list(range(x.dim())) if axes is None else integers(axes)
    amounts = integers(amounts)
    pairs = [(0, 0)] * x.dim()
    for i, axis in enumerate(axes):
        pairs[axis] = (amounts[i], amounts[i + len(axes)])
    mode = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "wrap": "circular"}[node["mode"]]
    if mode == "constant":
        padded = pad(x, pairs)
        if value is None:
            return padded
        return padded + value * (1 - pad(torch.ones_like(x), pairs))  # torch's value is a plain number
    return pad(x[None, None], pairs, mode=mode)[0, 0]


def split(node, x, lengths=None):
    count, axis = len(node.outputs), node["axis"]
    if lengths is None:
        return torch.split(x, -(-x.shape[axis] // count), axis)
    return torch.split(x, integers(lengths), axis)


def gather(node, x, indices):
    axis = node["axis"] % x.dim()
    taken = x.index_select(axis, indices.flatten() % x.shape[axis])
    return taken.reshape(x.shape[:axis] + indices.shape + x.shape[axis + 1:])


def negative_log_likelihood(node, x, labels, weight=None):
    ignored = -100 if node["ignore_index"] is None else node["ignore_index"]
    if weight is None:
        return F.nll_loss(x, labels, ignore_index=ignored, reduction=node["reduction"])
    # torch's own has no gradients by the weights.
    each = F.nll_loss(x, labels, ignore_index=ignored, reduction="none")
    kept = labels != ignored
    weights = torch.where(kept, weight[torch.where(kept, labels, 0)], 0)
    weighted = each * weights
    if node["reduction"] == "none":
        return weighted
    return weighted.sum() / (weights.sum() if node["reduction"] == "mean" else 1)


def cross_entropy(node, x, labels, weight=None):
    log_prob = F.log_softmax(x, 1)
    return negative_log_likelihood(node, log_prob, labels, weight), log_prob


def one_hot(node, indices, depth, values):
    axis = node["axis"] % (indices.dim() + 1)
    classes = torch.arange(int(depth)).reshape([-1] + [1] * (indices.dim() - axis))
    found = torch.where(indices < 0, indices + depth, indices).unsqueeze(axis) == classes
    return torch.where(found, values[1], values[0])


def squeeze(node, x, axes=None):
    return x.squeeze() if axes is None else x.squeeze(tuple(integers(axes)))


def largest(function):
    def of_all(node, first, *others):
        for other in others:
            first = function(first, other)
        return first.clone()
    return of_all


def norm(order):
    def reduce(x, dim, keepdim):
        return torch.linalg.vector_norm(x, order, dim=dim, keepdim=keepdim)

    def of_node(node, x, axes=None):
        if axes is None and node["noop_with_empty_axes"]:
            return x.abs()
        return reduction(reduce)(node, x, axes)
    return of_node


def product(x, dim, keepdim):
    for axis in sorted((axis % x.dim() for axis in dim), reverse=True):
        x = torch.prod(x, axis, keepdim)
    return x


def on_each(function, sums):
    """A reduction whose function is left where there are no axes."""
    def of_node(node, x, axes=None):
        return function(x) if axes is None and node["noop_with_empty_axes"] else reduction(sums)(node, x, axes)
    return of_node


def shrink(node, x):
    low, high = x < -node["lambd"], x > node["lambd"]
    return torch.where(low, x + node["bias"], torch.where(high, x - node["bias"], 0.0))


def accumulated(function, start):
    def of_node(node, x, axis):
        axis = int(axis) % x.dim()
        x = x.flip(axis) if node["reverse"] else x
        if node["exclusive"]:
            x = torch.cat([torch.full_like(x.narrow(axis, 0, 1), start), x.narrow(axis, 0, x.shape[axis] - 1)], axis)
        y = function(x, axis)
        return y.flip(axis) if node["reverse"] else y
    return of_node


def trilu(node, x, k=None):
    return (torch.triu if node["upper"] else torch.tril)(x, 0 if k is None else int(k))


def lrn(node, x):
    """torch has the odd neighbour of an even size on the other side."""
    size = node["size"]
    squares = F.pad((x * x).movedim(1, -1), ((size - 1) // 2, size - 1 - (size - 1) // 2)).unfold(-1, size, 1).sum(-1)
    return x / (node["bias"] + node["alpha"] / size * squares.movedim(-1, 1)) ** node["beta"]


def lp_normalization(node, x):
    return x / torch.linalg.vector_norm(x, node["p"], dim=node["axis"], keepdim=True)


def mean_variance_normalization(node, x):
    deviation = x.std(node["axes"], correction=0, keepdim=True)
    return (x - x.mean(node["axes"], keepdim=True)) / (deviation + 1e-9)


def dropout(node, x, ratio=None, training=None):
    assert training is None or not training
    return F.dropout(x, training=False)


def activation(name):
    function = getattr(F, name, None) or getattr(torch, name)
    return lambda node, x: function(x)
def recurrent(function, gates):
    """torch's own layer on each sequence for itself, over its own times. `gates` is the order of torch's gates."""

    def reordered(weights):
        parts = weights.chunk(len(gates))
        return torch.cat([parts[gate] for gate in gates])

    def run(node, x, w, r, b=None, lengths=None, *states):
        if node["layout"]:
            x, states = x.transpose(0, 1), [state.transpose(0, 1) for state in states]
        directions, hidden = r.shape[0], r.shape[-1]
        lengths = [len(x)] * x.shape[1] if lengths is None else integers(lengths)
        count = 2 if node.op == "LSTM" else 1
        states = states or [x.new_zeros(directions, x.shape[1], hidden)] * count
        weights = []
        for d in range(directions):
            weights += [reordered(w[d]), reordered(r[d])]
            weights += [] if b is None else [reordered(half) for half in b[d].chunk(2)]
        ys, lasts = [], []
        for n, length in enumerate(lengths):
            sequence, initial = x[:length, n:n + 1], [state[:, n:n + 1].contiguous() for state in states]
            backwards = node["direction"] == "reverse"
            y, *last = function(sequence.flip(0) if backwards else sequence, initial if count == 2 else initial[0],
                                weights, b is not None, 1, 0.0, False, directions == 2, False)
            y = (y.flip(0) if backwards else y).reshape(length, 1, directions, hidden).transpose(1, 2)
            ys.append(torch.cat([y, y.new_zeros(len(x) - length, *y.shape[1:])]))
            lasts.append(last)
        results = [torch.cat(ys, 2), *(torch.cat(each, 1) for each in zip(*lasts))]
        if node["layout"]:
            results = [results[0].permute(2, 0, 1, 3), *(each.transpose(0, 1) for each in results[1:])]
        return tuple(results)

    return run


# How torch says an operator: from the node and its inputs to its outputs.
TORCH = {
    **{row.op: activation(row.torch) for row in ACTIVATIONS if row.torch},
    **IMAGES,
    "Add": lambda node, a, b: a + b,
    "CumProd": accumulated(torch.cumprod, 1),
    "CumSum": accumulated(torch.cumsum, 0),
    "Det": lambda node, x: torch.linalg.det(x),
    "Einsum": lambda node, *xs: torch.einsum(node["equation"].replace(" ", ""), *xs),
    "GroupNormalization": lambda node, x, scale, bias: F.group_norm(x, node["num_groups"], scale, bias, node["epsilon"]),
    "InstanceNormalization": lambda node, x, scale, bias: F.group_norm(x, x.shape[1], scale, bias, node["epsilon"]),
    "LRN": lrn,
    "LpNormalization": lp_normalization,
    "MeanVarianceNormalization": mean_variance_normalization,
    "Mod": lambda node, a, b: torch.fmod(a, b) if node["fmod"] else torch.remainder(a, b),
    "RMSNormalization": lambda node, x, scale: F.rms_norm(x, x.shape[node["axis"]:], scale, node["epsilon"]),
    "Trilu": trilu,
    **{op: activation(op.lower()) for op in ("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cosh", "Sinh", "Tan")},
    "Celu": lambda node, x: F.celu(x, node["alpha"]),
    "Elu": lambda node, x: F.elu(x, node["alpha"]),
    "HardSigmoid": lambda node, x: torch.clamp(node["alpha"] * x + node["beta"], 0, 1),
    "Mean": lambda node, *xs: sum(xs) / len(xs),
    "PRelu": lambda node, x, slope: torch.where(x > 0, x, slope * x),
    "ReduceL1": norm(1),
    "ReduceL2": norm(2),
    "ReduceLogSum": on_each(torch.log, lambda x, dim, keepdim: x.sum(dim, keepdim).log()),
    "ReduceLogSumExp": reduction(torch.logsumexp),
    "ReduceMin": reduction(torch.amin),
    "ReduceProd": reduction(product),
    "ReduceSumSquare": on_each(torch.square, lambda x, dim, keepdim: x.square().sum(dim, keepdim)),
    "Selu": lambda node, x: node["gamma"] * F.elu(x, node["alpha"]),
    "Shrink": shrink,
    "Softsign": lambda node, x: F.softsign(x),
    "SwiGLU": lambda node, a, b: F.silu(node["alpha"] * a) / node["alpha"] * b,
    "Swish": lambda node, x: F.silu(node["alpha"] * x) / node["alpha"],
    "ThresholdedRelu": lambda node, x: F.threshold(x, node["alpha"], 0),
    "Tile": lambda node, x, repeats: x.tile(integers(repeats)),
    "AveragePool": average_pool,
    "BatchNormalization": batch_normalization,
    "Cast": lambda node, x: x.to(torch.float64),
    "CastLike": lambda node, x, like: x.to(like.dtype),
    "Clip": lambda node, x, low=None, high=None: torch.clamp(x, low, high),
    "Concat": lambda node, *xs: torch.cat(xs, node["axis"]),
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "Div": lambda node, a, b: a / b,
    "Dropout": dropout,
    "Expand": lambda node, x, shape: x.expand(torch.broadcast_shapes(x.shape, integers(shape))),
    "Flatten": flatten,
    "Gather": gather,
    "GRU": recurrent(torch._VF.gru, [1, 0, 2]),
    "Gelu": lambda node, x: F.gelu(x, approximate=node["approximate"]),
    "Gemm": gemm,
    "GlobalAveragePool": lambda node, x: F.adaptive_avg_pool2d(x, 1),
    "BitCast": lambda node, x: x if x.dtype == torch.float64 else x.view(torch.float64),
    "Identity": lambda node, x: x.clone(),
    "LSTM": recurrent(torch._VF.lstm, [0, 2, 3, 1]),
    "LayerNormalization": layer_normalization,
    "LeakyRelu": lambda node, x: F.leaky_relu(x, node["alpha"]),
    "LogSoftmax": lambda node, x: F.log_softmax(x, node["axis"]),
    "MatMul": lambda node, a, b: a @ b,
    "Max": largest(torch.maximum),
    "MaxPool": max_pool,
    "Min": largest(torch.minimum),
    "Mul": lambda node, a, b: a * b,
    "NegativeLogLikelihoodLoss": negative_log_likelihood,
    "OneHot": one_hot,
    "Pad": pads,
    "Pow": lambda node, x, exponent: torch.pow(x, exponent),
    "RNN": recurrent(torch._VF.rnn_tanh, [0]),
    "ReduceMax": reduction(torch.amax),
    "ReduceMean": reduction(torch.mean),
    "ReduceSum": reduction(torch.sum),
    "Reshape": reshape,
    "Slice": slices,
    "Softmax": lambda node, x: F.softmax(x, node["axis"]),
    "SoftmaxCrossEntropyLoss": cross_entropy,
    "Softplus": lambda node, x: F.softplus(x),
    "Split": split,
    "Squeeze": squeeze,
    "Sub": lambda node, a, b: a - b,
    "Sum": lambda node, *xs: sum(xs),
    "Transpose": lambda node, x: x.permute(node["perm"] or list(range(x.dim()))[::-1]),
    "Unsqueeze": unsqueeze,
    "Where": lambda node, which, a, b: torch.where(which, a, b),
}


def read(path):
    return numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes()))


def run(model, values):
    """All values of a model, by torch."""
    opset = model.opset_import[0].version
    for proto in model.graph.node:
        node = Node(proto, opset)
        inputs = [values[name] if name else None for name in node.inputs]
        outputs = TORCH[node.op](node, *inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        values |= {name: value for name, value in zip(node.outputs, outputs) if name}
    return values


def gradients(folder, case):
    tensors = {name: torch.from_numpy(read(folder / f"{name}.input").copy()) for name in case["inputs"]}
    for name in case["by"]:
        tensors[name].requires_grad_()
    values = run(onnx.load(folder / "model.onnx"), dict(tensors))
    loss = 0
    for name in case["outputs"]:
        value = values[name]
        assert np.allclose(value.detach().numpy(), read(folder / f"{name}.result"), rtol=1e-9, atol=1e-9), name
        loss = loss + (torch.from_numpy(read(folder / f"u_{name}.input").copy()) * value**2).sum()
    computed = torch.autograd.grad(loss, [tensors[name] for name in case["by"]])
    return {name: gradient.numpy() for name, gradient in zip(case["by"], computed)}


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cases")
    subprocess.run([pathlib.Path(os.environ["ONWARD_TOOLS"]) / "case_tool", folder], check=True)
    return [(each, json.loads((each / "case.json").read_text())) for each in sorted(folder.iterdir())]


def test_gradients_equal_autograd(cases):
    compared, wrong = 0, []
    for folder, case in cases:
        if not case["by"] or case["name"] in GAPS or case["name"].startswith(NO_OPERATORS):
            continue
        for name, expected in gradients(folder, case).items():
            result = read(folder / f"d_{name}.result")
            if result.shape != expected.shape:
                wrong.append(f"{case['name']}: d_{name} has shape {result.shape}, expected {expected.shape}")
            elif not np.allclose(result, expected, rtol=1e-9, atol=1e-9):
                wrong.append(f"{case['name']}: d_{name} differs by {np.abs(result - expected).max()}")
        compared += 1
    assert wrong == []
    assert compared > 100


def test_every_gap_is_a_case_with_a_gradient(cases):
    assert set(GAPS) <= {case["name"] for _, case in cases if case["by"]}


def test_every_operator_that_is_differentiated_is_compared(cases):
    """An operator may have gaps among its cases, but not all of them may be."""
    used = {node.op_type for folder, case in cases if case["by"] and case["name"] not in GAPS
            and not case["name"].startswith(NO_OPERATORS)
            for node in onnx.load(folder / "model.onnx").graph.node}
    assert used == set(TORCH)
