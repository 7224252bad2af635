"""Functions that emitted PyTorch source needs where PyTorch has no call of its own.

Each is copied into the source that uses it, with those that it uses itself. Here they are a module, so that they can be
read, checked and tested as Python; they stand in the order of their use.
"""

import itertools
import math

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


def product(x, axes, keepdim=False):
    """The product along several axes."""
    for axis in sorted((axis % x.ndim for axis in axes), reverse=True):
        x = torch.prod(x, dim=axis, keepdim=keepdim, dtype=x.dtype)
    return x


def hardmax(x, axis):
    """1 at the first of the largest elements along the axis, 0 elsewhere."""
    return torch.zeros_like(x).scatter(axis, torch.argmax(x, dim=axis, keepdim=True), 1)


def bit_shift(x, amounts, bits, left):
    """Moves bits; those beyond the ends are gone, and behind them comes the sign."""
    inside = (amounts >= 0) & (amounts < bits)
    by = torch.where(inside, amounts, 0)
    moved = torch.bitwise_left_shift(x, by) if left else torch.bitwise_right_shift(x, by)
    return torch.where(inside, moved, 0 if left else torch.where(x < 0, -1, 0).to(x.dtype))


def accumulated(function, start, x, axis, exclusive, reverse):
    """What a function of all elements up to each gives, or of those before it, or after it."""
    x = x.flip(axis) if reverse else x
    if exclusive:
        first = torch.full_like(x.narrow(axis, 0, min(1, x.shape[axis])), start)
        x = torch.cat([first, x.narrow(axis, 0, max(0, x.shape[axis] - 1))], dim=axis)
    y = function(x, dim=axis, dtype=x.dtype)
    return y.flip(axis) if reverse else y


def cumulative_sum(x, axis, exclusive=False, reverse=False):
    """The sum of all elements up to each along the axis."""
    return accumulated(torch.cumsum, 0, x, axis, exclusive, reverse)


def cumulative_product(x, axis, exclusive=False, reverse=False):
    """The product of all elements up to each along the axis."""
    return accumulated(torch.cumprod, 1, x, axis, exclusive, reverse)


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


def beside(x, value, axis, block):
    """A value for each place along the axis of x, or for each block of places, in a shape that goes with x."""
    if block:
        return value.repeat_interleave(block, dim=axis).narrow(axis, 0, x.shape[axis])
    places = [1] * x.ndim
    places[axis] = -1
    return value.reshape(places)


def quantize_linear(x, scale, zero_point, dtype, low, high, axis=None, block=0):
    """x / scale, rounded to the nearest (ties to even), plus the zero point, as an integer from low to high."""
    if axis is not None:
        scale = beside(x, scale, axis, block)
        zero_point = beside(x, zero_point, axis, block) if torch.is_tensor(zero_point) else zero_point
    steps = torch.round(x / scale).to(torch.float64) + zero_point
    return torch.nan_to_num(steps, nan=low).clamp(low, high).to(dtype)


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


def gather_elements(x, indices, axis=0):
    """Elements by their indices along one axis; negative ones count from the end."""
    return x.gather(axis, torch.where(indices < 0, indices + x.shape[axis], indices).long())


def gather_nd(x, indices, batch_dims=0):
    """Slices by tuples of indices, within each element of a batch."""
    batch = [torch.arange(size, device=x.device).reshape([-1] + [1] * (indices.ndim - 2 - d))
             for d, size in enumerate(x.shape[:batch_dims])]
    return x[(*batch, *indices.unbind(-1))]


def scatter_elements(x, indices, updates, axis=0, reduction="none"):
    """x with updates put in, added ... at their indices along one axis."""
    indices = torch.where(indices < 0, indices + x.shape[axis], indices).long()
    if reduction == "none":
        return x.scatter(axis, indices, updates)
    name = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}[reduction]
    return x.scatter_reduce(axis, indices, updates, name)


def scatter_nd(x, indices, updates, reduction="none"):
    """x with slices put in, added ... at tuples of indices."""
    depth = indices.shape[-1]
    rows, count = math.prod(x.shape[:depth]), math.prod(x.shape[depth:])
    at = indices.new_zeros(indices.shape[:-1])
    for d, index in enumerate(indices.unbind(-1)):
        at = at * x.shape[d] + torch.where(index < 0, index + x.shape[d], index)
    at = at.reshape(-1, 1).expand(-1, count)
    y = scatter_elements(x.reshape(rows, count), at, updates.reshape(at.shape), 0, reduction)
    return y.reshape(x.shape)


def top_k(x, k, axis=-1, largest=True):
    """The k largest or smallest along an axis, and their indices; of those that tie the first."""
    values, indices = torch.sort(x, dim=axis, descending=largest, stable=True)
    return values.narrow(axis, 0, k), indices.narrow(axis, 0, k)


