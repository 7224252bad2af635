"""Functions that emitted Keras source needs where Keras has no call of its own.

Each is copied into the source that uses it, with those that it uses itself. Here they are a module, so that they can be
read, checked and tested as Python; they stand in the order of their use. Images have their channels last.
"""

import itertools
import math

import keras
import numpy as np
from keras import layers, ops


def truncated_division(a, b):
    """Divides integers towards zero."""
    return ops.sign(a) * ops.sign(b) * (ops.abs(a) // ops.abs(b))


def broadcast_all(tensors):
    """The tensors, all of them in one shape."""
    whole = tensors[0]
    for tensor in tensors[1:]:
        whole = ops.where(True, whole, tensor)
    return [ops.where(True, tensor, whole) for tensor in tensors]


def largest(*tensors):
    """The largest elements. Those that tie share the gradient."""
    return ops.max(ops.stack(broadcast_all(tensors)), axis=0)


def smallest(*tensors):
    """The smallest elements. Those that tie share the gradient."""
    return ops.min(ops.stack(broadcast_all(tensors)), axis=0)


def hardmax(x, axis):
    """1 at the first of the largest elements along the axis, 0 elsewhere."""
    places = ops.cumsum(ops.ones_like(x, dtype="int64"), axis=axis) - 1
    first = ops.cast(ops.argmax(x, axis=axis, keepdims=True), "int64")
    return ops.cast(ops.equal(places, first), x.dtype)


def bit_shift(x, amounts, bits, left):
    """Moves bits; those beyond the ends are gone, and behind them comes the sign."""
    inside = ops.logical_and(amounts >= 0, amounts < bits)
    by = ops.where(inside, amounts, ops.zeros_like(amounts))
    moved = ops.bitwise_left_shift(x, by) if left else ops.bitwise_right_shift(x, by)
    none = ops.zeros_like(x)
    return ops.where(inside, moved, none if left else ops.where(x < 0, none - 1, none))


def accumulated(function, start, x, axis, exclusive, reverse):
    """What a function of all elements up to each gives, or of those before it, or after it."""
    before = (slice(None),) * (axis % len(x.shape))
    x = ops.flip(x, axis) if reverse else x
    if exclusive:
        x = ops.concatenate([ops.full_like(x[(*before, slice(0, 1))], start), x[(*before, slice(0, -1))]], axis=axis)
    y = ops.cast(function(x, axis=axis), x.dtype)
    return ops.flip(y, axis) if reverse else y


def cumulative_sum(x, axis, exclusive=False, reverse=False):
    """The sum of all elements up to each along the axis."""
    return accumulated(ops.cumsum, 0, x, axis, exclusive, reverse)


def cumulative_product(x, axis, exclusive=False, reverse=False):
    """The product of all elements up to each along the axis."""
    return accumulated(ops.cumprod, 1, x, axis, exclusive, reverse)


def reshape(x, shape):
    """A size of 0 is that of x in the same place."""
    own = ops.cast(ops.convert_to_tensor(ops.shape(x)), shape.dtype)
    own = ops.concatenate([own, ops.zeros_like(shape)])[: ops.shape(shape)[0]]
    return ops.reshape(x, ops.where(shape == 0, own, shape))


def squeeze(x, axes):
    """Without the dimensions `axes`, whose sizes are 1 when it runs."""
    sizes = ops.shape(x)
    dropped = [axis % len(sizes) for axis in axes]
    return ops.reshape(x, [size for axis, size in enumerate(sizes) if axis not in dropped])


def unsqueeze(x, axes):
    """Adds dimensions of size 1; axes count in the result."""
    rank = len(x.shape) + len(axes)
    for axis in sorted(axis % rank for axis in axes):
        x = ops.expand_dims(x, axis)
    return x


def conv_transpose(x, kernel, sizes, strides, dilations, before, behind, groups):
    """Each element of x times the kernel, added up `strides` apart; `before` and `behind` are cut off."""
    rank = len(strides)
    widths = [(0, 0)] * (rank + 2)
    kept = [slice(None)] * (rank + 2)
    for d, stride in enumerate(strides):
        # Zeros between the elements, then a convolution with the kernel turned round.
        shape = list(ops.shape(x))
        shape[d + 1] *= stride
        spread = [(0, 0)] * (rank + 3)
        spread[d + 2] = (0, stride - 1)
        x = ops.reshape(ops.pad(ops.expand_dims(x, d + 2), spread), shape)
        reach = (sizes[d] - 1) * dilations[d]
        front, back = reach - before[d], reach - behind[d] - stride + 1
        widths[d + 1] = (max(front, 0), max(back, 0))
        kept[d + 1] = slice(max(-front, 0), min(back, 0) or None)
    channels, outputs = ops.shape(kernel)[:2]
    kernel = ops.reshape(ops.flip(kernel, tuple(range(2, rank + 2))), (groups, channels // groups, outputs, *sizes))
    kernel = ops.transpose(kernel, (*range(3, rank + 3), 1, 0, 2))
    kernel = ops.reshape(kernel, (*sizes, channels // groups, groups * outputs))
    return ops.conv(ops.pad(x, widths)[tuple(kept)], kernel, dilation_rate=dilations, data_format="channels_last")


def one_hot(indices, depth, values, axis):
    """values[1] where an index points, values[0] elsewhere; negative indices count from the end."""
    indices = ops.expand_dims(ops.where(indices < 0, indices + depth, indices), axis)
    places = [1] * len(indices.shape)
    places[axis] = depth
    hot = ops.equal(indices, ops.reshape(ops.arange(depth, dtype=indices.dtype), places))
    return ops.where(hot, values[1], values[0])


def larger_size(a, b):
    """The larger of two sizes, which are numbers, or tensors where only a batch tells them."""
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else ops.maximum(a, b)


def pad(x, pads, axes=None, mode="constant", value=0):
    """Adds `pads` before all axes, then after; negative ones cut off."""
    axes = range(len(x.shape)) if axes is None else axes
    for i, axis in enumerate(axes):
        size = ops.shape(x)[axis]
        at = ops.arange(-pads[i], size + pads[i + len(axes)])
        if mode == "wrap":
            x = ops.take(x, at % size, axis=axis)
        elif mode == "reflect":
            period = larger_size(2 * (size - 1), 1)
            x = ops.take(x, (size - 1) - ops.abs((size - 1) - at % period), axis=axis)
        else:
            x = ops.take(x, ops.clip(at, 0, size - 1), axis=axis)
            if mode == "constant":
                places = [1] * len(x.shape)
                places[axis] = -1
                inside = ops.reshape(ops.logical_and(at >= 0, at < size), places)
                x = ops.where(inside, x, ops.cast(value, x.dtype))
    return x


def split(x, lengths, axis):
    """Parts of these lengths."""
    begins = np.cumsum([0, *lengths]).tolist()
    before = (slice(None),) * (axis % len(x.shape))
    return [x[(*before, slice(*ends))] for ends in zip(begins, begins[1:])]


def take_slices(x, starts, ends, axes=None, steps=None):
    """Slices along several axes. Backwards from before the beginning is from the first element."""
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    for start, end, axis, step in zip(starts, ends, axes, steps):
        size = ops.shape(x)[axis]
        start, end = (max(-(2**30), min(each, 2**30)) for each in (start, end))
        start = larger_size(-larger_size(-start, -size), -size)
        end = larger_size(-larger_size(-end, -size), -size - 1)
        x = x[(slice(None),) * (axis % len(x.shape)) + (slice(start, end, step),)]
    return x


def beside(x, value, axis, block):
    """A value for each place along the axis of x, or for each block of places, in a shape that goes with x."""
    if block:
        return ops.take(value, ops.arange(ops.shape(x)[axis]) // block, axis=axis)
    places = [1] * len(x.shape)
    places[axis] = -1
    return ops.reshape(value, places)


def quantize_linear(x, scale, zero_point, dtype, low, high, axis=None, block=0):
    """x / scale, rounded to the nearest (ties to even), plus the zero point, as an integer from low to high."""
    zero_point = ops.cast(zero_point, "float64")
    if axis is not None:
        scale = beside(x, scale, axis, block)
        zero_point = beside(x, zero_point, axis, block) if len(zero_point.shape) else zero_point
    steps = ops.cast(ops.round(x / scale), "float64") + zero_point
    steps = ops.where(ops.isnan(steps), ops.cast(low, "float64"), steps)
    return ops.cast(ops.clip(steps, low, high), dtype)


def same_pads(x, kernel, strides, dilations, lower=False):
    """The pads, before then after, that let windows cover x; the odd one goes behind, or before."""
    totals = []
    for size, k, stride, dilation in zip(ops.shape(x)[1:-1], kernel, strides, dilations):
        outputs = -(-size // stride)
        totals.append(larger_size(0, (outputs - 1) * stride + (k - 1) * dilation + 1 - size))
    before = [total - total // 2 if lower else total // 2 for total in totals]
    return before + [total - b for total, b in zip(totals, before)]


def pad_same(x, kernel, strides, dilations=None, lower=False, value=0.0):
    """x with the pads that let windows cover it."""
    pads = same_pads(x, kernel, strides, dilations or [1] * len(kernel), lower)
    rank = len(kernel)
    widths = [(0, 0), *((pads[d], pads[d + rank]) for d in range(rank)), (0, 0)]
    return ops.pad(x, widths, constant_values=value)


def window_slices(x, kernel, strides, pads, dilations, ceil_mode, fill, beyond):
    """For each place of a window, what all windows have there.

    The pads hold `fill`; what rounding up reaches behind them holds `beyond`."""
    rank = len(kernel)
    inner, outer, counts = [], [], []
    for d in range(rank):
        size, before, after = ops.shape(x)[d + 1], pads[d], pads[d + rank]
        reach = (kernel[d] - 1) * dilations[d] + 1
        room = size + before + after - reach
        count = (room + strides[d] - 1 if ceil_mode else room) // strides[d] + 1
        if ceil_mode:  # without a window that would begin behind x
            behind = larger_size(0, (count - 1) * strides[d] - size - before + 1)
            count += larger_size(-1, -behind)
        counts.append(count)
        inner.append((before, after))
        outer.append((0, larger_size(0, (count - 1) * strides[d] - room)))
    x = ops.pad(x, [(0, 0), *inner, (0, 0)], constant_values=fill)
    x = ops.pad(x, [(0, 0), *outer, (0, 0)], constant_values=beyond)
    for place in itertools.product(*(range(k) for k in kernel)):
        begins = [p * dilation for p, dilation in zip(place, dilations)]
        yield x[(slice(None), *(slice(begin, begin + (count - 1) * stride + 1, stride)
                                for begin, count, stride in zip(begins, counts, strides)))]


def max_pool(x, kernel, strides, pads, dilations, ceil_mode=False):
    """The largest of each window, with pads, dilations and rounding as ONNX has them."""
    lowest = float("-inf")
    slices = window_slices(x, kernel, strides, pads, dilations, ceil_mode, lowest, lowest)
    largest = next(slices)
    for each in slices:  # of those that tie, the first one has the gradient
        largest = ops.where(ops.logical_or(each > largest, ops.isnan(each)), each, largest)
    return largest


def average_pool(x, kernel, strides, pads, dilations, ceil_mode=False, count_pads=False):
    """The mean of each window, with pads, dilations and rounding as ONNX has them."""
    window = (kernel, strides, pads, dilations, ceil_mode)
    total = sum(window_slices(x, *window, 0.0, 0.0))
    ones = ops.ones_like(x[:1, ..., :1])
    places = sum(window_slices(ones, *window, 1.0 if count_pads else 0.0, 0.0))
    return total / ops.maximum(places, 1.0)


def from_front(indices, size):
    """Indices of which negative ones counted from the end."""
    return ops.where(indices < 0, indices + ops.cast(size, indices.dtype), indices)


def gather_elements(x, indices, axis=0):
    """Elements by their indices along one axis; negative ones count from the end."""
    axis = axis % len(x.shape)
    kept = [slice(None) if d == axis else slice(size) for d, size in enumerate(ops.shape(indices))]
    return ops.take_along_axis(x[tuple(kept)], from_front(indices, ops.shape(x)[axis]), axis=axis)


def flat_tuples(x, indices, batch_dims=0):
    """x as rows, and the rows that tuples of indices point to, within each element of a batch."""
    sizes, depth = ops.shape(x), batch_dims + indices.shape[-1]
    at = ops.zeros_like(indices[..., 0])
    for d in range(depth):
        if d < batch_dims:
            places = [-1] + [1] * (len(indices.shape) - 2 - d)
            index = ops.reshape(ops.arange(sizes[d], dtype=indices.dtype), places)
        else:
            index = from_front(indices[..., d - batch_dims], sizes[d])
        at = at * ops.cast(sizes[d], indices.dtype) + index
    return ops.reshape(x, (math.prod(sizes[:depth]), math.prod(sizes[depth:]))), at


def gather_nd(x, indices, batch_dims=0):
    """Slices by tuples of indices, within each element of a batch."""
    rows, at = flat_tuples(x, indices, batch_dims)
    rest = ops.shape(x)[batch_dims + indices.shape[-1]:]
    return ops.reshape(ops.take(rows, at, axis=0), (*ops.shape(indices)[:-1], *rest))


def scatter_nd(x, indices, updates, reduction="none"):
    """x with slices put in, or added, at tuples of indices."""
    rows, at = flat_tuples(x, indices)
    at, updates = ops.reshape(at, (-1, 1)), ops.reshape(updates, (-1, ops.shape(rows)[1]))
    if reduction == "add":
        return x + ops.reshape(ops.scatter(at, updates, ops.shape(rows)), ops.shape(x))
    return ops.reshape(ops.scatter_update(rows, at, updates), ops.shape(x))


def scatter_elements(x, indices, updates, axis=0, reduction="none"):
    """x with updates put in, or added, at their indices along one axis."""
    axis = axis % len(x.shape)
    places = []
    for d, size in enumerate(ops.shape(indices)):
        along = [-1 if other == d else 1 for other in range(len(x.shape))]
        line = ops.reshape(ops.arange(size, dtype=indices.dtype), along)
        places.append(from_front(indices, ops.shape(x)[d]) if d == axis else line + ops.zeros_like(indices))
    return scatter_nd(x, ops.stack(places, axis=-1), updates, reduction)


def top_k(x, k, axis=-1, largest=True):
    """The k largest or smallest along an axis, and their indices; of those that tie the first."""
    x = ops.moveaxis(x, axis, -1)
    indices = ops.top_k(x, k)[1] if largest else ops.argsort(x, axis=-1)[..., :k]
    values = ops.take_along_axis(x, indices, axis=-1)
    return ops.moveaxis(values, -1, axis), ops.moveaxis(ops.cast(indices, "int64"), -1, axis)


def reverse_sequence(x, lengths, batch_axis=1, time_axis=0):
    """Each sequence turned round within its length."""
    time = ops.expand_dims(ops.arange(ops.shape(x)[time_axis], dtype=lengths.dtype), batch_axis)
    length = ops.expand_dims(lengths, time_axis)
    at = unsqueeze(ops.where(time < length, length - 1 - time, time), range(2, len(x.shape)))
    return ops.take_along_axis(x, ops.broadcast_to(at, ops.shape(x)), axis=time_axis)


def compress(x, condition, axis=None):
    """The slices, or the elements, for which the condition holds."""
    kept = ops.nonzero(condition)[0]
    return ops.take(ops.reshape(x, (-1,)), kept) if axis is None else ops.take(x, kept, axis=axis)


def rearranged(x, blocks, order, shape):
    """x in other dimensions, those in another order."""
    return ops.reshape(ops.transpose(ops.reshape(x, blocks), order), shape)


def depth_to_space(x, size, depth_first=True):
    """Channels of blocks as the elements of these blocks."""
    n, channels, height, width = ops.shape(x)
    kept = channels // size**2
    blocks = (n, size, size, kept, height, width) if depth_first else (n, kept, size, size, height, width)
    order = (0, 3, 4, 1, 5, 2) if depth_first else (0, 1, 4, 2, 5, 3)
    return rearranged(x, blocks, order, (n, kept, height * size, width * size))


def space_to_depth(x, size, depth_first=True):
    """The elements of blocks as channels."""
    n, channels, height, width = ops.shape(x)
    order = (0, 3, 5, 1, 2, 4) if depth_first else (0, 1, 3, 5, 2, 4)
    blocks = (n, channels, height // size, size, width // size, size)
    return rearranged(x, blocks, order, (n, channels * size**2, height // size, width // size))


def center_crop_pad(x, shape, axes=None):
    """Cuts from both sides, or pads with zeros, to these sizes; the odd one is behind."""
    for axis, size in zip(range(len(x.shape)) if axes is None else axes, shape):
        missing = size - ops.shape(x)[axis]
        before = larger_size(missing, 0) // 2 - larger_size(-missing, 0) // 2
        x = pad(x, [before, missing - before], [axis])
    return x


def max_unpool(x, indices, kernel, strides, pads, shape=None):
    """Puts what was pooled back to where it was, among zeros."""
    rank, sizes = len(kernel), ops.shape(x)
    spatial = [(size - 1) * strides[d] + kernel[d] - pads[d] - pads[d + rank] for d, size in enumerate(sizes[2:])]
    whole = (*sizes[:2], *spatial)
    empty = ops.zeros((math.prod(whole),), dtype=x.dtype)
    placed = ops.scatter_update(empty, ops.reshape(indices, (-1, 1)), ops.reshape(x, (-1,)))
    y = ops.reshape(placed, whole)
    return y if shape is None else ops.pad(y, [(0, to - size) for size, to in zip(whole, shape)])


def global_max_pool(x):
    """The largest of each channel; of those that tie the first one has the gradient."""
    n, *spatial, channels = ops.shape(x)
    rows = ops.reshape(x, (n, math.prod(spatial), channels))
    at = ops.expand_dims(ops.argmax(rows, axis=1), 1)
    return ops.reshape(ops.take_along_axis(rows, at, axis=1), (n, *[1] * len(spatial), channels))


def resized_positions(mode, size, new, scale, region):
    """Where each element of the result lies in a dimension of `size` elements, all of them in float64."""
    at, wanted = ops.cast(ops.arange(new), "float64"), scale * size
    if mode == "asymmetric":
        return at / scale
    if mode == "align_corners":
        return at * (size - 1) / ops.where(wanted == 1, 1.0, wanted - 1)
    if mode == "tf_crop_and_resize":
        start, end = region
        length = (end - start) * (size - 1)
        inside = at * length / ops.where(wanted == 1, 1.0, wanted - 1)
        return start * (size - 1) + ops.where(wanted == 1, 0.5 * length, inside)
    halves = (at + 0.5) / scale - 0.5
    if mode == "half_pixel_symmetric":
        return size / 2 * (1 - ops.cast(new, "float64") / wanted) + halves
    return ops.where(ops.equal(new, 1), 0.0, halves) if mode == "pytorch_half_pixel" else halves


def resize_filter(distance, mode, a):
    """The weight of an element at that distance: a triangle, or Keys's cubic of coefficient a."""
    d = ops.abs(distance)
    if mode == "linear":
        return ops.maximum(1 - d, 0.0)
    far = ops.where(d < 2, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a, 0.0)
    return ops.where(d <= 1, ((a + 2) * d - (a + 3)) * d * d + 1, far)


def resize_along(x, axis, at, scale, mode, nearest, a, antialias, exclude_outside):
    """x with elements at positions `at` along one axis."""
    last = ops.cast(ops.shape(x)[axis], "float64") - 1
    if mode == "nearest":
        rounded = {"floor": ops.floor(at), "ceil": ops.ceil(at), "round_prefer_floor": ops.ceil(at - 0.5),
                   "round_prefer_ceil": ops.floor(at + 0.5)}[nearest]
        return ops.take(x, ops.cast(ops.clip(rounded, 0.0, last), "int32"), axis=axis)
    radius = 1.0 if mode == "linear" else 2.0
    stretch = ops.maximum(1.0, 1 / scale) if antialias else ops.ones_like(scale)
    first = ops.floor(-stretch * radius) + 1
    steps = ops.cast(ops.arange(ops.cast(2 - 2 * first, "int32")), "float64")
    taps = ops.expand_dims(ops.ceil(at) - 1 + first, 1) + steps
    weights = resize_filter((taps - ops.expand_dims(at, 1)) / stretch, mode, a)
    if exclude_outside:
        weights = ops.where(ops.logical_and(taps >= 0, taps <= last), weights, 0.0)
    if antialias or exclude_outside:
        weights = weights / ops.sum(weights, axis=1, keepdims=True)
    taps, weights = ops.cast(ops.clip(taps, 0.0, last), "int32"), ops.cast(weights, x.dtype)
    places = [1] * (len(x.shape) + 1)
    places[axis], places[axis + 1] = ops.shape(weights)
    return ops.sum(ops.take(x, taps, axis=axis) * ops.reshape(weights, places), axis=axis + 1)


def resize(x, scales=None, sizes=None, axes=None, mode="nearest", coordinates="half_pixel",
           nearest="round_prefer_floor", a=-0.75, antialias=False, exclude_outside=False,
           policy="stretch", region=None, outside=0.0):
    """Resizes dimensions by scales or to sizes, with coordinates and weights as ONNX has them."""
    axes = [axis % len(x.shape) for axis in (range(len(x.shape)) if axes is None else axes)]
    extents = [ops.cast(ops.shape(x)[axis], "float64") for axis in axes]
    changed = [True] * len(axes)
    if sizes is None:
        changed = [scale != 1 for scale in scales]
        sizes = [ops.floor(size * scale) for scale, size in zip(scales, extents)]
        scales = [ops.cast(scale, "float64") for scale in scales]
    else:
        changed = [policy != "stretch" or new != x.shape[axis] for new, axis in zip(sizes, axes)]
        scales = [new / ops.maximum(size, 1.0) for new, size in zip(sizes, extents)]
        if policy != "stretch":
            pick = ops.min if policy == "not_larger" else ops.max
            scales = [pick(ops.stack(scales))] * len(axes)
            sizes = [ops.floor(scale * size + 0.5) for scale, size in zip(scales, extents)]
    y, beyond = x if mode == "nearest" or "float" in keras.backend.standardize_dtype(x.dtype) else ops.cast(x, "float64"), None
    for i, (axis, size, scale, new) in enumerate(zip(axes, extents, scales, sizes)):
        part = (0.0, 1.0) if region is None else (region[i], region[i + len(axes)])
        if not changed[i] and part == (0.0, 1.0):
            continue
        at = resized_positions(coordinates, size, ops.cast(new, "int32"), scale, part)
        y = resize_along(y, axis, at, scale, mode, nearest, a, antialias, exclude_outside)
        if region is not None:
            places = [-1 if d == axis else 1 for d in range(len(x.shape))]
            lost = ops.reshape(ops.logical_or(at < 0, at > size - 1), places)
            beyond = lost if beyond is None else ops.logical_or(beyond, lost)
    return ops.cast(y if beyond is None else ops.where(beyond, ops.cast(outside, y.dtype), y), x.dtype)


def scanned(step, states, rows, empty=None):
    """The states behind a step for each row, and what the steps give besides, stacked; `empty` is that of no step."""
    lengths = {each.shape[0] for each in rows} - {None}
    if len(lengths) > 1:
        raise ValueError(f"a scan over sequences of different lengths: {sorted(lengths)}")
    if lengths == {0}:
        if empty is None or any(each is None for each in empty):
            raise ValueError("a loop of no iteration, of which the model does not say what it would give")
        return (*states, *empty)
    length = lengths.pop() if lengths else ops.shape(rows[0])[0]
    rows = [ops.reshape(each, (length, *ops.shape(each)[1:])) if each.shape[0] is None else each for each in rows]
    along, count = tuple(rows), len(states)
    if len(rows) > 1 and rows[1].shape[0] is None:  # TensorFlow's takes one sequence of unknown length, but not several
        along = (ops.arange(length),)

    def results(*arguments):
        given = step(*arguments)
        return given if isinstance(given, tuple) else (given,)

    def carried(carry, row):  # on TensorFlow, what is stacked has the shapes of what is carried
        row = row if len(row) == len(rows) else [ops.take(each, row[0], axis=0) for each in rows]
        given = results(*carry[:count], *row)
        return given, given

    first = results(*states, *(each[0] for each in rows))
    last, stacked = ops.scan(carried, (*states, *(ops.zeros_like(each) for each in first[count:])), along)
    return (*last[:count], *stacked[count:])


def scanned_while(step, states, maximum_iterations=None, empty=None):
    """The same for steps that go on while the first state holds: they are counted, then done again."""
    def counted(*arguments):
        return (*step(*arguments)[:len(states)], arguments[-1] + 1)

    start = (*states, ops.zeros((), "int64"))
    steps = ops.while_loop(lambda going, *_: going, counted, start, maximum_iterations=maximum_iterations)[-1]
    return scanned(step, states, [ops.arange(steps, dtype="int64")], empty)


def stacked(layers, shape, dtype, axis=0):
    """What the iterations of a loop gave, as one tensor; of none, an empty one of that shape."""
    if not layers and shape is None:
        raise ValueError("a loop of no iteration, of which the model does not say what it would give")
    return ops.stack(layers, axis=axis) if layers else ops.zeros(shape, dtype=dtype)


def inserted(sequence, x, at):
    """A list with x at that place."""
    return [*sequence[:at], x, *sequence[at:]]


def erased(sequence, at):
    """A list without the element at that place."""
    at %= len(sequence)
    return [*sequence[:at], *sequence[at + 1:]]


def batch_norm(x, scale, bias, mean, variance, epsilon, momentum):
    """Normalizes by the batch's own statistics; also gives the running ones, of biased variance."""
    axes = tuple(range(len(x.shape) - 1))
    batch_mean = ops.mean(x, axis=axes)
    batch_variance = ops.mean(ops.square(x - batch_mean), axis=axes)
    y = (x - batch_mean) / ops.sqrt(batch_variance + epsilon)
    return (y * scale + bias,
            momentum * mean + (1 - momentum) * batch_mean,
            momentum * variance + (1 - momentum) * batch_variance)


@keras.saving.register_keras_serializable()
class UnbiasedBatchNormalization(layers.BatchNormalization):
    """Its moving variance is n / (n - 1) times that of the batch, as PyTorch has it."""

    def call(self, x, training=False):
        if not training:
            return super().call(x, training=False)
        axes = tuple(range(len(x.shape) - 1))
        mean = ops.mean(x, axis=axes)
        variance = ops.mean(ops.square(x - mean), axis=axes)
        count = ops.cast(math.prod(ops.shape(x)[:-1]), x.dtype)
        unbiased = variance * count / (count - 1)
        old, new = self.momentum, 1 - self.momentum
        self.moving_mean.assign(old * self.moving_mean + new * mean)
        self.moving_variance.assign(old * self.moving_variance + new * unbiased)
        y = (x - mean) / ops.sqrt(variance + self.epsilon)
        return y * self.gamma + self.beta


def layer_norm(x, axes, epsilon):
    """Mean 0 and variance 1 along the axes."""
    mean = ops.mean(x, axis=axes, keepdims=True)
    variance = ops.mean(ops.square(x - mean), axis=axes, keepdims=True)
    return (x - mean) / ops.sqrt(variance + epsilon)


def negative_log_likelihood(log_prob, labels, weight=None, ignore_index=None, reduction="mean"):
    """The loss of log-probabilities whose classes are in dimension 1; labels lack that dimension."""
    counted = ops.ones_like(labels, dtype=log_prob.dtype)
    if ignore_index is not None:
        counted = ops.cast(ops.not_equal(labels, ignore_index), log_prob.dtype)
        labels = ops.where(ops.equal(labels, ignore_index), 0, labels)
    if weight is not None:
        counted = counted * ops.take(weight, labels)
    picked = ops.take_along_axis(log_prob, ops.expand_dims(labels, 1), axis=1)
    loss = -ops.squeeze(picked, axis=1) * counted
    if reduction == "none":
        return loss
    total = ops.sum(loss)
    return total if reduction == "sum" else total / ops.sum(counted)


def dropout(x, ratio, training):
    """Drops elements, and says which were kept."""
    if not training:
        return x, ops.ones(ops.shape(x), dtype="bool")
    mask = keras.random.uniform(ops.shape(x), dtype=x.dtype) >= ratio
    return ops.where(mask, x / (1 - ratio), 0.0), mask


@keras.saving.register_keras_serializable()
class TwoBiasRNNCell(layers.SimpleRNNCell):
    """Its input and its state have a bias each, as in PyTorch."""

    def build(self, input_shape):
        super().build(input_shape)
        self.recurrent_bias = self.add_weight(shape=self.bias.shape, name="recurrent_bias")

    def call(self, x, states, training=False):
        of_state = ops.matmul(states[0], self.recurrent_kernel) + self.recurrent_bias
        h = self.activation(ops.matmul(x, self.kernel) + self.bias + of_state)
        return h, [h]


@keras.saving.register_keras_serializable()
class TwoBiasGRUCell(layers.GRUCell):
    """The biases of its input and its state are tensors of their own, as in PyTorch."""

    def build(self, input_shape):
        self.use_bias = False  # for Keras has one tensor of both
        super().build(input_shape)
        self.bias = self.add_weight(shape=(3 * self.units,), name="bias")
        self.recurrent_bias = self.add_weight(shape=(3 * self.units,), name="recurrent_bias")

    def call(self, x, states, training=False):
        h = states[0]
        of_state = ops.split(ops.matmul(h, self.recurrent_kernel) + self.recurrent_bias, 3, axis=-1)
        of_input = ops.split(ops.matmul(x, self.kernel) + self.bias, 3, axis=-1)
        z, r = (ops.sigmoid(of_input[i] + of_state[i]) for i in range(2))
        h = (1 - z) * ops.tanh(of_input[2] + r * of_state[2]) + z * h
        return h, [h]


@keras.saving.register_keras_serializable()
class TwoBiasLSTMCell(layers.LSTMCell):
    """Its input and its state have a bias each, as in PyTorch."""

    def build(self, input_shape):
        super().build(input_shape)
        self.recurrent_bias = self.add_weight(shape=self.bias.shape, name="recurrent_bias")

    def call(self, x, states, training=False):
        h, c = states
        of_state = ops.matmul(h, self.recurrent_kernel) + self.recurrent_bias
        i, f, g, o = ops.split(ops.matmul(x, self.kernel) + self.bias + of_state, 4, axis=-1)
        c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(g)
        h = ops.sigmoid(o) * ops.tanh(c)
        return h, [h, c]


def tensors(layer, path=""):
    """Variables by the attributes that lead to them: "blocks.0.attn.qkv.kernel"."""
    if isinstance(layer, keras.Variable):
        return {path: layer}
    if isinstance(layer, keras.Sequential):
        layer = layer.layers
    if isinstance(layer, (list, tuple)):
        parts = dict(enumerate(layer))
    elif isinstance(layer, layers.Bidirectional):
        parts = {"forward_layer": layer.forward_layer, "backward_layer": layer.backward_layer}
    elif isinstance(layer, layers.RNN):
        parts = {"cell": layer.cell}
    elif isinstance(layer, layers.Layer):
        is_keras = type(layer).__module__.startswith("keras.")
        parts = {each.name: each for each in layer.weights} if is_keras else vars(layer)
    else:
        parts = layer if isinstance(layer, dict) else {}
    named = {}
    for name, part in parts.items():
        if not str(name).startswith("_"):
            named |= tensors(part, f"{path}.{name}" if path else str(name))
    return named
