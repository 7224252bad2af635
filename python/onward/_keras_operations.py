"""Operations of keras.ops and of Python (x + y, x[:, 0]) between the layers of a model, in ONNX: a table at the end.

A function gets the graph, an Operation, and what it is called with, by name: Tensors, numbers, or whatever else it takes.
"""

import inspect
import numbers
import operator
from types import SimpleNamespace

import numpy as np
from keras.src import ops
from keras.src.ops import core, math, nn, numpy

import onward
from onward._activations import ACTIVATIONS
from onward._keras_activations import activate_gelu, elu, softmax
from onward._keras_axes import ALONG_AXES
from onward._keras_graph import TYPES, Tensor
from onward._keras_layers import window
from onward._keras_shapes import written_extreme


class Use:
    """One use of an operation."""

    def __init__(self, operation, name, given, outputs):
        self.operation, self.name, self.given, self.outputs = operation, name, given, outputs
        self.what = f"{type(operation).__name__} '{operation.name}'"

    def __getitem__(self, name):
        return self.given[name]

    @property
    def shape(self):
        return self.outputs[0].shape

    def refuse(self, value):
        raise onward.Error(f"{self.what} is called with {value!r}, which can't be exported")


def _joined(g, use, values, write, dtype=None):
    """What `write` makes of tensors and numbers that are broadcast to each other."""
    tensors = [each for each in values if isinstance(each, Tensor)]
    kinds = {each.dtype for each in tensors}
    if len(kinds) != 1 or not kinds <= {g.dtype, "int32", "int64", "bool"}:
        raise onward.Error(f"{use.what} is called with tensors of {', '.join(sorted(kinds))}, which can't be exported")
    for each in values:
        if not isinstance(each, (Tensor, numbers.Real)):
            use.refuse(each)

    def named(*names):
        given = iter(names)
        return write(*(next(given) if isinstance(each, Tensor) else g.constant(each, f"{use.name}_number", tensors[0].dtype)
                       for each in values))

    if any(each.rank != tensors[0].rank for each in tensors):
        made = Tensor(use.shape, tensors[0].dtype, plain=named(*(g.plain(each) for each in tensors)))
    else:
        made = g.map(tensors, named, use.shape)
    made.dtype = dtype or made.dtype
    return made


def _elementwise(op, dtype=None):
    def write(g, use):
        return _joined(g, use, list(use.given.values()), lambda *names: g.node(op, list(names), use.name), dtype)
    return write


def _not_equal(g, use):
    def write(a, b):
        return g.node("Not", [g.node("Equal", [a, b], f"{use.name}_equal")], use.name)
    return _joined(g, use, [use["x1"], use["x2"]], write, "bool")


def _or_equal(op, other):
    """Integers are not less where they are greater or equal; of numbers that are none, neither is true."""
    def write(g, use):
        def named(a, b):
            if any(isinstance(each, Tensor) and each.dtype == g.dtype for each in use.given.values()):
                parts = [g.node(op, [a, b], f"{use.name}_part"), g.node("Equal", [a, b], f"{use.name}_tie")]
                return g.node("Or", parts, use.name)
            return g.node("Not", [g.node(other, [a, b], f"{use.name}_not")], use.name)
        return _joined(g, use, list(use.given.values()), named, "bool")
    return write


def _extreme(op):
    def write(g, use):
        return _joined(g, use, list(use.given.values()), lambda a, b: written_extreme(g, op, a, b, use.name))
    return write


def _unary(row):
    def write(g, use):
        # TensorFlow has numbers as attributes of float32 too.
        attributes = {attribute: float(getattr(use.operation, setting)) for setting, attribute in row.settings}
        made = _joined(g, use, list(use.given.values()), lambda x: g.node(row.op, [x], use.name, **attributes))
        if row.op == "Sigmoid":
            made.logits = use["x"]
        return made
    return write


def _square(g, use):
    return _joined(g, use, [use["x"]], lambda x: g.node("Mul", [x, x], use.name))


def _silu(g, use):
    return _joined(g, use, [use["x"]], lambda x: g.node("Mul", [x, g.node("Sigmoid", [x], f"{use.name}_gate")], use.name))


def _gelu(g, use):
    return g.map([use["x"]], lambda x: activate_gelu(g, x, use.name, use.operation.approximate))


