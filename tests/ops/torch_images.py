"""Operators that resize, cut and rearrange images or move elements by indices, as torch says them: by its own
functions, or by those that emitted source has."""

import importlib.util
import pathlib

import torch
import torch.nn.functional as F
from onnx import numpy_helper

HELPERS = pathlib.Path(__file__).resolve().parents[2] / "src" / "emit" / "torch" / "helpers.py"
specification = importlib.util.spec_from_file_location("torch_helpers", HELPERS)
helpers = importlib.util.module_from_spec(specification)
specification.loader.exec_module(helpers)

MISSING_IMAGES = {
    "MaxUnpool": "torch counts the indices of a pooling within each image",
    "HannWindow of one": "torch has 1 there, whatever the formula gives",
    "Col2Im 3 dimensions": "torch folds two dimensions at most",
    "GridSample 1 dimension": "torch samples two dimensions at least",
    "GridSample cubic of 3 dimensions": "torch samples cubics in two dimensions alone",
    **{f"{op}{of}": "torch has none (torchvision does)"
       for op, cases in {
           "RoiAlign": ["", " of as many points as elements", " of scaled regions", " beyond the images",
                        " of regions turned over", " of small regions", " max", " max of as many points as elements"],
           "MaxRoiPool": ["", " of scaled regions", " beyond the images"],
           "DeformConv": ["", " groups, mask and bias", " far away", " 1 dimension", " 3 dimensions"]}.items()
       for of in cases},
}


def numbers(tensor):
    return None if tensor is None or len(tensor) == 0 else tensor.tolist()


def resize(node, x, region=None, scales=None, sizes=None):
    return helpers.resize(x, numbers(scales), numbers(sizes), node["axes"], node["mode"],
                          node["coordinate_transformation_mode"], node["nearest_mode"], node["cubic_coeff_a"],
                          bool(node["antialias"]), bool(node["exclude_outside"]), node["keep_aspect_ratio_policy"],
                          numbers(region), node["extrapolation_value"])


def lp_pool(node, x):
    kernel, p = node["kernel_shape"], node["p"]
    rank = len(kernel)
    strides, dilations = node["strides"] or [1] * rank, node["dilations"] or [1] * rank
    window_pads = node["pads"] or [0] * (2 * rank)
    if node["auto_pad"].startswith("SAME"):
        window_pads = helpers.same_pads(x, kernel, strides, dilations, node["auto_pad"] == "SAME_LOWER")
    slices = helpers.window_slices(x, kernel, strides, window_pads, dilations, node["ceil_mode"], 0.0, 0.0)
    return sum(each.abs() ** p for each in slices) ** (1 / p)


def global_max_pool(node, x):
    return [F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d][x.ndim - 3](x, 1)


def blocks(own, ours):
    return lambda node, x: (own if node["mode"] == "CRD" else ours)(x, node["blocksize"])


def max_unpool(node, x, indices, shape=None):
    rank = len(node["kernel_shape"])
    return helpers.max_unpool(x, indices, node["kernel_shape"], node["strides"] or [1] * rank,
                              node["pads"] or [0] * (2 * rank), numbers(shape))


def affine_grid(node, theta, size):
    return F.affine_grid(theta, size.tolist(), align_corners=bool(node["align_corners"]))


def grid_sample(node, x, grid):
    mode = {"linear": "bilinear", "cubic": "bicubic"}.get(node["mode"], node["mode"])
    return F.grid_sample(x, grid, mode, node["padding_mode"], bool(node["align_corners"]))


def col2im(node, x, image, block):
    """F.fold of two dimensions, with the pads of one side cut off behind."""
    dims = len(image)
    lead = [1] * (2 - dims)
    strides, dilations = ([*lead, *(node[name] or [1] * dims)] for name in ("strides", "dilations"))
    pads = node["pads"] or [0] * (2 * dims)
    whole = [*lead, *[int(i) + pads[d] + pads[dims + d] for d, i in enumerate(image)]]
    y = F.fold(x, whole, [*lead, *block.tolist()], dilations, 0, strides)
    for d, size in enumerate(image.tolist()):
        y = y.narrow(4 - dims + d, pads[d], size)
    return y.squeeze(2) if dims == 1 else y


def dft(node, x, length=None, axis=None):
    axis = x.ndim - 2 if axis is None else int(axis) % x.ndim
    numbers = x[..., 0] if x.shape[-1] == 1 else torch.view_as_complex(x)
    n = None if length is None else int(length)
    functions = {(0, 0): torch.fft.fft, (1, 0): torch.fft.ifft, (0, 1): torch.fft.rfft, (1, 1): torch.fft.irfft}
    y = functions[node["inverse"], node["onesided"]](numbers, n, axis)
    return torch.view_as_real(y.resolve_conj()) if y.is_complex() else y.unsqueeze(-1)


def stft(node, x, step, window=None, length=None):
    numbers = x if x.ndim == 2 else x[..., 0] if x.shape[-1] == 1 else torch.view_as_complex(x)
    size = len(window) if length is None else int(length)
    window = torch.ones(size, dtype=x.dtype) if window is None else window
    y = torch.stft(numbers, size, int(step), size, window, center=False, onesided=bool(node["onesided"]),
                   return_complex=True)
    return torch.view_as_real(y).transpose(1, 2)


def window(function, **coefficients):
    return lambda node, size: function(int(size), periodic=bool(node["periodic"]), dtype=torch.float64, **coefficients).to(
        {7: torch.int64, 11: torch.float64}[node["output_datatype"]])


IMAGES = {
    "AffineGrid": affine_grid,
    "BlackmanWindow": window(torch.blackman_window),
    "Col2Im": col2im,
    "DFT": dft,
    "GridSample": grid_sample,
    "HammingWindow": window(torch.hamming_window, alpha=25 / 46, beta=21 / 46),
    "HannWindow": window(torch.hann_window),
    "STFT": stft,
    "CenterCropPad": lambda node, x, shape: helpers.center_crop_pad(x, shape.tolist(), node["axes"]),
    "Compress": lambda node, x, kept: helpers.compress(x, kept, node["axis"]),
    "Constant": lambda node: torch.from_numpy(numpy_helper.to_array(node["value"]).copy()),
    "DepthToSpace": blocks(F.pixel_shuffle, helpers.depth_to_space),
    "GatherElements": lambda node, x, indices: helpers.gather_elements(x, indices, node["axis"]),
    "GatherND": lambda node, x, indices: helpers.gather_nd(x, indices, node["batch_dims"]),
    "GlobalLpPool": lambda node, x: torch.linalg.vector_norm(x, node["p"], tuple(range(2, x.ndim)), keepdim=True),
    "GlobalMaxPool": global_max_pool,
    "LpPool": lp_pool,
    "MaxUnpool": max_unpool,
    "Resize": resize,
    "ReverseSequence": lambda node, x, lengths: helpers.reverse_sequence(x, lengths, node["batch_axis"], node["time_axis"]),
    "ScatterElements": lambda node, x, i, u: helpers.scatter_elements(x, i, u, node["axis"], node["reduction"]),
    "ScatterND": lambda node, x, i, u: helpers.scatter_nd(x, i, u, node["reduction"]),
    "SpaceToDepth": blocks(F.pixel_unshuffle, helpers.space_to_depth),
    "Unique": lambda node, x: helpers.unique(x, node["axis"], bool(node["sorted"])),
    "TopK": lambda node, x, k: helpers.top_k(x, int(k), node["axis"], bool(node["largest"])),
}
