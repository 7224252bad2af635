"""Nodes of products, convolutions, pools, normalizations, reductions and losses."""

import numpy as np
import values
from graph import Unsuitable
from operators_shape import axes_of, axis_of


def matmul(g):
    a = g.operand("MatMul", rank=range(1, 5))
    inner = a.shape[-1]
    batch = g.broadcast_to(a.shape[:-2])
    if g.maybe(0.1):
        batch = tuple(g.between(1, 3) if dim == 1 else dim for dim in a.shape[:-2])
    if g.maybe(0.2):
        b = g.operand("MatMul", 1, a.type, shape=(inner,))
        g.add("MatMul", [a, b], [(a.type, a.shape[:-1])])
        return
    columns = g.dim()
    b = g.operand("MatMul", 1, a.type, shape=(*batch, inner, columns))
    rows = (a.shape[-2],) if a.rank > 1 else ()
    shape = (*np.broadcast_shapes(a.shape[:-2], batch), *rows, columns)
    g.add("MatMul", [a, b], [(a.type, shape)])


def gemm(g):
    a = g.operand("Gemm", rank=2)
    ta, tb = g.one_of(None, 0, 1), g.one_of(None, 0, 1)
    m, k = a.shape[::-1] if ta else a.shape
    n = g.dim()
    b = g.operand("Gemm", 1, a.type, shape=(n, k) if tb else (k, n))
    attributes = {"transA": ta, "transB": tb}
    numbers = (None, 1.0, 0.5, 0.0, -2.0) if a.type in values.FLOATS else (None, 1.0, 2.0)
    attributes |= {"alpha": g.one_of(*numbers), "beta": g.one_of(*numbers)}
    c = None
    if g.opset < 11 or g.maybe(0.7):
        shape = g.one_of((m, n), (n,), (1, n), (m, 1), (1,), ())
        if g.opset < 7:
            shape = g.one_of((m, n), (n,))
            attributes["broadcast"] = 1 if shape != (m, n) else None
        c = g.operand("Gemm", 2, a.type, shape=shape)
    g.add("Gemm", [a, b, c], [(a.type, (m, n))], **attributes)


