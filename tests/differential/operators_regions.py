"""Nodes that pool regions of images, and convolutions whose taps lie between elements."""

import math

import numpy as np
import values
from graph import Unsuitable


def regions(g, x, image):
    """Corners x1, y1, x2, y2 of a few regions in and around an image, of any order."""
    count, (height, width) = g.between(1, 3), x.shape[2:]
    corners = g.numbers.uniform(-1, 1 + np.tile([width, height], 2), (count, 4))
    return np.concatenate([g.numbers.integers(0, x.shape[0], (count, 1)), corners], 1) if image else corners


def roi_align(g):
    if g.opset < 10:
        raise Unsuitable("RoiAlign")
    x = g.operand("RoiAlign", rank=4, smallest=1, among=values.FLOATS)
    rois = regions(g, x, image=False)
    image = g.numbers.integers(0, x.shape[0], len(rois)).astype(np.int64)
    mode = {"coordinate_transformation_mode": g.one_of(None, "half_pixel", "output_half_pixel")} if g.opset >= 16 else {}
    height, width = g.between(1, 3), g.between(1, 3)
    g.add("RoiAlign", [x, g.leaf(rois.astype(values.NUMPY[x.type])), g.leaf(image)], [(x.type, (len(rois), x.shape[1], height, width))],
          mode=g.one_of(None, "avg", "max"), output_height=height, output_width=width, sampling_ratio=g.one_of(None, 0, 1, 2),
          spatial_scale=g.one_of(None, 0.5, 1.0), **mode)


def max_roi_pool(g):
    x = g.operand("MaxRoiPool", rank=4, smallest=1, among=values.FLOATS)
    rois, cells = regions(g, x, image=True), [g.between(1, 3), g.between(1, 3)]
    g.add("MaxRoiPool", [x, g.leaf(rois.astype(values.NUMPY[x.type]))], [(x.type, (len(rois), x.shape[1], *cells))],
          pooled_shape=cells, spatial_scale=g.one_of(None, 0.5, 1.0))


def deform_conv(g):
    if g.opset < 19:
        raise Unsuitable("DeformConv")
    x = g.operand("DeformConv", rank=4, smallest=2, among=values.FLOATS)
    n, channels = x.shape[:2]
    kernel, strides, dilations = [g.between(1, 2) for _ in range(2)], [g.between(1, 2) for _ in range(2)], [1, 1]
    pads = [g.between(0, 1) for _ in range(4)]
    windows = [(size + pads[d] + pads[2 + d] - kernel[d]) // strides[d] + 1 for d, size in enumerate(x.shape[2:])]
    group, parts = g.one_of(1, channels), g.one_of(1, channels)
    results = group * g.between(1, 2)
    w = g.new(x.type, (results, channels // group, *kernel))
    offset = g.new(x.type, (n, parts * math.prod(kernel) * 2, *windows), -1.3, 1.3)
    operands = [x, w, offset]
    if g.one_of(True, False):
        operands += [g.new(x.type, (results,)), g.new(x.type, (n, parts * math.prod(kernel), *windows))]
    g.add("DeformConv", operands, [(x.type, (n, results, *windows))], group=group, offset_group=parts, pads=pads,
          strides=strides, dilations=dilations)


OPERATORS = {
    "DeformConv": deform_conv,
    "MaxRoiPool": max_roi_pool,
    "RoiAlign": roi_align,
}