def _elu(g, use):
    return g.map([use["x"]], lambda x: elu(g, x, use.name, float(use.operation.alpha)))


def _power(g, use):
    if not isinstance(use["x2"], numbers.Real):
        use.refuse(use["x2"])
    return _elementwise("Pow")(g, use)


def _where(g, use):
    condition, *choices = use["condition"], use["x1"], use["x2"]
    chosen = [each for each in choices if isinstance(each, Tensor)]
    if not isinstance(condition, (Tensor, bool)) or not chosen or len({each.dtype for each in chosen}) != 1:
        use.refuse(choices)
    if isinstance(condition, bool):  # for the shape
        condition = g.array(np.array(condition), f"{use.name}_condition")
    names = [g.plain(each) if isinstance(each, Tensor) else g.constant(each, f"{use.name}_number", chosen[0].dtype)
             for each in (condition, *choices)]
    return Tensor(use.shape, chosen[0].dtype, plain=g.node("Where", names, use.name))


def _cast(g, use):
    dtype = use.outputs[0].dtype
    if dtype not in TYPES:
        use.refuse(dtype)
    made = g.map([use["x"]], lambda x: g.node("Cast", [x], use.name, to=TYPES[dtype]))
    made.dtype = dtype
    return made


def _converted(g, use):
    """What is a tensor already, of another type at most."""
    return use["x"] if use["x"].dtype == use.outputs[0].dtype else _cast(g, use)


def _softmax(op):
    def write(g, use):
        axis = use.operation.axis
        if not isinstance(axis, int):
            use.refuse(axis)
        return softmax(g, use["x"], axis, use.name, op)
    return write


def _matmul(g, use):
    a, b = use["x1"], use["x2"]
    return Tensor(use.shape, a.dtype, plain=g.node("MatMul", [g.plain(a), g.plain(b)], use.name))


# ---- shapes

def _plain(g, use, op, x, *lists, **attributes):
    """An operator that counts dimensions, with lists of integers as its other inputs."""
    names = [g.constant(list(each), f"{use.name}_{number}", "int64") for number, each in enumerate(lists)]
    return Tensor(use.shape, x.dtype, plain=g.node(op, [g.plain(x), *names], use.name, **attributes))


def _axes(axis, rank):
    axes = range(rank) if axis is None else [axis] if isinstance(axis, int) else axis
    return [each % rank for each in axes]


def _reshape(g, use):
    shape = use.operation.newshape
    shape = [shape] if isinstance(shape, int) else list(shape)
    if 0 in shape or any(not isinstance(each, int) for each in shape):
        use.refuse(shape)
    return _plain(g, use, "Reshape", use["x"], shape, allowzero=1 if -1 not in shape else None)


def _transpose(g, use):
    x, operation = use["x"], use.operation
    order = list(range(x.rank))
    if isinstance(operation, numpy.Transpose):
        order = order[::-1] if operation.axes is None else [axis % x.rank for axis in operation.axes]
    elif isinstance(operation, numpy.Swapaxes):
        a, b = operation.axis1 % x.rank, operation.axis2 % x.rank
        order[a], order[b] = b, a
    else:
        sources, targets = _axes(operation.source, x.rank), _axes(operation.destination, x.rank)
        order = [axis for axis in order if axis not in sources]
        for target, source in sorted(zip(targets, sources, strict=True)):
            order.insert(target, source)
    return _plain(g, use, "Transpose", x, perm=order)


def _expand_dims(g, use):
    return _plain(g, use, "Unsqueeze", use["x"], _axes(use.operation.axis, len(use.shape)))


def _squeeze(g, use):
    x, axis = use["x"], use.operation.axis
    axes = [each for each in range(x.rank) if x.shape[each] == 1] if axis is None else _axes(axis, x.rank)
    return _plain(g, use, "Squeeze", x, axes)


def _broadcast_to(g, use):
    return _plain(g, use, "Expand", use["x"], use.operation.shape)


def _concatenate(g, use):
    tensors, axis = list(use["xs"]), use.operation.axis
    if any(not isinstance(each, Tensor) or each.dtype != tensors[0].dtype for each in tensors):
        use.refuse(tensors)
    follows = all(each.plain is None for each in tensors)
    axis = g.axis(tensors[0], axis) if follows else axis % tensors[0].rank
    return g.map(tensors, lambda *names: g.node("Concat", list(names), use.name, axis=axis), use.shape)