def window(g, op, spatial, dilated, ceil=False):
    """Attributes of a window over `spatial`, and the shape of what it gives; with ceil_mode no
    window begins in the padding after the end."""
    rank = len(spatial)
    kernel = [g.between(1, 3) for _ in spatial]
    strides = [g.one_of(1, 1, 2, 3) for _ in spatial]
    dilations = [g.one_of(1, 1, 2) if dilated else 1 for _ in spatial]
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    attributes = {"strides": strides if g.maybe(0.8) or max(strides) > 1 else None}
    if dilated and (max(dilations) > 1 or g.maybe(0.3)):
        attributes["dilations"] = dilations
    padding = g.choices.choices(["explicit", "VALID", "SAME_UPPER", "SAME_LOWER", "NOTSET"], [6, 1, 1, 1, 1])[0]
    pads = [0] * (2 * rank)
    if padding in ("explicit", "NOTSET"):
        if padding == "explicit":
            pads = [g.between(0, min(2, kernel[i % rank] - 1)) for i in range(2 * rank)]
            attributes["pads"] = pads
        else:
            attributes["auto_pad"] = padding
    else:
        attributes["auto_pad"] = padding
    shape = []
    for i, size in enumerate(spatial):
        if padding.startswith("SAME"):
            shape.append(-(-size // strides[i]))
            continue
        room = size + pads[i] + pads[rank + i] - reach[i]
        if room < 0:
            raise Unsuitable(op)
        count = room // strides[i] + 1
        if ceil and room % strides[i]:
            if count * strides[i] < size + pads[i]:
                count += 1
            elif g.opset < 22:  # whether there is such a window was not said
                raise Unsuitable(op)
        shape.append(count)
    first = before(padding, spatial, reach, strides, pads)
    if windows_without_elements(spatial, shape, kernel, strides, dilations, first):
        raise Unsuitable(op)  # the standard does not say what comes of nothing
    return kernel, attributes, tuple(shape)


def before(padding, spatial, reach, strides, pads):
    """The padding before the first element of each dimension."""
    if not padding.startswith("SAME"):
        return pads[:len(spatial)]
    totals = [max(0, (-(-size // s) - 1) * s + r - size) for size, s, r in zip(spatial, strides, reach)]
    return [total - total // 2 if padding == "SAME_LOWER" else total // 2 for total in totals]


def windows_without_elements(spatial, shape, kernel, strides, dilations, before):
    for size, count, k, stride, dilation, first in zip(spatial, shape, kernel, strides, dilations, before):
        for at in range(count):
            taps = [at * stride - first + tap * dilation for tap in range(k)]
            if not any(0 <= tap < size for tap in taps):
                return True
    return False


def conv(g):
    x = g.operand("Conv", rank=range(3, 6), smallest=1)
    n, channels = x.shape[:2]
    group = g.one_of(*[d for d in (1, 1, 2, channels) if channels % d == 0])
    m = group * g.one_of(1, 2, 3, 8)
    kernel, attributes, spatial = window(g, "Conv", x.shape[2:], True)
    w = g.operand("Conv", 1, x.type, shape=(m, channels // group, *kernel))
    b = g.operand("Conv", 2, x.type, shape=(m,)) if g.maybe(0.5) else None
    attributes["kernel_shape"] = kernel if g.maybe(0.6) else None
    g.add("Conv", [x, w, b], [(x.type, (n, m, *spatial))], group=group if group > 1 or g.maybe(0.3) else None,
          **attributes)


def conv_transpose(g):
    x = g.operand("ConvTranspose", rank=range(3, 6), smallest=1)
    spatial, rank = x.shape[2:], x.rank - 2
    group = g.one_of(*[d for d in (1, 1, 2, x.shape[1]) if x.shape[1] % d == 0])
    kernel, strides, dilations = ([g.one_of(1, 2, most) for _ in spatial] for most in (3, 3, 2))
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    whole = [(size - 1) * s + r for size, s, r in zip(spatial, strides, reach)]
    beyond = [g.between(0, max(s, d) - 1) if g.maybe(0.3) else 0 for s, d in zip(strides, dilations)]
    attributes = {"strides": strides, "dilations": dilations, "kernel_shape": kernel if g.maybe(0.6) else None}
    padding = g.choices.choices(["explicit", "VALID", "SAME_UPPER", "SAME_LOWER", "output_shape"], [6, 1, 1, 1, 1])[0]
    if padding[0] in "So" and g.opset < 11:  # which side the odd one is on has changed
        raise Unsuitable
    if padding.startswith("SAME"):
        beyond = [0] * rank
        shape = [w - max(r - s, 0) for w, r, s in zip(whole, reach, strides)]
    elif padding == "output_shape":
        if any(size > w for size, w in zip(spatial, whole)):
            raise Unsuitable
        shape = attributes["output_shape"] = [g.between(size, w + 2) for size, w in zip(spatial, whole)]
    else:
        pads = [g.between(0, w // 2) if padding == "explicit" else 0 for w in [(w - 1) for w in whole] * 2]
        attributes["pads"] = pads if padding == "explicit" else None
        shape = [w + b - pads[d] - pads[rank + d] for d, (w, b) in enumerate(zip(whole, beyond))]
    attributes["auto_pad"] = padding if padding.isupper() else None
    attributes["output_padding"] = beyond if max(beyond) > 0 or g.maybe(0.3) else None
    w = g.operand("ConvTranspose", 1, x.type, shape=(x.shape[1], g.between(1, 3), *kernel))
    m = w.shape[1] * group
    b = g.operand("ConvTranspose", 2, x.type, shape=(m,)) if g.maybe(0.5) else None
    g.add("ConvTranspose", [x, w, b], [(x.type, (x.shape[0], m, *shape))], group=group, **attributes)


def average_pool(g):
    x = g.operand("AveragePool", rank=range(3, 6), smallest=1)
    ceil = g.one_of(None, 0, 1) if g.opset >= 10 else None
    kernel, attributes, spatial = window(g, "AveragePool", x.shape[2:], g.opset >= 19, ceil)
    g.add("AveragePool", [x], [(x.type, (*x.shape[:2], *spatial))], kernel_shape=kernel, ceil_mode=ceil,
          count_include_pad=g.one_of(None, 0, 1) if g.opset >= 7 else None, **attributes)


def max_pool(g):
    x = g.operand("MaxPool", rank=range(3, 6), smallest=1)
    ceil = g.one_of(None, 0, 1) if g.opset >= 10 else None
    kernel, attributes, spatial = window(g, "MaxPool", x.shape[2:], g.opset >= 10, ceil)
    shape = (*x.shape[:2], *spatial)
    with_indices = g.opset >= 8 and g.maybe(0.3)
    g.add("MaxPool", [x], [(x.type, shape)] + ([("int64", shape)] if with_indices else []), kernel_shape=kernel,
          ceil_mode=ceil, storage_order=g.one_of(None, 0, 1) if with_indices else None, **attributes)


def global_average_pool(g):
    x = g.operand("GlobalAveragePool", rank=range(3, 6), smallest=1)
    g.add("GlobalAveragePool", [x], [(x.type, (*x.shape[:2], *[1] * (x.rank - 2)))])


def batch_normalization(g):
    x = g.operand("BatchNormalization", rank=range(2, 6), smallest=1)
    channels = (x.shape[1],)
    scale, bias, mean = (g.operand("BatchNormalization", i, x.type, shape=channels) for i in (1, 2, 3))
    variance = g.new(x.type, channels, 0.5, 2.0)
    attributes = {"epsilon": g.one_of(None, 1e-3), "momentum": g.one_of(None, 0.75)}
    if g.opset < 7:
        attributes["is_test"] = 1
    outputs = [(x.type, x.shape)]
    if g.opset >= 14 and g.maybe(0.4):
        attributes["training_mode"] = 1
        outputs += [(x.type, channels)] * 2
    g.add("BatchNormalization", [x, scale, bias, mean, variance], outputs, **attributes)


def layer_normalization(g):
    x = g.operand("LayerNormalization", rank=range(1, 5), smallest=1)
    axis = g.one_of(None, *range(-x.rank, x.rank))
    at = (-1 if axis is None else axis) % x.rank
    scale = g.operand("LayerNormalization", 1, x.type, shape=x.shape[at:])
    bias = g.operand("LayerNormalization", 2, x.type, shape=x.shape[at:]) if g.maybe(0.6) else None
    stash = ("float", (*x.shape[:at], *[1] * (x.rank - at)))
    outputs = [(x.type, x.shape)]
    if not g.smooth and g.maybe(0.3):  # a smooth graph is run in double too, and these stay float
        outputs += [stash if g.maybe(0.7) else None, stash]
    g.add("LayerNormalization", [x, scale, bias], outputs, axis=axis, epsilon=g.one_of(None, 1e-3),
          stash_type=g.one_of(None, 1))


def softmax(op):
    def add(g):
        x = g.operand(op, rank=range(1, 5))
        axis = g.one_of(None, *range(x.rank), *(range(-x.rank, 0) if g.opset >= 11 else ()))
        if g.opset < 13 and axis is None and x.rank < 2:
            axis = 0
        g.add(op, [x], [(x.type, x.shape)], axis=axis)

    return add


def reduction(op):
    """The axes are an attribute first, an input from opset 13 (ReduceSum) or 18 on."""
    with_input = 13 if op == "ReduceSum" else 18

    def add(g):
        x = g.operand(op, rank=range(0, 6) if g.opset >= 13 else range(1, 6))
        if op in ("ReduceL1", "ReduceL2", "ReduceLogSum") and x.type in values.FLOATS and (g.smooth or g.maybe(0.7)):
            x = g.positive(x)
        axes = axes_of(g, x.rank) if x.rank and g.maybe(0.7) else None
        keep = g.one_of(None, 0, 1)
        reduced = range(x.rank) if axes is None else [axis % x.rank for axis in axes]
        attributes = {"keepdims": keep}
        inputs = [x]
        if g.opset >= with_input:
            if axes is None and g.maybe(0.5):
                attributes["noop_with_empty_axes"] = noop = g.one_of(0, 1)
                reduced = [] if noop else reduced
                inputs.append(g.number(np.zeros(0, np.int64)) if g.maybe(0.5) else None)
            elif axes is not None:
                inputs.append(g.number(axes))
        else:
            attributes["axes"] = axes
        if op in ("ReduceMax", "ReduceMin") and 0 in [x.shape[axis] for axis in reduced] and g.opset < 20:
            raise Unsuitable(op)
        shape = tuple(1 if axis in reduced else dim for axis, dim in enumerate(x.shape)
                      if axis not in reduced or keep != 0)
        g.add(op, inputs, [(x.type, shape)], **attributes)

    return add


def place_of_extreme(op):
    def add(g):
        x = g.operand(op, rank=range(1, 5), smallest=1)
        axis = g.one_of(None, axis_of(g, x.rank))
        keep = g.one_of(None, 0, 1)
        place = (axis or 0) % x.rank
        shape = tuple(1 if a == place else dim for a, dim in enumerate(x.shape) if a != place or keep != 0)
        g.add(op, [x], [("int64", shape)], axis=axis, keepdims=keep,
              select_last_index=g.one_of(None, 0, 1) if g.opset >= 12 else None)

    return add


def loss(op):
    def add(g):
        scores = g.operand(op, rank=range(2, 5), smallest=1)
        n, classes = scores.shape[:2]
        shape = (n, *scores.shape[2:])
        ignore = g.one_of(None, None, 0, -1, classes - 1)
        kind = g.type_for(op, 1)
        labels = g.numbers.integers(0, classes, shape)
        if ignore == -1:
            labels = np.where(g.numbers.random(shape) < 0.3, -1, labels)
        labels = g.leaf(labels.astype(values.NUMPY[kind]))
        weights = g.new(scores.type, (classes,), 0.25, 2.0) if g.maybe(0.5) else None
        reduction = g.one_of(None, "mean", "sum", "none")
        result = (scores.type, shape if reduction == "none" else ())
        outputs = [result]
        if op == "SoftmaxCrossEntropyLoss" and g.maybe(0.4):
            outputs.append((scores.type, scores.shape))
        g.add(op, [scores, labels, weights], outputs, reduction=reduction, ignore_index=ignore)

    return add


def random_tensor(op):
    def add(g):
        shape = g.shape(smallest=1)
        kind = g.smooth or g.one_of("float", "double", "float16")
        inputs, attributes = [], {}
        if op.endswith("Like"):
            x = g.operand(op)
            inputs, shape = [x], x.shape
            if x.type not in values.FLOATS or x.type == "bfloat16" or g.maybe(0.5):
                attributes["dtype"] = values.ONNX[kind]
            else:
                kind = x.type
        else:
            if not shape:
                raise Unsuitable(op)
            attributes["shape"] = list(shape)
            if kind != "float" or g.maybe(0.5):
                attributes["dtype"] = values.ONNX[kind]
        numbers = ("low", "high") if "Uniform" in op else ("mean", "scale")
        if g.maybe(0.5):
            attributes |= {numbers[0]: 0.25, numbers[1]: 2.5}
        g.add(op, inputs, [(kind, shape)], seed=g.one_of(None, 3.0), **attributes)

    return add


OPERATORS = {
    "AveragePool": average_pool,
    "BatchNormalization": batch_normalization,
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "Gemm": gemm,
    "GlobalAveragePool": global_average_pool,
    "LayerNormalization": layer_normalization,
    "LogSoftmax": softmax("LogSoftmax"),
    "MatMul": matmul,
    "MaxPool": max_pool,
    "NegativeLogLikelihoodLoss": loss("NegativeLogLikelihoodLoss"),
    "RandomNormal": random_tensor("RandomNormal"),
    "RandomNormalLike": random_tensor("RandomNormalLike"),
    "RandomUniform": random_tensor("RandomUniform"),
    "RandomUniformLike": random_tensor("RandomUniformLike"),
    "ReduceMax": reduction("ReduceMax"),
    "ReduceMean": reduction("ReduceMean"),
    "ReduceSum": reduction("ReduceSum"),
    "Softmax": softmax("Softmax"),
    "SoftmaxCrossEntropyLoss": loss("SoftmaxCrossEntropyLoss"),
    "ArgMax": place_of_extreme("ArgMax"),
    "ArgMin": place_of_extreme("ArgMin"),
    "Hardmax": softmax("Hardmax"),
    "ReduceL1": reduction("ReduceL1"),
    "ReduceL2": reduction("ReduceL2"),
    "ReduceLogSum": reduction("ReduceLogSum"),
    "ReduceLogSumExp": reduction("ReduceLogSumExp"),
    "ReduceMin": reduction("ReduceMin"),
    "ReduceProd": reduction("ReduceProd"),
    "ReduceSumSquare": reduction("ReduceSumSquare"),
}
