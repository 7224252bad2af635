"""Keras's layers that move data or join several inputs, in ONNX; _keras_layers.py has the table."""

import math

import numpy

import onward
from onward._keras_graph import Tensor


def flatten(g, call):
    data_format = call.settings["data_format"]
    x = call.x
    if data_format == "channels_first" and x.rank > 2:
        order = [0, *range(2, x.rank), 1]
        name = g.node("Transpose", [g.plain(x)], f"{call.name}_channels_last", perm=order)
        x = Tensor([x.shape[axis] for axis in order], x.dtype, plain=name)
    if None not in x.shape[1:]:
        return _reshaped(g, call, x, (math.prod(x.shape[1:]),))
    return Tensor(call.shape, x.dtype, plain=g.node("Flatten", [g.plain(x)], call.name))


def _reshaped(g, call, x, target):
    shape = g.constant([0, *target], f"{call.name}_shape", "int64")
    return Tensor(call.shape, x.dtype, plain=g.node("Reshape", [g.plain(x), shape], call.name))


def reshape(g, call):
    target = call.settings["target_shape"]
    if 0 in target:
        call.settings.refuse("target_shape", target)
    return _reshaped(g, call, call.x, target)


def permute(g, call):
    order = [0, *call.settings["dims"]]
    return Tensor(call.shape, call.x.dtype, plain=g.node("Transpose", [g.plain(call.x)], call.name, perm=order))


def repeat_vector(g, call):
    count = call.settings["n"]
    row = g.node("Unsqueeze", [g.plain(call.x), g.constant([1], "second", "int64")], f"{call.name}_row")
    shape = g.constant([1, count, 1], f"{call.name}_shape", "int64")
    return Tensor(call.shape, call.x.dtype, plain=g.node("Expand", [row, shape], call.name))


def _pairs(value, rank):
    """(before, after) for each spatial dimension."""
    if rank == 1:
        return [tuple(value)]
    return [tuple(pair) for pair in value]


def zero_padding(g, call):
    data_format = call.settings.get("data_format", "channels_last")
    rank = call.x.rank - 2
    pairs = _pairs(call.settings["padding"], rank)
    pads = [0, 0, *(before for before, _ in pairs), 0, 0, *(after for _, after in pairs)]
    y = g.node("Pad", [g.image(call.x, data_format), g.constant(pads, f"{call.name}_pads", "int64")], call.name)
    return g.from_image(y, call.shape, data_format, call.x.dtype)


def cropping(g, call):
    data_format = call.settings.get("data_format", "channels_last")
    rank = call.x.rank - 2
    pairs = _pairs(call.settings["cropping"], rank)
    whole = numpy.iinfo("int64").max
    ends = [-after if after else whole for _, after in pairs]
    numbers = [g.constant(each, f"{call.name}_{what}", "int64") for each, what in
               (([before for before, _ in pairs], "starts"), (ends, "ends"), (list(range(2, rank + 2)), "axes"))]
    y = g.node("Slice", [g.image(call.x, data_format), *numbers], call.name)
    return g.from_image(y, call.shape, data_format, call.x.dtype)


# ---- several inputs

def _aligned(call):
    """The inputs of a merging layer, which would stretch those of lower rank by rules of its own."""
    rank = max(each.rank for each in call.inputs)
    if any(each.rank != rank for each in call.inputs):
        raise onward.Error(f"{call.settings.what} has inputs of ranks "
                           f"{', '.join(str(each.rank) for each in call.inputs)}, which can't be exported")
    return call.inputs


def merge(op):
    def written(g, call):
        def write(*names):
            total, last = names[0], len(names) - 1
            for i, name in enumerate(names[1:], 1):
                total = g.node(op, [total, name], call.name if i == last else f"{call.name}_{i}")
            return total
        return g.map(_aligned(call), write, call.shape)
    return written


def written_extreme(g, op, a, b, name):
    """Max or Min. Where two tie, the first one has the gradient, as on TensorFlow; ONNX's own would share it."""
    tie = g.node("Equal", [a, b], f"{name}_is_tie")
    return g.node("Where", [tie, a, g.node(op, [a, b], f"{name}_of_both")], name)


def extreme(op):
    def written(g, call):
        def write(*names):
            most, last = names[0], len(names) - 1
            for i, name in enumerate(names[1:], 1):
                most = written_extreme(g, op, most, name, call.name if i == last else f"{call.name}_{i}")
            return most
        return g.map(_aligned(call), write, call.shape)
    return written


def average(g, call):
    def write(*names):
        total = g.node("Sum", list(names), f"{call.name}_sum")
        return g.node("Div", [total, g.constant(len(names), "count")], call.name)
    return g.map(_aligned(call), write, call.shape)


def concatenate(g, call):
    axis, inputs = call.settings["axis"], _aligned(call)
    follows = all(each.plain is None for each in inputs)
    axis = g.axis(inputs[0], axis) if follows else axis % inputs[0].rank
    return g.map(inputs, lambda *names: g.node("Concat", list(names), call.name, axis=axis), call.shape)
