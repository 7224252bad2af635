"""Nodes that resize, cut and rearrange images, and that move elements by indices."""

import numpy as np
import values
from graph import Unsuitable
from operators_layer import window
from operators_shape import axes_of


def resize(g):
    """Scales are powers of two, and sizes multiples: others round samples in float32, each runtime in its own way."""
    x = g.operand("Resize", rank=4, smallest=1, among=values.FLOATS if g.maybe(0.7) else None)
    factors = [g.one_of(0.5, 1, 2, 4) for _ in range(2)]
    if min(size * factor for size, factor in zip(x.shape[2:], factors)) < 1:
        raise Unsuitable("Resize")
    spatial = tuple(int(size * factor) for size, factor in zip(x.shape[2:], factors))
    if any(size * factor != new for size, factor, new in zip(x.shape[2:], factors, spatial)):
        raise Unsuitable("Resize")
    shape = (*x.shape[:2], *spatial)
    scales = g.number([1, 1, *factors], "float")
    mode = g.one_of("nearest", "linear") if x.type in values.FLOATS else "nearest"
    if g.opset < 10:
        raise Unsuitable("Resize")
    if g.opset < 11:
        if mode == "nearest" and min(factors) < 1:
            raise Unsuitable("Resize")  # up or down in one is not said
        g.add("Resize", [x, scales], [(x.type, shape)], mode=mode)
        return
    if x.type in values.FLOATS and g.maybe(0.3):
        mode = "cubic"
    attributes = {"mode": mode if mode != "nearest" or g.maybe(0.5) else None}
    coordinates = g.one_of(None, "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "tf_crop_and_resize",
                           *(["half_pixel_symmetric"] if g.opset >= 19 else []))
    attributes["coordinate_transformation_mode"] = coordinates
    if mode == "nearest":
        attributes["nearest_mode"] = g.one_of(None, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
        if coordinates in ("align_corners", "tf_crop_and_resize") and attributes["nearest_mode"] in ("floor", "ceil"):
            raise Unsuitable("Resize")  # a sample that is almost an element, in either precision
    if mode == "cubic":
        attributes |= {"cubic_coeff_a": g.one_of(None, -0.5), "exclude_outside": g.one_of(None, 0, 1)}
    if mode != "nearest" and g.opset >= 18 and coordinates in (None, "half_pixel"):
        attributes["antialias"] = g.one_of(None, 0, 1)
    region = g.number(np.zeros(0), "float") if g.opset < 13 else None
    if coordinates == "tf_crop_and_resize":
        region = g.number([0, 0, *g.one_of([0, 0], [0.25, 0.125], [-0.25, 0.5]), 1, 1, *g.one_of([1, 1], [0.75, 1.25])], "float")
        attributes["extrapolation_value"] = g.one_of(None, 2.5)
    if g.maybe(0.5):
        none = g.number(np.zeros(0), "float") if g.opset < 13 else None
        g.add("Resize", [x, region, none, g.number(list(shape))], [(x.type, shape)], **attributes)
        return
    if g.opset >= 18 and coordinates != "tf_crop_and_resize" and g.maybe(0.4):
        attributes["axes"] = g.one_of([2, 3], [-2, -1])
        scales = g.number(factors, "float")
    g.add("Resize", [x, region, scales], [(x.type, shape)], **attributes)


def upsample(g):
    if not 7 <= g.opset < 10:
        raise Unsuitable("Upsample")
    x = g.operand("Upsample", rank=4, smallest=1)
    factors = [g.one_of(1, 2, 3) for _ in range(2)]
    shape = (*x.shape[:2], *(size * factor for size, factor in zip(x.shape[2:], factors)))
    mode = g.one_of(None, "nearest", "linear") if x.type in values.FLOATS else None
    scales = [1.0, 1.0, *map(float, factors)]
    if g.opset < 9:
        g.add("Upsample", [x], [(x.type, shape)], mode=mode, scales=scales)
    else:
        g.add("Upsample", [x, g.number(scales, "float")], [(x.type, shape)], mode=mode)


def global_pool(op):
    def add(g):
        x = g.operand(op, rank=range(3, 6), smallest=1)
        p = {"p": g.one_of(None, 1, 2, 3)} if "Lp" in op else {}
        if op == "GlobalLpPool" and g.opset < 2:
            raise Unsuitable(op)
        g.add(op, [x], [(x.type, (*x.shape[:2], *[1] * (x.rank - 2)))], **p)

    return add


def lp_pool(g):
    x = g.operand("LpPool", rank=range(3, 6), smallest=1)
    dilated = g.opset >= 18
    ceil = g.one_of(None, 0, 1) if g.opset >= 18 else None
    kernel, attributes, spatial = window(g, "LpPool", x.shape[2:], dilated, ceil)
    g.add("LpPool", [x], [(x.type, (*x.shape[:2], *spatial))], kernel_shape=kernel, p=g.one_of(None, 1, 2, 3),
          ceil_mode=ceil, **attributes)


def blocks(op):
    def add(g):
        x = g.operand(op, rank=4, smallest=1)
        size = g.one_of(1, 2)
        n, channels, height, width = x.shape
        if op == "DepthToSpace":
            if channels % size**2:
                raise Unsuitable(op)
            shape = (n, channels // size**2, height * size, width * size)
        else:
            if height % size or width % size:
                raise Unsuitable(op)
            shape = (n, channels * size**2, height // size, width // size)
        moded = g.opset >= (11 if op == "DepthToSpace" else 28)
        g.add(op, [x], [(x.type, shape)], blocksize=size, mode=g.one_of(None, "DCR", "CRD") if moded else None)

    return add


def tuples(g, op, shape, depth, count, different):
    """Tuples of indices into the first `depth` dimensions."""
    size = int(np.prod(shape[:depth]))
    flat = g.numbers.permutation(size)[:count] if different else g.numbers.integers(0, size, count)
    at = np.stack(np.unravel_index(flat, shape[:depth]), axis=-1).astype(np.int64)
    if g.opset >= 11 and g.maybe(0.4):
        at = at - np.array(shape[:depth]) * (g.numbers.random(at.shape) < 0.5)
    return g.leaf(at)


def gather_nd(g):
    x = g.operand("GatherND", rank=range(1, 5), smallest=1)
    batch = g.between(0, x.rank - 1) if g.opset >= 12 and g.maybe(0.4) else 0
    depth = g.between(1, x.rank - batch)
    inner = g.shape(g.between(0 if batch == 0 else 1, 1), smallest=1) if batch else (g.between(1, 3),)
    shape = (*x.shape[:batch], *inner)
    at = np.stack([g.numbers.integers(-size, size, shape) for size in x.shape[batch:batch + depth]], axis=-1)
    g.add("GatherND", [x, g.leaf(at.astype(np.int64))], [(x.type, (*shape, *x.shape[batch + depth:]))],
          batch_dims=batch if batch or (g.opset >= 12 and g.maybe(0.3)) else None)


def scatter_nd(g):
    x = g.operand("ScatterND", rank=range(1, 5), smallest=1)
    depth = g.between(1, x.rank)
    count = g.between(1, min(3, int(np.prod(x.shape[:depth]))))
    reductions = [None] + (["none", "add", "mul"] if g.opset >= 16 else []) + (["max", "min"] if g.opset >= 18 else [])
    reduction = None if x.type == "bool" else g.one_of(*reductions)
    updates = g.operand("ScatterND", 2, x.type, shape=(count, *x.shape[depth:]))
    at = tuples(g, "ScatterND", x.shape, depth, count, different=reduction in (None, "none"))
    g.add("ScatterND", [x, at, updates], [(x.type, x.shape)], reduction=reduction)


def top_k(g):
    x = g.operand("TopK", rank=range(1, 5), smallest=1)
    axis = g.between(-x.rank, x.rank - 1)
    k = g.between(1, x.shape[axis])
    shape = tuple(k if d == axis % x.rank else size for d, size in enumerate(x.shape))
    outputs = [(x.type, shape), ("int64", shape)]
    if g.opset < 10:
        if axis < 0:
            raise Unsuitable("TopK")
        g.add("TopK", [x], outputs, axis=axis, k=k)
        return
    if g.opset < 11 and axis < 0:
        raise Unsuitable("TopK")
    flags = {"largest": g.one_of(None, 0, 1), "sorted": g.one_of(None, 1)} if g.opset >= 11 else {}
    g.add("TopK", [x, g.number([k])], outputs, axis=axis, **flags)


def reverse_sequence(g):
    x = g.operand("ReverseSequence", rank=range(2, 5), smallest=1)
    time = g.one_of(0, 1)
    lengths = g.leaf(g.numbers.integers(0, x.shape[time] + 1, x.shape[1 - time]).astype(np.int64))
    says = {"time_axis": time, "batch_axis": 1 - time} if time or g.maybe(0.5) else {}
    g.add("ReverseSequence", [x, lengths], [(x.type, x.shape)], **says)


def compress(g):
    x = g.operand("Compress", rank=range(1, 5), smallest=1)
    axis = g.one_of(None, *range(-x.rank if g.opset >= 11 else 0, x.rank))
    size = int(np.prod(x.shape)) if axis is None else x.shape[axis]
    kept = g.leaf(g.numbers.random(g.between(1, size)) < 0.5)
    g.add("Compress", [x, kept], [(x.type, None)], axis=axis)


def unique(g):
    x = g.operand("Unique", rank=range(1, 4), smallest=1)
    axis = g.one_of(None, *range(-x.rank, x.rank))
    outputs = [(x.type, None), *[("int64", None)] * 3]
    g.add("Unique", [x], outputs[:g.between(1, 4)], axis=axis, sorted=g.one_of(None, 0, 1))


def non_max_suppression(g):
    batch, classes, count = g.between(1, 2), g.between(1, 3), g.between(1, 8)
    boxes = g.new("float", (batch, count, 4), 0.0, 1.0)
    scores = g.new("float", (batch, classes, count), 0.0, 1.0)
    inputs = [boxes, scores, g.number([g.between(0, 5)]), g.number([g.one_of(0.0, 0.3, 0.7)], "float")]
    if g.maybe(0.5):
        inputs.append(g.number([0.4], "float"))
    g.add("NonMaxSuppression", inputs, [("int64", None)], center_point_box=g.one_of(None, 0, 1))


def center_crop_pad(g):
    x = g.operand("CenterCropPad", rank=range(1, 5), smallest=1)
    axes = list(range(x.rank))
    if g.maybe(0.4):
        axes = axes_of(g, x.rank)
    shape = list(x.shape)
    for axis in axes:
        shape[axis] = g.between(1, x.shape[axis] + 3)
    wanted = g.number([shape[axis] for axis in axes], g.one_of("int64", "int32"))
    g.add("CenterCropPad", [x, wanted], [(x.type, tuple(shape))], axes=axes if axes != list(range(x.rank)) else None)


def max_unpool(g):
    x = g.operand("MaxUnpool", rank=range(3, 6), smallest=1)
    kernel, strides = ([g.between(1, 3) for _ in x.shape[2:]] for _ in range(2))
    spatial = [(size - 1) * s + k for size, s, k in zip(x.shape[2:], strides, kernel)]
    whole = (*x.shape[:2], *spatial)
    if np.prod(whole) < np.prod(x.shape):
        raise Unsuitable("MaxUnpool")
    at = g.numbers.permutation(int(np.prod(whole)))[:int(np.prod(x.shape))].reshape(x.shape).astype(np.int64)
    g.add("MaxUnpool", [x, g.leaf(at)], [(x.type, whole)], kernel_shape=kernel, strides=strides)


def grid_sample(g):
    if g.opset < 16:
        raise Unsuitable("GridSample")
    rank = 4 if g.opset < 20 else g.one_of(4, 5)
    x = g.operand("GridSample", rank=rank, smallest=1, among=values.FLOATS)
    spatial = tuple(g.between(1, 3) for _ in range(rank - 2))
    grid = g.new(x.type, (x.shape[0], *spatial, rank - 2), -1.4, 1.4)
    modes = ("bilinear", "nearest", "bicubic") if g.opset < 20 else ("linear", "nearest", "cubic")
    g.add("GridSample", [x, grid], [(x.type, (*x.shape[:2], *spatial))], mode=g.one_of(None, *modes[:2 if rank == 5 else 3]),
          padding_mode=g.one_of(None, "zeros", "border", "reflection"), align_corners=g.one_of(None, 0, 1))


def affine_grid(g):
    if g.opset < 20:
        raise Unsuitable("AffineGrid")
    dims, n = g.one_of(2, 3), g.between(1, 2)
    theta = g.operand("AffineGrid", shape=(n, dims, dims + 1))
    size = [n, g.between(1, 3), *[g.between(2, 4) for _ in range(dims)]]
    g.add("AffineGrid", [theta, g.number(size)], [(theta.type, (n, *size[2:], dims))], align_corners=g.one_of(None, 0, 1))


def col2im(g):
    if g.opset < 18:
        raise Unsuitable("Col2Im")
    dims = g.between(1, 3)
    block, strides, dilations = ([g.between(1, 2) for _ in range(dims)] for _ in range(3))
    pads = [g.between(0, 1) for _ in range(2 * dims)]
    image = [(k - 1) * d + 1 + g.between(2, 4) for k, d in zip(block, dilations)]
    places = [(i + pads[d] + pads[dims + d] - dilations[d] * (block[d] - 1) - 1) // strides[d] + 1
              for d, i in enumerate(image)]
    n, channels = g.between(1, 2), g.between(1, 2)
    x = g.operand("Col2Im", shape=(n, channels * int(np.prod(block)), int(np.prod(places))), among=values.FLOATS)
    g.add("Col2Im", [x, g.number(image), g.number(block)], [(x.type, (n, channels, *image))], strides=strides,
          dilations=dilations, pads=pads)


OPERATORS = {
    "AffineGrid": affine_grid,
    "CenterCropPad": center_crop_pad,
    "Col2Im": col2im,
    "Compress": compress,
    "DepthToSpace": blocks("DepthToSpace"),
    "GatherND": gather_nd,
    "GlobalLpPool": global_pool("GlobalLpPool"),
    "GlobalMaxPool": global_pool("GlobalMaxPool"),
    "GridSample": grid_sample,
    "LpPool": lp_pool,
    "MaxUnpool": max_unpool,
    "NonMaxSuppression": non_max_suppression,
    "Resize": resize,
    "ReverseSequence": reverse_sequence,
    "ScatterND": scatter_nd,
    "SpaceToDepth": blocks("SpaceToDepth"),
    "TopK": top_k,
    "Unique": unique,
    "Upsample": upsample,
}