def _stack(g, use):
    axis = use.operation.axis % len(use.shape)
    axes = g.constant([axis], f"{use.name}_axis", "int64")
    names = [g.node("Unsqueeze", [g.plain(each), axes], f"{use.name}_part") for each in use["x"]]
    return Tensor(use.shape, use["x"][0].dtype, plain=g.node("Concat", names, use.name, axis=axis))


def _split(g, use):
    x, axis, parts = use["x"], use.operation.axis % use["x"].rank, use.operation.indices_or_sections
    lengths = g.constant([each.shape[axis] for each in use.outputs], f"{use.name}_lengths", "int64")
    if not isinstance(parts, (int, tuple, list)):
        use.refuse(parts)
    names = g.nodes_of("Split", [g.plain(x), lengths], [use.name] * len(use.outputs), axis=axis)
    return [Tensor(each.shape, x.dtype, plain=name) for each, name in zip(use.outputs, names, strict=True)]


def _take(g, use):
    x, indices, axis = use["x"], use["indices"], use.operation.axis
    if axis is None:
        use.refuse(axis)
    if not isinstance(indices, Tensor):
        indices = g.array(np.asarray(indices, "int64"), f"{use.name}_indices")
    return Tensor(use.shape, x.dtype, plain=g.node("Gather", [g.plain(x), g.plain(indices)], use.name, axis=axis % x.rank))


def _get_item(g, use):
    """Slices first, then single elements, then new dimensions."""
    x, key = use["x"], use["key"]
    key = list(key) if isinstance(key, (tuple, list)) else [key]
    if any(not isinstance(each, (int, slice, type(None), type(Ellipsis))) for each in key):
        use.refuse(key)
    kept = x.rank - sum(each is not None and each is not Ellipsis for each in key)
    at = key.index(Ellipsis) if Ellipsis in key else len(key)
    key = [*key[:at], *[slice(None)] * kept, *key[at + 1:]]
    added = [place for place, each in enumerate(each for each in key if not isinstance(each, int)) if each is None]
    key = [each for each in key if each is not None]
    cut = [(axis, each) for axis, each in enumerate(key) if isinstance(each, slice) and each != slice(None)]
    picked = [(axis, each) for axis, each in enumerate(key) if isinstance(each, int)]
    if any((each.step or 1) < 1 for _, each in cut):
        use.refuse(key)
    name = g.plain(x)
    if cut:
        whole = np.iinfo("int64").max
        lists = ([each.start or 0 for _, each in cut], [whole if each.stop is None else each.stop for _, each in cut],
                 [axis for axis, _ in cut], [each.step or 1 for _, each in cut])
        constants = [g.constant(each, f"{use.name}_{what}", "int64")
                     for each, what in zip(lists, ("starts", "ends", "axes", "steps"), strict=True)]
        name = g.node("Slice", [name, *constants], "slice")
    for axis, index in reversed(picked):
        name = g.node("Gather", [name, g.constant(index, f"{use.name}_index", "int64")], "gather", axis=axis)
    if added:
        name = g.node("Unsqueeze", [name, g.constant(added, f"{use.name}_added", "int64")], "unsqueeze")
    return Tensor(use.shape, x.dtype, plain=name)


# ---- reductions, windows and pads

def _reduce(op):
    def write(g, use):
        x, operation = use["x"], use.operation
        into = getattr(operation, "dtype", None) or (x.dtype if x.dtype == g.dtype else use.outputs[0].dtype)
        if x.dtype not in (g.dtype, "int32", "int64") or into != x.dtype or getattr(operation, "initial", None) is not None:
            use.refuse(into)
        axes = _axes(operation.axis, x.rank)
        keeps = bool(operation.keepdims)
        # What is left of an image is in order where that is batch and channels.
        follows = x.plain is None and (keeps or sorted(axes) == list(range(1, x.rank - 1)))
        here = [g.axis(x, axis) for axis in axes] if follows else axes
        source = x.first if follows else g.plain(x)
        y = g.node(op, [source, g.constant(sorted(here), f"{use.name}_axes", "int64")], use.name, keepdims=int(keeps))
        return Tensor(use.shape, x.dtype, **{"first" if follows and keeps else "plain": y})
    return write