def reverse_sequence(x, lengths, batch_axis=1, time_axis=0):
    """Each sequence turned round within its length."""
    time = torch.arange(x.shape[time_axis], device=x.device).unsqueeze(batch_axis)
    length = lengths.unsqueeze(time_axis)
    at = torch.where(time < length, length - 1 - time, time)
    return x.gather(time_axis, at.reshape(at.shape + (1,) * (x.ndim - 2)).expand(x.shape))


def compress(x, condition, axis=None):
    """The slices, or the elements, for which the condition holds."""
    kept = condition.nonzero().flatten()
    return x.flatten()[kept] if axis is None else x.index_select(axis, kept)


def unique(x, axis=None, is_sorted=True):
    """What differs; where each is met first, which one each of x is, and how often each is there."""
    _, which, counts = torch.unique(x.detach(), return_inverse=True, return_counts=True, dim=axis)
    which, order = which.flatten(), torch.arange(which.numel(), device=x.device)
    first = which.new_full(counts.shape, which.numel()).scatter_reduce(0, which, order, "amin")
    if not is_sorted:
        order = first.argsort()
        first, counts, which = first[order], counts[order], order.argsort()[which]
    return x.flatten()[first] if axis is None else x.index_select(axis, first), first, which, counts


def non_max_suppression(boxes, scores, most=0, overlap=0.0, least=None, by_center=False):
    """The best boxes of each class, as [batch, class, box]; without those that overlap a better one."""
    first, second = boxes[..., :2], boxes[..., 2:]
    if by_center:
        first, second = (first - second / 2), (first + second / 2)
    low, high = torch.minimum(first, second), torch.maximum(first, second)
    selected = []
    for batch, kind in itertools.product(*map(range, scores.shape[:2])):
        kept = []
        for i in torch.sort(scores[batch, kind], descending=True, stable=True).indices.tolist():
            if len(kept) >= most or (least is not None and not scores[batch, kind, i] > least):
                break
            sizes = torch.minimum(high[batch, i], high[batch, kept]) - torch.maximum(low[batch, i], low[batch, kept])
            common = sizes.clamp(min=0).prod(-1)
            areas = (high[batch] - low[batch]).prod(-1)
            if not (common / (areas[i] + areas[kept] - common) > overlap).any():
                kept.append(i)
        selected += [[batch, kind, i] for i in kept]
    return torch.tensor(selected, dtype=torch.int64, device=boxes.device).reshape(-1, 3)


