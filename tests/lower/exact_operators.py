"""Operators of which ONNX's reference evaluator is less exact than float64, or wrong, in NumPy."""

import itertools
import math
import pathlib
import sys

import numpy as np
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_grid_sample import GridSample as GridSampleOfTheEvaluator
from onnx.reference.ops.op_resize import Resize as ResizeOfTheEvaluator
from onnx.reference.ops.op_stft import STFT as StftOfTheEvaluator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "ops"))
from exact_attention import ATTENTION  # noqa: E402
from exact_control_flow import CONTROL_FLOW  # noqa: E402
from exact_quantization import QUANTIZED  # noqa: E402
from exact_recurrent import RECURRENT  # noqa: E402
from exact_regions import REGIONS  # noqa: E402


class ConvTranspose(OpRun):
    """The evaluator's own takes the weights of a group from the wrong place."""

    op_domain = ""

    def _run(self, x, w, bias=None, auto_pad=None, dilations=None, group=None, kernel_shape=None,
             output_padding=None, output_shape=None, pads=None, strides=None):
        rank = x.ndim - 2
        dilations, strides = dilations or [1] * rank, strides or [1] * rank
        pads, beyond = pads or [0] * (2 * rank), output_padding or [0] * rank
        n, channels = x.shape[:2]
        per_group = channels // group
        reach = [(w.shape[2 + d] - 1) * dilations[d] + 1 for d in range(rank)]
        spatial = [strides[d] * (x.shape[2 + d] - 1) + reach[d] for d in range(rank)]
        if output_shape is not None or auto_pad.startswith("SAME"):
            total = [spatial[d] + beyond[d] - output_shape[d] if output_shape is not None
                     else max(reach[d] - strides[d], 0) for d in range(rank)]
            before = [max(t, 0) // 2 if auto_pad == "SAME_UPPER" else (max(t, 0) + 1) // 2 for t in total]
            pads = [*before, *[max(t, 0) - b for t, b in zip(total, before)]]
            beyond = [b + max(-t, 0) for t, b in zip(total, beyond)]
        whole = np.zeros([n, w.shape[1] * group, *[s + p for s, p in zip(spatial, beyond)]], x.dtype)
        for g in range(group):
            rows = slice(g * per_group, (g + 1) * per_group)
            to = slice(g * w.shape[1], (g + 1) * w.shape[1])
            for tap in itertools.product(*map(range, w.shape[2:])):
                part = np.einsum("nc...,cm->nm...", x[:, rows], w[(rows, slice(None), *tap)])
                places = [slice(t * dilations[d], t * dilations[d] + strides[d] * (x.shape[2 + d] - 1) + 1, strides[d])
                          for d, t in enumerate(tap)]
                whole[(slice(None), to, *places)] += part
        cut = [slice(pads[d], whole.shape[2 + d] - pads[rank + d]) for d in range(rank)]
        y = whole[(slice(None), slice(None), *cut)]
        return (y if bias is None else y + bias.reshape(-1, *[1] * rank),)


class AffineGrid(OpRun):
    """The evaluator's own is rounded to float32, and of another length where steps do not add up."""

    op_domain = ""

    def _run(self, theta, size, align_corners=None):
        positions = [2 * np.arange(n) / (n - 1) - 1 if align_corners else (2 * np.arange(n) + 1) / n - 1 for n in size[2:]]
        places = np.meshgrid(*positions, indexing="ij")
        grid = np.stack([*places[::-1], np.ones_like(places[0])], -1)
        return (np.einsum("...k,ndk->n...d", grid, theta).astype(theta.dtype),)


def keys_cubic(distance, a=-0.75):
    """The weight of an element at a distance below 2."""
    if distance <= 1:
        return ((a + 2) * distance - (a + 3)) * distance**2 + 1
    return ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a


class GridSample(GridSampleOfTheEvaluator):
    """The evaluator's own rounds positions to float32, and moves those of cubics to the border, where PyTorch and ONNX
    Runtime move each of their taps."""

    op_domain = ""

    def _run(self, x, grid, mode=None, padding_mode=None, align_corners=None):
        if (mode, padding_mode) != ("cubic", "border"):
            return super()._run(x, grid, mode=mode, padding_mode=padding_mode, align_corners=align_corners)
        sizes, y = np.array(x.shape[2:]), np.zeros((*grid.shape[:-1], x.shape[1]))
        for where in np.ndindex(*grid.shape[:-1]):
            at = grid[where][::-1].astype(np.float64)
            at = (at + 1) / 2 * (sizes - 1) if align_corners else ((at + 1) * sizes - 1) / 2
            below = np.floor(at).astype(int)
            for taps in itertools.product(range(-1, 3), repeat=len(sizes)):
                weight = math.prod(keys_cubic(abs(part - tap)) for part, tap in zip(at - below, taps))
                place = np.clip(below + taps, 0, sizes - 1)
                y[where] += weight * x[(where[0], slice(None), *place)]
        return (np.moveaxis(y, -1, 1).astype(x.dtype),)

    def _gs_denormalize_coordinates(self, n, dims, align_corners):
        return np.array([self._gs_denormalize(n=at, length=size, align_corners=align_corners) for at, size in zip(n, dims)])


class Erf(OpRun):
    """The evaluator's own is exact to 1e-9 only."""

    op_domain = ""

    def _run(self, x):
        return (np.vectorize(math.erf, otypes=[x.dtype])(x),)


class GatherElements(OpRun):
    """The evaluator's own takes no indices of a smaller shape than the data's."""

    op_domain = ""

    def _run(self, x, indices, axis=None):
        kept = [slice(None) if d == axis % x.ndim else slice(size) for d, size in enumerate(indices.shape)]
        return (np.take_along_axis(x[tuple(kept)], indices, axis),)


class Gelu(OpRun):
    """The evaluator's own computes with float32 constants."""

    op_domain = ""

    def _run(self, x, approximate=None):
        if approximate == "tanh":
            return (0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),)
        return (0.5 * x * (1 + np.vectorize(math.erf, otypes=[x.dtype])(x / math.sqrt(2))),)


