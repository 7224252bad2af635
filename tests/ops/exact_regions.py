"""Operators that read regions of images, and convolutions at offsets, in NumPy: ONNX's reference evaluator has no MaxRoiPool,
and a DeformConv of two dimensions that rounds positions to float32."""

import itertools
import math

import numpy as np
from onnx.reference.op_run import OpRun


class DeformConv(OpRun):
    op_domain = ""

    def _run(self, x, w, offset, bias=None, mask=None, dilations=None, group=None, kernel_shape=None, offset_group=None,
             pads=None, strides=None):
        d, kernel, windows = x.ndim - 2, w.shape[2:], offset.shape[2:]
        dilations, strides, pads = dilations or [1] * d, strides or [1] * d, pads or [0] * d
        offset = offset.reshape(len(x), offset_group, *kernel, d, *windows)
        mask = np.ones((len(x), offset_group, *kernel, *windows)) if mask is None else mask.reshape(
            len(x), offset_group, *kernel, *windows)
        y = np.zeros((len(x), len(w), *windows))
        for n, out, window in itertools.product(range(len(x)), range(len(w)), np.ndindex(*windows)):
            for channel, tap in itertools.product(range(w.shape[1]), np.ndindex(*kernel)):
                read = out // (len(w) // group) * w.shape[1] + channel
                part = read // (x.shape[1] // offset_group)
                at = np.array([window[i] * strides[i] - pads[i] + tap[i] * dilations[i] +
                               offset[(n, part, *tap, i, *window)] for i in range(d)])
                y[(n, out, *window)] += (w[(out, channel, *tap)] * mask[(n, part, *tap, *window)] *
                                         between(x[n, read], at))
        if bias is not None:
            y += bias.reshape(-1, *[1] * d)
        return (y.astype(x.dtype),)


def between(image, at):
    """The image between its elements, and zeros around it."""
    below, value = np.floor(at).astype(int), 0.0
    for corner in itertools.product((0, 1), repeat=image.ndim):
        place = below + corner
        if (place >= 0).all() and (place < image.shape).all():
            weights = np.where(np.array(corner) == 1, at - below, 1 - (at - below))
            value += math.prod(weights) * image[tuple(place)]
    return value


class MaxRoiPool(OpRun):
    op_domain = ""

    def _run(self, x, rois, pooled_shape=None, spatial_scale=None):
        y = np.zeros((len(rois), x.shape[1], *pooled_shape), x.dtype)
        for r, cell in itertools.product(range(len(rois)), np.ndindex(*pooled_shape)):
            x1, y1, x2, y2 = (math.copysign(math.floor(abs(at) + 0.5), at) for at in rois[r, 1:] * spatial_scale)
            bounds = []
            for i, (start, end) in enumerate(((y1, y2), (x1, x2))):
                step = max(end - start + 1, 1) / pooled_shape[i]
                bounds.append(slice(*(int(min(max(at, 0), x.shape[2 + i])) for at in (
                    math.floor(cell[i] * step) + start, math.ceil((cell[i] + 1) * step) + start))))
            elements = x[int(rois[r, 0]), :, bounds[0], bounds[1]]
            if elements.size:
                y[(r, slice(None), *cell)] = elements.max((1, 2))
        return (y,)


REGIONS = [DeformConv, MaxRoiPool]