def depth_to_space(x, size):
    """Channels of blocks, of which each is before all others, as the elements of these blocks."""
    n, channels, height, width = x.shape
    blocks = x.reshape(n, size, size, channels // size**2, height, width).permute(0, 3, 4, 1, 5, 2)
    return blocks.reshape(n, channels // size**2, height * size, width * size)


def space_to_depth(x, size):
    """The elements of blocks as channels, of which each is before all others."""
    n, channels, height, width = x.shape
    blocks = x.reshape(n, channels, height // size, size, width // size, size).permute(0, 3, 5, 1, 2, 4)
    return blocks.reshape(n, channels * size**2, height // size, width // size)


def center_crop_pad(x, shape, axes=None):
    """Cuts from both sides, or pads with zeros, to these sizes; the odd one is behind."""
    for axis, size in zip(range(x.ndim) if axes is None else axes, shape):
        missing = size - x.shape[axis]
        before = max(missing, 0) // 2 - max(-missing, 0) // 2
        x = pad(x, [before, missing - before], [axis])
    return x


def max_unpool(x, indices, kernel, strides, pads, shape=None):
    """Puts what was pooled back to where it was, among zeros."""
    rank = len(kernel)
    spatial = [(size - 1) * strides[d] + kernel[d] - pads[d] - pads[d + rank] for d, size in enumerate(x.shape[2:])]
    whole = (*x.shape[:2], *spatial)
    y = x.new_zeros(math.prod(whole)).scatter(0, indices.flatten(), x.flatten()).reshape(whole)
    if shape is None:
        return y
    return F.pad(y, [pad for size, to in reversed([*zip(whole, shape)]) for pad in (0, to - size)])


def resized_positions(mode, size, new, scale, region, device):
    """Where each element of the result lies in a dimension of `size` elements."""
    at, wanted = torch.arange(new, dtype=torch.float64, device=device), scale * size
    if mode == "asymmetric":
        return at / scale
    if mode == "align_corners":
        return at * (size - 1) / (wanted - 1 or 1)
    if mode == "tf_crop_and_resize":
        start, end = region
        length = (end - start) * (size - 1)
        return start * (size - 1) + (at + 0.5 * length if wanted == 1 else at * length / (wanted - 1))
    if mode == "pytorch_half_pixel" and new == 1:
        return at
    centre = size / 2 * (1 - new / wanted) if mode == "half_pixel_symmetric" else 0.0
    return centre + (at + 0.5) / scale - 0.5


def resize_filter(distance, mode, a):
    """The weight of an element at that distance: a triangle, or Keys's cubic of coefficient a."""
    d = distance.abs()
    if mode == "linear":
        return (1 - d).clamp(min=0)
    far = torch.where(d < 2, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a, 0.0)
    return torch.where(d <= 1, ((a + 2) * d - (a + 3)) * d * d + 1, far)


def resize_along(x, axis, at, scale, mode, nearest, a, antialias, exclude_outside):
    """x with elements at positions `at` along one axis."""
    size = x.shape[axis]
    if mode == "nearest":
        rounded = {"floor": at.floor(), "ceil": at.ceil(), "round_prefer_floor": (at - 0.5).ceil(),
                   "round_prefer_ceil": (at + 0.5).floor()}[nearest]
        return x.index_select(axis, rounded.clamp(0, size - 1).long())
    stretch = max(1.0, 1 / scale) if antialias else 1.0
    first = math.floor(-stretch * (1 if mode == "linear" else 2)) + 1
    taps = (at.ceil() - 1 + first).unsqueeze(1) + torch.arange(2 - 2 * first, device=x.device)
    weights = resize_filter((taps - at.unsqueeze(1)) / stretch, mode, a)
    if exclude_outside:
        weights = torch.where((taps >= 0) & (taps < size), weights, 0.0)
    if antialias or exclude_outside:
        weights = weights / weights.sum(dim=1, keepdim=True)
    taps, weights = taps.clamp(0, size - 1).long(), weights.to(x.dtype)
    places = [-1 if d == axis else 1 for d in range(x.ndim)]
    return sum(x.index_select(axis, taps[:, k]) * weights[:, k].reshape(places) for k in range(taps.shape[1]))


def resize(x, scales=None, sizes=None, axes=None, mode="nearest", coordinates="half_pixel",
           nearest="round_prefer_floor", a=-0.75, antialias=False, exclude_outside=False,
           policy="stretch", region=None, outside=0.0):
    """Resizes dimensions by scales or to sizes, with coordinates and weights as ONNX has them."""
    axes = [axis % x.ndim for axis in (range(x.ndim) if axes is None else axes)]
    if sizes is not None:
        scales = [new / x.shape[axis] if x.shape[axis] else 1.0 for new, axis in zip(sizes, axes)]
        if policy != "stretch":
            scales = [(min if policy == "not_larger" else max)(scales)] * len(axes)
            sizes = [int(scale * x.shape[axis] + 0.5) for scale, axis in zip(scales, axes)]
    else:
        sizes = [int(x.shape[axis] * scale) for scale, axis in zip(scales, axes)]
    y, beyond = x if x.is_floating_point() or mode == "nearest" else x.double(), False
    for i, (axis, scale, new) in enumerate(zip(axes, scales, sizes)):
        part = (0, 1) if region is None else (region[i], region[i + len(axes)])
        if scale == 1 and new == x.shape[axis] and tuple(part) == (0, 1):
            continue
        at = resized_positions(coordinates, x.shape[axis], new, scale, part, x.device)
        y = resize_along(y, axis, at, scale, mode, nearest, a, antialias, exclude_outside)
        if region is not None:
            places = [-1 if d == axis else 1 for d in range(x.ndim)]
            beyond = beyond | ((at < 0) | (at > x.shape[axis] - 1)).reshape(places)
    y = y if region is None else torch.where(torch.as_tensor(beyond, device=x.device), outside, y)
    return y.to(x.dtype)


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


def stacked(layers, shape, dtype, dim=0):
    """What the iterations of a loop gave, as one tensor; of none, an empty one of that shape."""
    if not layers and shape is None:
        raise ValueError("a loop of no iteration, of which the model does not say what it would give")
    return torch.stack(layers, dim=dim) if layers else torch.empty(shape, dtype=dtype)


def inserted(sequence, x, at):
    """A list with x at that place."""
    return [*sequence[:at], x, *sequence[at:]]


def erased(sequence, at):
    """A list without the element at that place."""
    at %= len(sequence)
    return [*sequence[:at], *sequence[at + 1:]]


def dropout(x, ratio, training):
    """Drops elements, and says which were kept."""
    if not training:
        return x, torch.ones_like(x, dtype=torch.bool)
    mask = torch.rand_like(x) >= ratio
    return torch.where(mask, x / (1 - ratio), 0.0), mask