def _pool(op):
    def write(g, use):
        operation, x = use.operation, use["inputs"]
        rank = x.rank - 2
        if operation.data_format == "channels_first" or rank > 2:
            use.refuse(operation.data_format)
        kernel, strides = ((size,) * rank if isinstance(size, int) else tuple(size)
                           for size in (operation.pool_size, operation.strides or operation.pool_size))
        call = SimpleNamespace(x=x, layer=SimpleNamespace(data_format="channels_last"), settings=use)
        y = g.node(op, [g.first(x)], use.name, **window(call, kernel, strides, (1,) * rank, operation.padding))
        return g.from_image(y, use.shape, "channels_last", x.dtype)
    return write


def _pad(g, use):
    x, operation = use["x"], use.operation
    value = use.given.get("constant_values")
    if operation.mode != "constant" or not isinstance(value, (numbers.Real, type(None))):
        use.refuse(operation.mode)
    follows = x.plain is None
    order = [0, x.rank - 1, *range(1, x.rank - 1)] if follows else range(x.rank)
    pads = [tuple(operation.pad_width[axis]) for axis in order]
    inputs = [g.constant([*(before for before, _ in pads), *(after for _, after in pads)], f"{use.name}_pads", "int64")]
    if value:
        inputs.append(g.constant(value, f"{use.name}_value", x.dtype))
    return g.map([x], lambda name: g.node("Pad", [name, *inputs], use.name), use.shape)


_BINARY = {numpy.Add: "Add", numpy.Subtract: "Sub", numpy.Multiply: "Mul", numpy.Divide: "Div",
           numpy.TrueDivide: "Div"}
_COMPARISONS = {numpy.Equal: "Equal", numpy.Greater: "Greater", numpy.Less: "Less", numpy.LogicalAnd: "And",
                numpy.LogicalOr: "Or", numpy.LogicalNot: "Not", numpy.LogicalXor: "Xor"}
_UNARY = {operator.attrgetter(row.operation)(ops): row for row in ACTIVATIONS if row.operation}
OPERATIONS = {
    **{kind: _elementwise(op) for kind, op in _BINARY.items()},
    **{kind: _elementwise(op, "bool") for kind, op in _COMPARISONS.items()},
    **{kind: _unary(row) for kind, row in _UNARY.items()},
    **ALONG_AXES,
    core.Cast: _cast, core.ConvertToTensor: _converted, math.Logsumexp: _reduce("ReduceLogSumExp"),
    nn.AveragePool: _pool("AveragePool"), nn.Elu: _elu, nn.Gelu: _gelu, nn.LogSoftmax: _softmax("LogSoftmax"),
    nn.MaxPool: _pool("MaxPool"), nn.Silu: _silu, nn.Softmax: _softmax("Softmax"), numpy.Amax: _reduce("ReduceMax"),
    numpy.BroadcastTo: _broadcast_to, numpy.Concatenate: _concatenate, numpy.ExpandDims: _expand_dims,
    numpy.GetItem: _get_item, numpy.GreaterEqual: _or_equal("Greater", "Less"), numpy.LessEqual: _or_equal("Less", "Greater"),
    numpy.Matmul: _matmul, numpy.Max: _reduce("ReduceMax"), numpy.Maximum: _extreme("Max"), numpy.Mean: _reduce("ReduceMean"),
    numpy.Min: _reduce("ReduceMin"), numpy.Minimum: _extreme("Min"), numpy.Moveaxis: _transpose, numpy.NotEqual: _not_equal,
    numpy.Pad: _pad, numpy.Power: _power, numpy.Prod: _reduce("ReduceProd"), numpy.Reshape: _reshape, numpy.Split: _split,
    numpy.Square: _square, numpy.Squeeze: _squeeze, numpy.Stack: _stack, numpy.Sum: _reduce("ReduceSum"),
    numpy.Swapaxes: _transpose, numpy.Take: _take, numpy.Transpose: _transpose, numpy.Where: _where,
}


def write_operation(g, operation, name, arguments, keywords, outputs):
    """The results of an operation; what it is called with is Tensors in the places of Keras's."""
    given = inspect.signature(operation.call).bind(*arguments, **keywords).arguments
    made = OPERATIONS[type(operation)](g, Use(operation, name, given, outputs))
    return made if isinstance(made, list) else [made]
