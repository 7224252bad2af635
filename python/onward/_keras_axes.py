"""Operations of keras.ops that go along axes, and those without a slope, in ONNX: a table at the end."""

import numbers

import keras
import numpy as np
from keras.src.ops import numpy
from onnx import numpy_helper

from onward._keras_graph import TYPES, Tensor


def _rounded(op):
    def write(g, use):
        if use["x"].dtype != g.dtype or getattr(use.operation, "decimals", 0) != 0:
            use.refuse(use["x"].dtype)
        return g.map([use["x"]], lambda x: g.node(op, [x], use.name))
    return write


def _number(value):
    """The number in a tensor of one; what is none stays as it is."""
    is_known = keras.ops.is_tensor(value) and not isinstance(value, (keras.KerasTensor, keras.Variable))
    return keras.ops.convert_to_numpy(value).item() if is_known and len(value.shape) == 0 else value


def _clip(g, use):
    """Its derivative is 1 at both limits; where they cross, all is the lower one."""
    x, low, high = use["x"], *map(_number, (use.operation.x_min, use.operation.x_max))
    for limit in (low, high):
        if not isinstance(limit, numbers.Real) or np.asarray(limit, x.dtype) != limit and x.dtype != g.dtype:
            use.refuse(limit)
    top, bottom = (g.constant(limit, f"{use.name}_{what}", x.dtype) for limit, what in ((high, "top"), (low, "bottom")))

    def write(name):
        held = g.node("Where", [g.node("Greater", [name, top], f"{use.name}_is_above"), top, name], f"{use.name}_held")
        return g.node("Where", [g.node("Less", [held, bottom], f"{use.name}_is_below"), bottom, held], use.name)

    return g.map([x], write)


def _whether(op):
    def write(g, use):
        if use["x"].dtype != g.dtype:
            use.refuse(use["x"].dtype)
        made = g.map([use["x"]], lambda x: g.node(op, [x], use.name))
        made.dtype = "bool"
        return made
    return write


def _place(op):
    """Where the largest or smallest element is; of those that tie the first."""
    def write(g, use):
        x, operation = use["x"], use.operation
        if operation.axis is None:
            use.refuse(operation.axis)
        place = g.node(op, [g.plain(x)], f"{use.name}_place", axis=operation.axis % x.rank, keepdims=int(operation.keepdims))
        dtype = use.outputs[0].dtype
        return Tensor(use.shape, dtype, plain=g.node("Cast", [place], use.name, to=TYPES[dtype]))
    return write


def _cumsum(g, use):
    x, axis = use["x"], use.operation.axis
    if axis is None or use.outputs[0].dtype != x.dtype:
        use.refuse(axis)
    along = g.constant(axis % x.rank, f"{use.name}_axis", "int64")
    return Tensor(use.shape, x.dtype, plain=g.node("CumSum", [g.plain(x), along], use.name))


def _take_along_axis(g, use):
    x, indices, axis = use["x"], use["indices"], use.operation.axis
    if not isinstance(indices, Tensor) or axis is None or indices.rank != x.rank:
        use.refuse(axis)
    axis = axis % x.rank
    if any(a != b for place, (a, b) in enumerate(zip(x.shape, indices.shape, strict=True)) if place != axis):
        use.refuse(indices.shape)
    y = g.node("GatherElements", [g.plain(x), g.plain(indices)], use.name, axis=axis)
    return Tensor(use.shape, x.dtype, plain=y)


def _flip(g, use):
    x, axis = use["x"], use.operation.axis
    axes = [each % x.rank for each in (range(x.rank) if axis is None else [axis] if isinstance(axis, int) else axis)]
    lists = {"starts": [-1] * len(axes), "ends": [np.iinfo("int64").min] * len(axes), "axes": axes, "steps": [-1] * len(axes)}
    constants = [g.constant(each, f"{use.name}_{what}", "int64") for what, each in lists.items()]
    return Tensor(use.shape, x.dtype, plain=g.node("Slice", [g.plain(x), *constants], use.name))


def _tile(g, use):
    x, repeats = use["x"], use.operation.repeats
    repeats = [repeats] if isinstance(repeats, int) else list(repeats)
    if len(repeats) > x.rank or any(not isinstance(each, int) for each in repeats):
        use.refuse(repeats)
    times = g.constant([1] * (x.rank - len(repeats)) + repeats, f"{use.name}_repeats", "int64")
    return Tensor(use.shape, x.dtype, plain=g.node("Tile", [g.plain(x), times], use.name))


def _triangle(upper):
    def write(g, use):
        k = g.constant(use.operation.k, f"{use.name}_k", "int64")
        return Tensor(use.shape, use["x"].dtype, plain=g.node("Trilu", [g.plain(use["x"]), k], use.name, upper=upper))
    return write


def _filled(value=None):
    def write(g, use):
        fill, dtype = use["fill_value"] if value is None else value, use.outputs[0].dtype
        if not isinstance(fill, numbers.Real) or dtype not in TYPES:
            use.refuse(fill)
        shape = g.node("Shape", [g.plain(use["x"])], f"{use.name}_shape")
        filling = numpy_helper.from_array(np.array([fill], dtype))
        return Tensor(use.shape, dtype, plain=g.node("ConstantOfShape", [shape], use.name, value=filling))
    return write


def _einsum(g, use):
    operands = list(use["operands"])
    if any(not isinstance(each, Tensor) or each.dtype != g.dtype for each in operands):
        use.refuse(operands)
    names = [g.plain(each) for each in operands]
    return Tensor(use.shape, g.dtype, plain=g.node("Einsum", names, use.name, equation=use.operation.subscripts))


ALONG_AXES = {
    numpy.Argmax: _place("ArgMax"), numpy.Argmin: _place("ArgMin"), numpy.Ceil: _rounded("Ceil"), numpy.Clip: _clip,
    numpy.Cumsum: _cumsum, numpy.Einsum: _einsum, numpy.Flip: _flip, numpy.Floor: _rounded("Floor"), numpy.FullLike: _filled(),
    numpy.Isinf: _whether("IsInf"), numpy.Isnan: _whether("IsNaN"), numpy.OnesLike: _filled(1), numpy.Round: _rounded("Round"),
    numpy.Sign: _rounded("Sign"), numpy.TakeAlongAxis: _take_along_axis, numpy.Tile: _tile, numpy.Tril: _triangle(0),
    numpy.Triu: _triangle(1), numpy.ZerosLike: _filled(0),
}
