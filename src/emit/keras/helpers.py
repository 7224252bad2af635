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


def batch_norm(x, scale, bias, mean, variance, epsilon, momentum):
    """Normalizes by the batch's own statistics; also gives the running ones, of biased variance."""
    axes = tuple(range(len(x.shape) - 1))
    batch_mean = ops.mean(x, axis=axes)
    batch_variance = ops.mean(ops.square(x - batch_mean), axis=axes)
    y = (x - batch_mean) / ops.sqrt(batch_variance + epsilon)
    return (y * scale + bias,
            momentum * mean + (1 - momentum) * batch_mean,
            momentum * variance + (1 - momentum) * batch_variance)


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
