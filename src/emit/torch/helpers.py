"""Functions that emitted PyTorch source needs where PyTorch has no call of its own.

Each is copied into the source that uses it, with those that it uses itself. Here they are a module, so that they can be
read, checked and tested as Python; they stand in the order of their use.
"""

import itertools

import torch
import torch.nn.functional as F
from torch import nn


def clip(x, min=None, max=None):
    """Brings x between the limits. On them it keeps its gradient, which torch.clamp stops."""
    if min is not None:
        x = torch.where(x < min, min, x)
    if max is not None:
        x = torch.where(x > max, max, x)
    return x


def largest(*tensors):
    """The largest elements. Those that tie share the gradient."""
    return torch.stack(torch.broadcast_tensors(*tensors)).amax(dim=0)


def smallest(*tensors):
    """The smallest elements. Those that tie share the gradient."""
    return torch.stack(torch.broadcast_tensors(*tensors)).amin(dim=0)


def reshape(x, shape):
    """A size of 0 is that of x in the same place."""
    return x.reshape([x.shape[i] if size == 0 else size for i, size in enumerate(shape.tolist())])


def unsqueeze(x, axes):
    """Adds dimensions of size 1; axes count in the result."""
    rank = x.ndim + len(axes)
    for axis in sorted(axis % rank for axis in axes):
        x = x.unsqueeze(axis)
    return x


def one_hot(indices, depth, values, axis):
    """values[1] where an index points, values[0] elsewhere; negative indices count from the end."""
    indices = torch.where(indices < 0, indices + depth, indices).unsqueeze(axis)
    places = [1] * indices.ndim
    places[axis] = depth
    hot = indices == torch.arange(depth, device=indices.device).reshape(places)
    return torch.where(hot, values[1], values[0])


def pad(x, pads, axes=None, mode="constant", value=0):
    """Adds `pads` before all axes, then after; negative ones cut off."""
    axes = range(x.ndim) if axes is None else axes
    for i, axis in enumerate(axes):
        size = x.shape[axis]
        at = torch.arange(-pads[i], size + pads[i + len(axes)], device=x.device)
        if mode == "wrap":
            x = x.index_select(axis, at % size)
        elif mode == "reflect":
            period = max(2 * (size - 1), 1)
            x = x.index_select(axis, (size - 1) - ((size - 1) - at % period).abs())
        else:
            x = x.index_select(axis, at.clamp(0, size - 1))
            if mode == "constant":
                places = [1] * x.ndim
                places[axis] = -1
                x = torch.where(((at >= 0) & (at < size)).reshape(places), x, value)
    return x


def take_slices(x, starts, ends, axes=None, steps=None):
    """Slices along several axes. Backwards from before the beginning is from the first element."""
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    for start, end, axis, step in zip(starts, ends, axes, steps):
        start = max(start, -x.shape[axis]) if step < 0 else start
        at = range(*slice(start, end, step).indices(x.shape[axis]))
        x = x.index_select(axis, torch.tensor(list(at), dtype=torch.int64, device=x.device))
    return x


def same_pads(x, kernel, strides, dilations, lower=False):
    """The pads, before then after, that let windows cover x; the odd one goes behind, or before."""
    totals = []
    for size, k, stride, dilation in zip(x.shape[2:], kernel, strides, dilations):
        outputs = -(-size // stride)
        totals.append(max(0, (outputs - 1) * stride + (k - 1) * dilation + 1 - size))
    before = [total - total // 2 if lower else total // 2 for total in totals]
    return before + [total - b for total, b in zip(totals, before)]


def pad_same(x, kernel, strides, dilations=None, lower=False, value=0.0):
    """x with the pads that let windows cover it."""
    pads = same_pads(x, kernel, strides, dilations or [1] * len(kernel), lower)
    rank = len(kernel)
    return F.pad(x, [pads[d + side] for d in reversed(range(rank)) for side in (0, rank)], value=value)


def window_slices(x, kernel, strides, pads, dilations, ceil_mode, fill, beyond):
    """For each place of a window, what all windows have there.

    The pads hold `fill`; what rounding up reaches behind them holds `beyond`."""
    rank = len(kernel)
    inner, outer, counts = [], [], []
    for d in range(rank):
        size, before, after = x.shape[d + 2], pads[d], pads[d + rank]
        reach = (kernel[d] - 1) * dilations[d] + 1
        room = size + before + after - reach
        count = (room + strides[d] - 1 if ceil_mode else room) // strides[d] + 1
        if ceil_mode and (count - 1) * strides[d] >= size + before:
            count -= 1  # a window that would begin behind x
        counts.append(count)
        inner = [before, after] + inner
        outer = [0, max(0, (count - 1) * strides[d] - room)] + outer
    x = F.pad(F.pad(x, inner, value=fill), outer, value=beyond)
    for place in itertools.product(*(range(k) for k in kernel)):
        begins = [p * dilation for p, dilation in zip(place, dilations)]
        yield x[(..., *(slice(begin, begin + (count - 1) * stride + 1, stride)
                        for begin, count, stride in zip(begins, counts, strides)))]


def max_pool(x, kernel, strides, pads, dilations, ceil_mode=False):
    """The largest of each window, with pads, dilations and rounding as ONNX has them."""
    lowest = float("-inf")
    slices = window_slices(x, kernel, strides, pads, dilations, ceil_mode, lowest, lowest)
    largest = next(slices)
    for each in slices:  # of those that tie, the first one has the gradient
        largest = torch.where((each > largest) | torch.isnan(each), each, largest)
    return largest


def average_pool(x, kernel, strides, pads, dilations, ceil_mode=False, count_pads=False):
    """The mean of each window, with pads, dilations and rounding as ONNX has them."""
    window = (kernel, strides, pads, dilations, ceil_mode)
    total = sum(window_slices(x, *window, 0.0, 0.0))
    ones = torch.ones_like(x[:1, :1])
    places = sum(window_slices(ones, *window, 1.0 if count_pads else 0.0, 0.0))
    return total / places.clamp(min=1.0)


def batch_norm(x, scale, bias, mean, variance, epsilon, momentum):
    """Normalizes by the batch's own statistics; also gives the running ones, of biased variance."""
    axes = [axis for axis in range(x.ndim) if axis != 1]
    places = [-1 if axis == 1 else 1 for axis in range(x.ndim)]
    batch_variance, batch_mean = torch.var_mean(x, dim=axes, correction=0)
    y = (x - batch_mean.reshape(places)) / torch.sqrt(batch_variance.reshape(places) + epsilon)
    return (y * scale.reshape(places) + bias.reshape(places),
            momentum * mean + (1 - momentum) * batch_mean,
            momentum * variance + (1 - momentum) * batch_variance)


class BiasedBatchNorm(nn.modules.batchnorm._BatchNorm):
    """BatchNorm whose running variance is that of the batch; torch's own is n / (n - 1) times it."""

    def _check_input_dim(self, x):
        pass

    def forward(self, x):
        if not self.training:
            return super().forward(x)
        with torch.no_grad():
            axes = [axis for axis in range(x.ndim) if axis != 1]
            variance, mean = torch.var_mean(x, dim=axes, correction=0)
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(variance, self.momentum)
        return F.batch_norm(x, None, None, self.weight, self.bias, training=True, eps=self.eps)


def dropout(x, ratio, training):
    """Drops elements, and says which were kept."""
    if not training:
        return x, torch.ones_like(x, dtype=torch.bool)
    mask = torch.rand_like(x) >= ratio
    return torch.where(mask, x / (1 - ratio), 0.0), mask
