"""Nodes of operators that move elements, or speak of shapes."""

import numpy as np
import values
from graph import Unsuitable
from onnx import numpy_helper


def axes_of(g, rank, most=None):
    """Some different axes, some of them counted from the end (from opset 11 on)."""
    count = g.between(1, min(rank, most or rank))
    axes = g.choices.sample(range(rank), count)
    return [axis - rank if g.opset >= 11 and g.maybe(0.3) else axis for axis in axes]


def axis_of(g, rank):
    axis = g.between(0, rank - 1)
    return axis - rank if g.opset >= 11 and g.maybe(0.3) else axis


def factors(g, size):
    """Numbers whose product is `size`."""
    found = []
    while size > 1:
        factor = g.one_of(*[n for n in range(2, size + 1) if size % n == 0])
        found.append(factor)
        size //= factor
    for _ in range(g.between(0, 2)):
        found.insert(g.between(0, len(found)), 1)
    return found[:5] if len(found) <= 5 else [int(np.prod(found))]


def reshape(g):
    x = g.operand("Reshape")
    size = int(np.prod(x.shape, dtype=np.int64))
    if size == 0:
        shape = list(x.shape) + [3]
        if g.opset < 14 or g.maybe(0.3):
            written = [0] * x.rank + [3]  # each 0: the dimension of the input
            g.add("Reshape", [x, g.number(written)], [(x.type, tuple(shape))])
        else:
            shape = [0, g.between(1, 4)] + [2] * g.between(0, 2)
            g.add("Reshape", [x, g.number(shape)], [(x.type, tuple(shape))], allowzero=1)
        return
    shape = factors(g, size)
    written = list(shape)
    if written and g.maybe(0.5):
        written[g.between(0, len(written) - 1)] = -1
    for i in range(min(len(written), x.rank)):
        if written[i] == x.shape[i] and g.maybe(0.4):
            written[i] = 0
    allow = g.one_of(None, 0) if g.opset >= 14 else None
    g.add("Reshape", [x, g.number(np.array(written, np.int64))], [(x.type, tuple(shape))], allowzero=allow)


def flatten(g):
    x = g.operand("Flatten", rank=range(1, 6))
    axis = g.one_of(None, *range(0, x.rank + 1))
    if axis and g.opset >= 11 and axis < x.rank and g.maybe(0.3):
        axis -= x.rank
    at = 1 if axis is None else axis
    at = at + x.rank if at < 0 else at
    shape = (int(np.prod(x.shape[:at])), int(np.prod(x.shape[at:])))
    g.add("Flatten", [x], [(x.type, shape)], axis=axis)


def with_axes(g, op, x, axes, output):
    """The axes are an attribute up to opset 12, an input from 13 on."""
    if g.opset < 13:
        g.add(op, [x], [output], axes=axes)
    else:
        g.add(op, [x, None if axes is None else g.number(axes)], [output])


def squeeze(g):
    x = g.operand("Squeeze")
    ones = [axis for axis, dim in enumerate(x.shape) if dim == 1]
    if not ones and x.rank < 5:  # there is none: make one
        shape = list(x.shape)
        shape.insert(g.between(0, x.rank), 1)
        x, ones = g.new(x.type, tuple(shape)), [shape.index(1)]
    if not ones:
        raise Unsuitable("Squeeze")
    if g.maybe(0.3):
        with_axes(g, "Squeeze", x, None, (x.type, tuple(dim for dim in x.shape if dim != 1)))
        return
    chosen = g.choices.sample(ones, g.between(1, len(ones)))
    shape = tuple(dim for axis, dim in enumerate(x.shape) if axis not in chosen)
    with_axes(g, "Squeeze", x, [a - x.rank if g.opset >= 11 and g.maybe(0.3) else a for a in chosen], (x.type, shape))


def unsqueeze(g):
    x = g.operand("Unsqueeze", rank=range(0, 5))
    rank = x.rank + g.between(1, 5 - x.rank)
    axes = g.choices.sample(range(rank), rank - x.rank)
    rest = iter(x.shape)
    shape = tuple(1 if axis in axes else next(rest) for axis in range(rank))
    axes = [a - rank if g.opset >= 11 and g.maybe(0.3) else a for a in axes]
    with_axes(g, "Unsqueeze", x, axes if g.opset >= 11 else sorted(axes), (x.type, shape))