class GlobalMaxPool(OpRun):
    """The evaluator's own is for two dimensions."""

    op_domain = ""

    def _run(self, x):
        return (x.max(axis=tuple(range(2, x.ndim)), keepdims=True),)


class GroupNormalization(OpRun):
    """The evaluator's own computes in float32, as stash_type says."""

    op_domain = ""

    def _run(self, x, scale, bias, epsilon=None, num_groups=None, stash_type=None):
        rows = x.reshape(x.shape[0], num_groups, -1)
        rows = (rows - rows.mean(-1, keepdims=True)) / np.sqrt(rows.var(-1, keepdims=True) + epsilon)
        places = (-1, *[1] * (x.ndim - 2))
        return (rows.reshape(x.shape) * scale.reshape(places) + bias.reshape(places),)


class HardSwish(OpRun):
    """The evaluator's own computes with 1/6 in float32."""

    op_domain = ""

    def _run(self, x):
        return (x * np.clip(x + 3, 0, 6) / 6,)


class LRN(OpRun):
    """The evaluator's own takes images of two dimensions alone, and has defaults that float32 did not round."""

    op_domain = ""

    def _run(self, x, alpha=None, beta=None, bias=None, size=None):
        alpha, beta, bias = (float(np.float32(number)) for number in (alpha, beta, bias))
        before, dtype, x = (size - 1) // 2, x.dtype, x.astype(np.float64)
        sums = np.zeros_like(x)
        for c in range(x.shape[1]):
            sums[:, c] = (x[:, max(0, c - before):c + size - before] ** 2).sum(axis=1)
        return ((x / (bias + alpha / size * sums) ** beta).astype(dtype),)


def logarithms(x, axis):
    """log(softmax(x))."""
    x = x.astype(np.float64)
    x = x - np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    return x - np.log(np.sum(np.exp(x), axis=axis, keepdims=True))


class GlobalLpPool(OpRun):
    """The evaluator has none."""

    op_domain = ""

    def _run(self, x, p=None):
        sums = (np.abs(x.astype(np.float64)) ** p).sum(axis=tuple(range(2, x.ndim)), keepdims=True)
        return ((sums ** (1 / p)).astype(x.dtype),)