def transpose(g):
    x = g.operand("Transpose")
    if g.maybe(0.2):
        g.add("Transpose", [x], [(x.type, x.shape[::-1])])
        return
    order = g.choices.sample(range(x.rank), x.rank)
    g.add("Transpose", [x], [(x.type, tuple(x.shape[axis] for axis in order))], perm=order)


def concat(g):
    x = g.operand("Concat", rank=range(1, 6))
    axis = axis_of(g, x.rank)
    inputs, total = [x], x.shape[axis]
    for _ in range(g.between(0, 3)):
        shape = list(x.shape)
        shape[axis] = g.dim()
        y = g.operand("Concat", 0, x.type, shape=tuple(shape)) if g.maybe(0.7) else x
        inputs.append(y)
        total += y.shape[axis]
    shape = list(x.shape)
    shape[axis] = total
    g.add("Concat", inputs, [(x.type, tuple(shape))], axis=axis)


def split(g):
    x = g.operand("Split", rank=range(1, 6), smallest=1)
    axis = axis_of(g, x.rank)
    size = x.shape[axis]
    parts = []
    if g.maybe(0.6):
        left = size
        while left > 0 and len(parts) < 3:
            parts.append(g.between(0 if g.opset >= 11 and g.maybe(0.1) else 1, left))
            left -= parts[-1]
        if left:
            parts.append(left)
        says = {"split": parts} if g.opset < 13 else {}
        inputs = [x] if g.opset < 13 else [x, g.number(parts)]
    else:
        count = g.one_of(*[n for n in (1, 2, 3, 4) if size % n == 0])
        says, inputs = {}, [x]
        if g.opset >= 18:
            count = g.between(1, min(4, size))
            step = -(-size // count)
            if step * (count - 1) >= size:
                raise Unsuitable("Split")
            parts = [step] * (count - 1) + [size - step * (count - 1)]
            says = {"num_outputs": count}
        else:
            parts = [size // count] * count
    outputs = [(x.type, tuple(part if a == axis % x.rank else dim for a, dim in enumerate(x.shape))) for part in parts]
    if len(outputs) > 1 and g.maybe(0.1):
        outputs[g.between(0, len(outputs) - 1)] = None
    if axis == 0 and g.maybe(0.3):
        axis = None
    g.add("Split", inputs, outputs, axis=axis, **says)


def slice_(g):
    x = g.operand("Slice", rank=range(1, 6))
    axes = axes_of(g, x.rank)
    starts, ends, steps = [], [], []
    for axis in axes:
        size = x.shape[axis]
        step = g.one_of(1, 1, 2, -1, -2, 3) if g.opset >= 10 else 1
        low = -size - 2 if g.opset >= 10 else -size
        starts.append(g.between(low, size + 2))
        ends.append(g.one_of(g.between(low, size + 2), 2**31 - 1, 2**63 - 1, *([-(2**31)] if step < 0 else [])))
        steps.append(step)
    index = [slice(None)] * x.rank
    for axis, start, end, step in zip(axes, starts, ends, steps):
        index[axis] = cut(x.shape[axis], start, end, step)
    shape = np.broadcast_to(np.int8(0), x.shape)[tuple(index)].shape
    if g.opset < 10:
        given = None if axes == list(range(x.rank)) and g.maybe(0.5) else axes
        g.add("Slice", [x], [(x.type, shape)], starts=starts, ends=ends, axes=given)
        return
    type = g.one_of("int64", "int32") if max(map(abs, [*starts, *ends])) < 2**31 else "int64"
    inputs = [x, g.number(starts, type), g.number(ends, type)]
    with_steps = any(step != 1 for step in steps) or g.maybe(0.3)
    with_axes_ = axes != list(range(len(axes))) or g.maybe(0.5)
    inputs.append(g.number(axes, type) if with_axes_ else None)
    inputs.append(g.number(steps, type) if with_steps else None)
    g.add("Slice", inputs, [(x.type, shape)])


def cut(size, start, end, step):
    """The standard's limits as Python's, which takes -1 as a place from the end."""
    start = start + size if start < 0 else start
    end = end + size if end < 0 else end
    if step > 0:
        start, end = min(max(start, 0), size), min(max(end, 0), size)
        return slice(start, end, step)
    start, end = min(max(start, 0), size - 1), min(max(end, -1), size - 1)
    return slice(start, None if end < 0 else end, step)


def pad(g):
    x = g.operand("Pad", rank=range(1, 6))
    modes = ["constant", "reflect", "edge"] + (["wrap"] if g.opset >= 19 else [])
    mode = g.choices.choices(modes, [6, 2, 2, 1][:len(modes)])[0]
    axes = list(range(x.rank))
    if g.opset >= 18 and g.maybe(0.3):
        axes = axes_of(g, x.rank)
    pads, shape = [[], []], list(x.shape)
    for axis in axes:
        size = x.shape[axis]
        for side in pads:
            most = {"constant": 3, "reflect": size - 1, "edge": 2 if size else 0, "wrap": size}[mode]
            amount = g.between(0, max(0, min(most, 3)))
            if mode == "constant" and g.maybe(0.1) and shape[axis] > 1:
                amount = -1
            side.append(amount)
            shape[axis] += amount
    if min(shape) < 0:
        raise Unsuitable("Pad")
    given = None if mode == "constant" and g.maybe(0.5) else mode
    if g.opset < 11:
        g.add("Pad", [x], [(x.type, tuple(shape))], mode=given, pads=pads[0] + pads[1], value=g.one_of(None, 1.5))
        return
    fill = g.number(2, x.type) if mode == "constant" and g.maybe(0.6) else None
    inputs = [x, g.number(pads[0] + pads[1]), fill]
    if g.opset >= 18 and axes != list(range(x.rank)):
        inputs.append(g.number(axes, g.one_of("int64", "int32")))
    g.add("Pad", inputs, [(x.type, tuple(shape))], mode=given)


def expand(g):
    x = g.operand("Expand")
    shape = tuple(g.between(1, 4) if dim == 1 and g.maybe(0.7) else dim for dim in x.shape)
    if len(shape) < 5 and g.maybe(0.4):
        shape = (g.between(1, 3), *shape)
    written = list(shape)
    if g.maybe(0.3):  # dimensions of 1 that the input's take the place of
        offset = len(shape) - x.rank
        written = [1 if i >= offset and shape[i] == x.shape[i - offset] else dim for i, dim in enumerate(shape)]
    g.add("Expand", [x, g.number(np.array(written, np.int64))], [(x.type, shape)])


def indices(g, op, shape, size, index=1):
    """Places along an axis of `size` elements, negative ones too from opset 11 on."""
    low = -size if g.opset >= 11 and g.maybe(0.5) else 0
    array = g.numbers.integers(low, size, shape).astype(values.NUMPY[g.type_for(op, index)])
    return g.leaf(array)


def gather(g):
    x = g.operand("Gather", rank=range(1, 5), smallest=1)
    axis = axis_of(g, x.rank)
    shape = g.shape(g.between(0, 2))
    at = indices(g, "Gather", shape, x.shape[axis])
    axis = None if axis == 0 and g.maybe(0.5) else axis
    before = (axis or 0) % x.rank
    g.add("Gather", [x, at], [(x.type, (*x.shape[:before], *shape, *x.shape[before + 1:]))], axis=axis)


def gather_elements(g):
    x = g.operand("GatherElements", rank=range(1, 5), smallest=1)
    axis = axis_of(g, x.rank)
    shape = tuple(g.dim() if a == axis % x.rank else g.between(1, dim) for a, dim in enumerate(x.shape))
    at = indices(g, "GatherElements", shape, x.shape[axis])
    g.add("GatherElements", [x, at], [(x.type, shape)], axis=axis)


def scatter_elements(g):
    x = g.operand("ScatterElements", rank=range(1, 5), smallest=1)
    axis = axis_of(g, x.rank)
    size = x.shape[axis]
    reductions = [None, "none"] if g.opset >= 16 else [None]
    reductions += ["add", "mul"] if g.opset >= 16 else []
    reductions += ["max", "min"] if g.opset >= 18 else []
    reduction = g.one_of(*reductions)
    if x.type == "bool":
        reduction = None
    shape = [g.between(1, dim) for dim in x.shape]
    count = shape[axis]
    # Without a reduction no place may be written twice.
    line = g.numbers.permutation(size)[:count] if reduction in (None, "none") else g.numbers.integers(0, size, count)
    if g.maybe(0.4):
        line = line - size * (g.numbers.random(count) < 0.5)
    along = [1] * x.rank
    along[axis] = count
    at = np.broadcast_to(line.reshape(along), shape).astype(values.NUMPY[g.type_for("ScatterElements", 1)])
    updates = g.operand("ScatterElements", 2, x.type, shape=tuple(shape))
    g.add("ScatterElements", [x, g.leaf(np.ascontiguousarray(at)), updates], [(x.type, x.shape)], axis=axis,
          reduction=reduction)


def one_hot(g):
    depth = g.between(1, 5)
    shape = g.shape(g.between(1, 3))
    kind = g.type_for("OneHot", 0, values.INTEGERS)
    low = 0 if kind in values.UNSIGNED or g.opset < 11 else -depth - 1
    at = g.leaf(g.numbers.integers(low, depth + 2, shape).astype(values.NUMPY[kind]))
    type = g.type_for("OneHot", 2)
    axis = g.one_of(None, *range(-len(shape) - 1, len(shape) + 1))
    place = (-1 if axis is None else axis) % (len(shape) + 1)
    one_or_none = g.one_of((), (1,))
    size = g.number(np.full(one_or_none, depth), g.one_of("int64", "int32", "float"))
    onoff = g.leaf(values.draw(g.numbers, type, (2,)))
    g.add("OneHot", [at, size, onoff], [(type, (*shape[:place], depth, *shape[place:]))], axis=axis)


def shape_(g):
    x = g.operand("Shape")
    start = end = None
    if g.opset >= 15 and g.maybe(0.5):
        start, end = g.one_of(None, g.between(-6, 6)), g.one_of(None, g.between(-6, 6))
    low, high = start or 0, x.rank if end is None else end
    low, high = (min(max(at + x.rank if at < 0 else at, 0), x.rank) for at in (low, high))
    g.add("Shape", [x], [("int64", (max(high - low, 0),))], start=start, end=end)


def size(g):
    g.add("Size", [g.operand("Size")], [("int64", ())])


def constant_of_shape(g):
    shape = g.shape()
    kinds = sorted(values.NUMPY.keys() - ({"bfloat16"} if g.opset < 20 else set()))
    kind = g.smooth or g.choices.choice(kinds)
    value = None
    if kind != "float" or g.maybe(0.7):
        value = numpy_helper.from_array(values.draw(g.numbers, kind, (1,)))
    g.add("ConstantOfShape", [g.number(np.array(shape, np.int64))], [(kind, shape)], value=value)


def range_(g):
    kind = g.type_for("Range")
    start, step, count = g.between(-4, 4), g.one_of(1, 2, 3, -1, -2), g.between(0, 6)
    limit = start + step * count - (g.between(0, abs(step) - 1) if step > 0 else 0)
    count = max(0, -(-(limit - start) // step))
    if g.smooth and kind == g.smooth and count > 0:
        limit = start + step * (count - 0.5)  # where a little more or less of anything changes no size
    given = [g.number(number, kind) for number in (start, limit, step)]
    g.add("Range", given, [(kind, (count,))])


def non_zero(g):
    x = g.operand("NonZero", rank=range(1, 5))
    g.add("NonZero", [x], [("int64", None)])


def tile(g):
    x = g.operand("Tile", rank=range(0, 4))
    repeats = [g.between(1, 3) if g.smooth or g.maybe(0.95) else 0 for _ in x.shape]
    shape = tuple(dim * count for dim, count in zip(x.shape, repeats))
    if g.opset < 6:
        axis = g.between(0, x.rank - 1) if x.rank else None
        if axis is None:
            raise Unsuitable("Tile")
        shape = tuple(dim * repeats[axis] if a == axis else dim for a, dim in enumerate(x.shape))
        g.add("Tile", [x, g.number(repeats[axis], x.type), g.number(axis, x.type)], [(x.type, shape)])
        return
    g.add("Tile", [x, g.number(np.array(repeats, np.int64))], [(x.type, shape)])


OPERATORS = {
    "Concat": concat,
    "ConstantOfShape": constant_of_shape,
    "Expand": expand,
    "Flatten": flatten,
    "Gather": gather,
    "GatherElements": gather_elements,
    "NonZero": non_zero,
    "OneHot": one_hot,
    "Pad": pad,
    "Range": range_,
    "Reshape": reshape,
    "ScatterElements": scatter_elements,
    "Shape": shape_,
    "Size": size,
    "Slice": slice_,
    "Split": split,
    "Squeeze": squeeze,
    "Transpose": transpose,
    "Unsqueeze": unsqueeze,
    "Tile": tile,
}