class LpPool(OpRun):
    """The evaluator's own takes the norm of a mean without the padding, times the size of the window."""

    op_domain = ""

    def _run(self, x, auto_pad=None, ceil_mode=None, dilations=None, kernel_shape=None, p=None, pads=None,
             strides=None):
        rank = x.ndim - 2
        strides, dilations = strides or [1] * rank, dilations or [1] * rank
        reach = [(k - 1) * d + 1 for k, d in zip(kernel_shape, dilations)]
        size = x.shape[2:]
        before, outputs = [0] * rank, [0] * rank
        for d in range(rank):
            if auto_pad.startswith("SAME"):
                outputs[d] = -(-size[d] // strides[d])
                total = max(0, (outputs[d] - 1) * strides[d] + reach[d] - size[d])
                before[d] = total // 2 if auto_pad == "SAME_UPPER" else total - total // 2
            else:
                before[d], after = (pads[d], pads[rank + d]) if pads else (0, 0)
                room = size[d] + before[d] + after - reach[d]
                outputs[d] = (-(-room // strides[d]) if ceil_mode else room // strides[d]) + 1
                outputs[d] -= bool(ceil_mode) and (outputs[d] - 1) * strides[d] >= size[d] + before[d]
        sums = np.zeros([*x.shape[:2], *outputs])
        for at in itertools.product(*map(range, outputs)):
            for tap in itertools.product(*map(range, kernel_shape)):
                place = [at[d] * strides[d] + tap[d] * dilations[d] - before[d] for d in range(rank)]
                if all(0 <= here < size[d] for d, here in enumerate(place)):
                    sums[(..., *at)] += np.abs(x[(..., *place)].astype(np.float64)) ** p
        return ((sums ** (1 / p)).astype(x.dtype),)


class LogSoftmax(OpRun):
    """The evaluator's own takes the logarithm of an exponential, which may be 0."""

    op_domain = ""

    def _run(self, x, axis=None):
        return (logarithms(x, -1 if axis is None else axis).astype(x.dtype),)


class MaxPool(OpRun):
    """The evaluator's own counts the indices of its second output within an image."""

    op_domain = ""

    def _run(self, x, auto_pad=None, ceil_mode=None, dilations=None, kernel_shape=None, pads=None,
             storage_order=None, strides=None):
        rank = x.ndim - 2
        strides, dilations = strides or [1] * rank, dilations or [1] * rank
        reach = [(k - 1) * d + 1 for k, d in zip(kernel_shape, dilations)]
        size = x.shape[2:]
        if auto_pad == "SAME_UPPER":
            outputs = [-(-size[d] // strides[d]) for d in range(rank)]
            before = [max(0, (outputs[d] - 1) * strides[d] + reach[d] - size[d]) // 2 for d in range(rank)]
        else:
            assert auto_pad in (None, "NOTSET")
            pads = pads or [0] * (2 * rank)
            before = pads[:rank]
            room = [size[d] + before[d] + pads[rank + d] - reach[d] for d in range(rank)]
            outputs = [(-(-room[d] // strides[d]) if ceil_mode else room[d] // strides[d]) + 1 for d in range(rank)]
            if ceil_mode:  # no window begins in the padding behind the input
                outputs = [n - ((n - 1) * s >= i + b) for n, s, i, b in zip(outputs, strides, size, before)]
        flat = np.arange(x.size).reshape(x.shape)
        y = np.full([*x.shape[:2], *outputs], -np.inf, x.dtype)
        chosen = np.zeros(y.shape, np.int64)
        for at in itertools.product(*map(range, outputs)):
            for tap in itertools.product(*map(range, kernel_shape)):
                place = [at[d] * strides[d] + tap[d] * dilations[d] - before[d] for d in range(rank)]
                if any(p < 0 or p >= size[d] for d, p in enumerate(place)):
                    continue
                here, there = (..., *at), (..., *place)
                larger = x[there] > y[here]
                y[here] = np.where(larger, x[there], y[here])
                chosen[here] = np.where(larger, flat[there], chosen[here])
        return y, chosen


class MeanVarianceNormalization(OpRun):
    """The evaluator's own adds a number of float32, whatever the type."""

    op_domain = ""

    def _run(self, x, axes=None):
        axes = tuple(axes)
        return ((x - x.mean(axes, keepdims=True)) / (x.std(axes, keepdims=True) + 1e-9),)


class Pad(OpRun):
    """The evaluator's own does not cut off what a negative number says."""

    op_domain = ""

    def _run(self, x, pads, value=None, axes=None, mode=None):
        axes = list(range(x.ndim)) if axes is None else [int(axis) % x.ndim for axis in axes]
        width = [(0, 0)] * x.ndim
        for i, axis in enumerate(axes):
            width[axis] = (int(pads[i]), int(pads[len(axes) + i]))
        x = x[tuple(slice(max(0, -a), x.shape[d] - max(0, -b)) for d, (a, b) in enumerate(width))]
        width = [(max(0, a), max(0, b)) for a, b in width]
        if mode == "constant":
            return (np.pad(x, width, constant_values=0 if value is None else value.item()),)
        return (np.pad(x, width, mode=mode),)


class RMSNormalization(OpRun):
    """The evaluator's own computes in float32, as stash_type says."""

    op_domain = ""

    def _run(self, x, scale, axis=None, epsilon=None, stash_type=None):
        axes, wide = tuple(range(axis % x.ndim, x.ndim)), x.astype(np.float64)
        return ((wide / np.sqrt((wide * wide).mean(axes, keepdims=True) + epsilon)).astype(x.dtype) * scale,)


class Resize(ResizeOfTheEvaluator):
    """The evaluator's own takes no axes that count from the end, and computes with float32 coefficients and regions."""

    op_domain = ""

    def _run(self, x, roi=None, scales=None, sizes=None, axes=None, cubic_coeff_a=None, **settings):
        axes = None if axes is None else [axis % x.ndim for axis in axes]
        roi = None if roi is None else roi.astype(np.float64)
        return super()._run(x, roi, scales, sizes, axes=axes, cubic_coeff_a=float(cubic_coeff_a), **settings)


class STFT(StftOfTheEvaluator):
    """The evaluator's own takes real signals only with a dimension for their one part."""

    op_domain = ""

    def _run(self, x, frame_step, window=None, frame_length=None, onesided=None):
        return super()._run(x[..., None] if x.ndim == 2 else x, frame_step, window, frame_length, onesided)


class Slice(OpRun):
    """The evaluator's own takes a start before the beginning as Python does, not as the standard."""

    op_domain = ""

    def _run(self, x, starts, ends, axes=None, steps=None):
        axes = range(len(starts)) if axes is None else axes
        steps = [1] * len(starts) if steps is None else steps
        where = [slice(None)] * x.ndim
        for start, end, axis, step in zip(map(int, starts), map(int, ends), axes, map(int, steps)):
            where[axis] = slice(max(start, -x.shape[axis]) if step < 0 else start, end, step)
        return (x[tuple(where)],)


class SoftmaxCrossEntropyLoss(OpRun):
    """The evaluator's own takes the logarithm of an exponential, which may be 0."""

    op_domain = ""

    def _run(self, x, labels, weights=None, ignore_index=None, reduction=None):
        log_prob = logarithms(x, 1)
        counts = np.ones(labels.shape, bool) if ignore_index is None else labels != ignore_index
        at = np.where(counts, labels, 0).astype(np.int64)
        weight = counts * (1.0 if weights is None else weights.astype(np.float64)[at])
        loss = -weight * np.squeeze(np.take_along_axis(log_prob, np.expand_dims(at, 1), 1), 1)
        if reduction != "none":
            loss = loss.sum() / (weight.sum() if reduction == "mean" else 1)
        return tuple(np.asarray(y).astype(x.dtype) for y in (loss, log_prob)[:len(self.onnx_node.output)])


EXACT_OPERATORS = [AffineGrid, ConvTranspose, Erf, GatherElements, Gelu, GlobalLpPool, GlobalMaxPool, GridSample,
                   GroupNormalization, HardSwish, LRN,
                   LogSoftmax, LpPool, MaxPool, MeanVarianceNormalization, Pad, RMSNormalization, Resize, STFT, Slice,
                   SoftmaxCrossEntropyLoss, *ATTENTION, *CONTROL_FLOW, *QUANTIZED, *RECURRENT, *REGIONS]
