"""What is known of the others: results of ONNX Runtime or of ONNX's reference evaluator that are theirs alone,
each with its cause and a predicate on a node with its inputs, as narrow as possible. A trap is seen before
anything runs, from what the model says alone: whoever falls into it is no judge of the model."""

import collections
import dataclasses
from collections.abc import Callable

import numpy as np
import values
from onnx import helper, numpy_helper


@dataclasses.dataclass(frozen=True)
class Site:
    """A node where it stands: its inputs' arrays, types and shapes (None for one that is left out or not
    known), and how often each value of the graph is read."""

    node: object
    opset: int
    inputs: list
    types: list
    shapes: list
    uses: collections.Counter

    def attribute(self, name, otherwise=None):
        for attribute in self.node.attribute:
            if attribute.name == name:
                return helper.get_attribute_value(attribute)
        return otherwise

    def input(self, index):
        return self.inputs[index] if index < len(self.inputs) else None

    def is_given(self, index):
        return index < len(self.node.input) and bool(self.node.input[index])

    def shape(self, index):
        return self.shapes[index] if index < len(self.shapes) else None

    def is_type(self, *names):
        return bool(self.types) and self.types[0] in names

    def has(self, condition, *indices):
        """Whether the condition holds for an element of these inputs (of any, where none is named)."""
        arrays = [self.input(index) for index in indices or range(len(self.inputs))]
        return any(array is not None and values.is_float(array) and bool(condition(values.as_double(array)).any())
                   for array in arrays)


@dataclasses.dataclass(frozen=True)
class Known:
    ops: tuple
    cause: str
    applies: Callable  # (Site) -> bool


def find(table, site):
    for entry in table:
        if site.node.op_type in entry.ops and entry.applies(site):
            return entry
    return None


def not_finite(array):
    return ~np.isfinite(array)


def out_of_range(site):
    """Whether a cast of floats meets a number that the integer type does not have."""
    target = site.attribute("to") or values.ONNX.get((site.types + ["", ""])[1])
    name = values.BY_ONNX.get(target)
    if name not in values.INTEGERS:
        return False
    limits = np.iinfo(values.NUMPY[name])
    return site.has(lambda x: ~(np.isfinite(x) & (np.trunc(x) >= limits.min) & (np.trunc(x) <= limits.max)), 0)


def undefined_scores(site):
    """Whether the largest of some scores is none to subtract: NaN, infinite, or -infinity as all others."""
    scores = values.as_double(site.input(0))
    axis = 1 if site.node.op_type == "SoftmaxCrossEntropyLoss" else site.attribute("axis", -1 if site.opset >= 13 else 1)
    return scores.size > 0 and not np.isfinite(np.max(scores, axis=axis)).all()


def is_integer(array):
    return array is not None and array.dtype.kind in "iu"


def magnitudes(array):
    return np.abs(array.astype(np.float64))


def beyond(array, magnitude, exact):
    """Whether a magnitude is one that integers of the array's type don't have, or not below the limit up to
    which another type is exact."""
    return bool(np.any((magnitude > float(np.iinfo(array.dtype).max)) | (magnitude >= exact)))


def large_power(site):
    x, y = site.input(0), site.input(1)
    with np.errstate(over="ignore", divide="ignore"):
        return is_integer(x) and beyond(x, magnitudes(x) ** y.astype(np.float64), 2.0**53)


def sum_beyond_double(site):
    return is_integer(site.input(0)) and magnitudes(site.input(0)).sum() >= 2.0**53


def sum_that_overflows(site):
    return is_integer(site.input(0)) and beyond(site.input(0), magnitudes(site.input(0)).sum(), np.inf)


def squares_beyond_double(site):
    return is_integer(site.input(0)) and beyond(site.input(0), (magnitudes(site.input(0)) ** 2).sum(), 2.0**53)


def product_beyond_double(site):
    return is_integer(site.input(0)) and beyond(site.input(0), np.prod(np.maximum(magnitudes(site.input(0)), 1)), 2.0**53)


def contraction_beyond_double(site):
    if not is_integer(site.input(0)):
        return False
    return beyond(site.input(0), np.prod([magnitudes(each).sum() for each in site.inputs]), 2.0**53)


def has_lowest_integer(site):
    x = site.input(0)
    return x is not None and x.dtype.kind == "i" and bool((x == np.iinfo(x.dtype).min).any())


def norm_that_overflows(site):
    x = site.input(0)
    return is_integer(x) and beyond(x, np.sqrt((magnitudes(x) ** 2).sum()), np.inf)


def large_integer_product(site):
    if not is_integer(site.input(0)):
        return False
    a, b = (magnitudes(site.input(i)) for i in (0, 1))
    product = (a.T if site.attribute("transA", 0) else a) @ (b.T if site.attribute("transB", 0) else b)
    c = 0 if site.input(2) is None else abs(site.attribute("beta", 1.0)) * magnitudes(site.input(2))
    return beyond(site.input(0), abs(site.attribute("alpha", 1.0)) * product + c, 2.0**53)


def larger_than_its_deviation(site):
    """Whether elements are many times as large as the deviation that they are divided by."""
    x = site.input(0)
    if x is None or not np.isfinite(x).all():
        return False
    variance = x.astype(np.float64).var(tuple(range(2, x.ndim)), keepdims=True)
    return bool((magnitudes(x) > 100 * np.sqrt(variance + site.attribute("epsilon", 1e-5))).any())


def beyond_a_missing_limit(site):
    """Whether a Clip since opset 11 (before, limits had a default) meets an infinity that it has no limit for."""
    below, above = (site.opset >= 11 and not site.is_given(i) for i in (1, 2))
    return below and site.has(np.isneginf, 0) or above and site.has(np.isposinf, 0)


def same_with_dilations(site):
    return (site.attribute("auto_pad", b"") or b"").startswith(b"SAME") and max(site.attribute("dilations", [1])) > 1


def moved_by_wide_strides(site):
    """Whether strides reach two places or more beyond what windows that cover the input need."""
    if not (site.attribute("auto_pad", b"") or b"").startswith(b"SAME"):
        return False
    kernel = site.attribute("kernel_shape")
    ones, shape = [1] * len(kernel), site.shape(0)
    strides, dilations = site.attribute("strides", ones), site.attribute("dilations", ones)
    spare = [stride - ((k - 1) * dilation + 1) for k, stride, dilation in zip(kernel, strides, dilations)]
    return any(more > 1 and (shape is None or (shape[d + 2] - 1) % strides[d] + 1 > strides[d] - more + 1)
               for d, more in enumerate(spare))


def is_padded_by_name(site):
    return site.attribute("auto_pad", b"NOTSET") != b"NOTSET"


def moved_by_rounding_up(site):
    """Whether a last window reaches two places or more beyond the padding."""
    if site.attribute("ceil_mode", 0) != 1 or is_padded_by_name(site):
        return False
    kernel = site.attribute("kernel_shape")
    ones, shape = [1] * len(kernel), site.shape(0)
    strides, dilations = site.attribute("strides", ones), site.attribute("dilations", ones)
    if shape is None:
        return max(strides) > 2
    pads = site.attribute("pads", [0, 0] * len(kernel))
    for d, size in enumerate(shape[2:]):
        room = size + pads[d] + pads[len(kernel) + d] - ((kernel[d] - 1) * dilations[d] + 1)
        more = -(-room // strides[d]) * strides[d]  # where the last window begins
        if more - room > 1 and more < size + pads[d]:
            return True
    return False


def reversed_to_the_end(site):
    ends, steps = site.input(2), site.input(4)
    if not site.is_given(4) or (steps is not None and (np.asarray(steps) > 0).all()):
        return False
    if steps is None or ends is None:
        return True
    return bool((np.isin(ends, (2**31 - 1, 2**63 - 1)) & (np.asarray(steps) < 0)).any())


def cuts_more_than_there_is(site):
    shape, pads = site.shape(0), site.input(1) if site.opset >= 11 else np.array(site.attribute("pads"))
    if shape is None or pads is None:
        return False
    axes = range(len(shape)) if site.input(3) is None else site.input(3)
    cut = -np.minimum(pads, 0).reshape(2, -1).sum(axis=0)
    return any(more > shape[axis] for axis, more in zip(axes, cut))


def shares_statistics(site):
    return site.attribute("training_mode", 0) == 1 and any(site.uses[name] > 1 for name in site.node.input[3:5])


def several_axes(site):
    """Whether a softmax before opset 13 runs over more than the axis that it names."""
    shape = site.shape(0)
    return site.opset < 13 and (shape is None or site.attribute("axis", 1) % len(shape) != len(shape) - 1)


def numbers_between(site):
    """Whether results lie between elements, of which some are not finite, or are no numbers."""
    return site.attribute("mode", b"nearest") != b"nearest" and site.has(not_finite, 0)


def in_order_of_occurrence(site):
    """Whether the first ones are asked for in their order, and not sorted: alone, or of lines that are not the first
    axis'."""
    if site.attribute("sorted", 1) == 1:
        return False
    shape, axis = site.shape(0), site.attribute("axis")
    rank = 0 if shape is None else len(shape)
    return len(site.node.output) == 1 or (rank != 1 if axis is None else axis not in (0, -rank))


def scales_of_channels(site):
    """Whether each channel of images that are not of two dimensions has a scale of its own."""
    shape, scales = site.shape(0), site.shape(4)
    return (shape is None or len(shape) != 4) and (scales is None or np.prod(scales) > 1)


def rounded_scale(site):
    """Whether the root of a scale, by which queries and keys are multiplied, is none that float32 has."""
    shape, scale = site.shape(0), site.attribute("scale")
    if not site.is_type("double") or (scale is None and shape is None):
        return site.is_type("double")
    if scale is None:
        scale = 1 / np.sqrt(shape[-1] // (site.attribute("q_num_heads", 1) if len(shape) == 3 else 1))
    return float(np.float32(np.sqrt(scale))) != np.sqrt(scale)


def only_query(site):
    """Whether the keys behind an only query are hidden from it, which has a past."""
    queries, keys = site.shape(0), site.shape(1)
    if not site.attribute("is_causal", 0) or not site.is_given(4) or site.is_type("double"):
        return False
    return queries is None or keys is None or (queries[-2] == 1 and keys[-2] > 1)


def attends_nothing(site):
    """Whether a query has no key that a mask, its place or a window lets it see."""
    (queries, keys), mask = (site.shape(i)[-2] for i in (0, 1)), site.input(3)
    past = 0 if site.input(4) is None else site.input(4).shape[2]
    length = site.input(6)
    lengths = np.array([past + keys]) if length is None else length
    offset = np.array([past]) if length is None else length - queries
    left, right = (site.attribute(f"{side}_window_size", -1) for side in ("left", "right"))
    key = np.arange(past + keys)
    place = offset.reshape(-1, 1, 1, 1) + np.arange(queries).reshape(-1, 1)
    seen = key < lengths.reshape(-1, 1, 1, 1)
    seen = seen & (key <= place if site.attribute("is_causal", 0) else True)
    seen = seen & (key >= place - left if left >= 0 else True) & (key <= place + right if right >= 0 else True)
    if mask is not None and mask.dtype == np.bool_:
        hidden = np.zeros((*mask.shape[:-1], past + keys - mask.shape[-1]), bool)
        seen = seen & np.concatenate([mask, hidden], axis=-1)
    return not seen.any(axis=-1).all()


def resized_to_one(site):
    """Whether results of one element have to do with where it lies, in PyTorch's way."""
    if site.attribute("coordinate_transformation_mode", b"half_pixel") != b"pytorch_half_pixel":
        return False
    if site.input(3) is not None:
        return bool((site.input(3) == 1).any())
    shape, axes = site.shape(0), site.attribute("axes")
    if shape is None or site.input(2) is None:
        return True
    sizes = [shape[axis] for axis in (range(len(shape)) if axes is None else axes)]
    return any(int(size * scale) == 1 for size, scale in zip(sizes, site.input(2)))


def region_without_scale(site):
    """Whether a part is taken along an axis whose size stays as it is."""
    if site.attribute("coordinate_transformation_mode", b"half_pixel") != b"tf_crop_and_resize":
        return False
    shape, region, scales, sizes = site.shape(0), site.input(1), site.input(2), site.input(3)
    if shape is None or region is None or (scales is None and sizes is None):
        return True
    same = np.asarray(scales) == 1 if sizes is None else sizes == np.asarray(shape)
    return bool((same & ((region[:len(shape)] != 0) | (region[len(shape):] != 1))).any())


def ends_before_the_first(site):
    shape, end = site.shape(0), site.attribute("end", 0)
    return end < (0 if shape is None else -len(shape))


def window_of_doubles(site):
    return site.attribute("output_datatype") == values.ONNX["double"]


def half_of_another_length(site):
    """Whether real numbers are made of a spectrum that is not half of theirs."""
    if not (site.attribute("inverse", 0) and site.attribute("onesided", 0)):
        return False
    axis = site.attribute("axis", 1) if site.opset < 20 else -2 if site.input(2) is None else int(site.input(2))
    size, length = site.shape(0)[axis], site.input(1)
    return length is not None and size != int(length) // 2 + 1


def dilated_blocks(site):
    """Whether blocks have gaps that are not of two dimensions, nor of the only one of an only channel."""
    dilations, shape, block = site.attribute("dilations", [1]), site.shape(0), site.input(2)
    is_line = len(dilations) == 1 and shape is not None and block is not None and shape[1] == np.prod(block)
    return len(dilations) != 2 and max(dilations) > 1 and not is_line


def leaves_sixteen_bits(site):
    """Whether a product on the way is none of float16's normal numbers."""
    x, axis = site.input(0), site.input(1)
    if not site.is_type("float16") or x is None or axis is None:
        return site.is_type("float16")
    x = np.flip(x, int(axis)) if site.attribute("reverse", 0) else x
    with np.errstate(over="ignore", invalid="ignore"):
        products = np.abs(np.cumprod(x.astype(np.float64), int(axis)))
    limits = np.finfo(np.float16)
    return bool(((products > limits.max) | ((products > 0) & (products < limits.smallest_normal))).any())


def ignores_labels(site):
    labels, ignored = site.input(1), site.attribute("ignore_index")
    return ignored is not None and (labels is None or bool((labels == ignored).any()))


def axes_in_disorder(site):
    """Whether axes that are an attribute are listed in another order than that of the result's dimensions."""
    axes, shape = site.attribute("axes"), site.shape(0)
    if axes is None or shape is None:
        return axes is not None
    places = [axis % (len(shape) + len(axes)) for axis in axes]
    return places != sorted(places) or min(axes) < 0


REDUCTIONS = tuple(f"Reduce{kind}" for kind in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum",
                                                "SumSquare"))

# Where the standard leaves a result open, nobody is wrong.
UNDEFINED = [
    Known(("Cast", "CastLike"), "a float that the integer type does not have", out_of_range),
    Known(("Conv",), "weights that are not finite, times padding", lambda site: site.has(not_finite, 1)),
    Known(("DFT", "STFT"), "what is not finite, times roots of unity in any order",
          lambda site: site.has(not_finite, 0, 1, 2)),
    Known(("DeformConv",), "what is not finite, times weights of 0, and offsets that are not",
          lambda site: site.has(not_finite, 0, 1, 2, 4)),
    Known(("GridSample",), "elements at positions that are not finite", lambda site: site.has(not_finite, 1)),
    Known(("NonMaxSuppression",), "boxes and scores that are not finite", lambda site: site.has(not_finite, 0, 1)),
    Known(("Det",), "what is not finite, eliminated in any order", lambda site: site.has(not_finite, 0)),
    Known(("DynamicQuantizeLinear", "QuantizeLinear"), "what is not finite, in steps of a range",
          lambda site: site.has(not_finite, 0)),
    Known(("DynamicQuantizeLinear",), "zeros alone, whose range has no steps", lambda site: not np.any(site.input(0))),
    Known(("ReduceL1",), "the magnitude of the lowest integer, which the type does not have", has_lowest_integer),
    Known(("ReduceL2",), "a norm that the integer type does not have", norm_that_overflows),
    Known(("Resize", "Upsample"), "what is not finite, times weights of 0: whether those count is not said", numbers_between),
    Known(("RoiAlign",), "what is not finite, times weights of 0, and regions that are not",
          lambda site: site.has(not_finite, 0, 1)),
    Known(("SoftmaxCrossEntropyLoss", "LogSoftmax", "Softmax"), "scores whose largest is not finite",
          undefined_scores),
]

def moved_by_the_converter(site):
    """Whether the second operand of opset 6 stands between the first axis and the last ones of the first."""
    axis, shapes = site.attribute("axis", 0), (site.shape(0), site.shape(1))
    return site.opset < 7 and axis > 0 and (None in shapes or axis < len(shapes[0]) - len(shapes[1]))


def slopes_of_channels(site):
    """Whether slopes of opset 6 are those of channels, and other dimensions stand behind them."""
    x, slopes = site.shape(0), site.shape(1)
    return site.opset < 7 and (None in (x, slopes) or (len(x) > 2 and np.prod(slopes) > 1))


# Both run a model of opset 6 as ONNX's converter says it in opset 7.
CONVERTER_TRAPS = [
    Known(("PRelu",), "ONNX's converter from opset 6 leaves slopes of channels at the last axis", slopes_of_channels),
    Known(("Add", "Div", "Mul", "Sub"), "ONNX's converter from opset 6 takes any axis before the last ones for 0",
          moved_by_the_converter),
]

ONNX_RUNTIME_TRAPS = [
    *CONVERTER_TRAPS,
    Known(("Attention",), "hides nothing from an only query that has a past", only_query),
    Known(("Attention",), "multiplies doubles by the root of a scale that float32 rounded", rounded_scale),
    Known(("BatchNormalization",), "writes the running statistics over those that it is given, which others read",
          shares_statistics),
    Known(("BlackmanWindow", "HammingWindow", "HannWindow"), "computes doubles with constants that float32 rounded",
          window_of_doubles),
    Known(("Col2Im",), "puts dilated blocks elsewhere, but those of two dimensions, or of one in an only channel",
          dilated_blocks),
    Known(("DFT",), "divides doubles by their number with a reciprocal that float32 rounded",
          lambda site: site.attribute("inverse", 0) == 1 and not site.is_type("float", "float16")),
    Known(("DFT",), "mirrors all that it is given, where half of a spectrum of another length is", half_of_another_length),
    Known(("Gelu",), "its approximation by tanh computes in float",
          lambda site: site.attribute("approximate") == b"tanh" and site.is_type("double")),
    Known(("GroupNormalization",), "computes doubles in float, as stash_type says", lambda site: site.is_type("double")),
    Known(("HardSwish",), "computes doubles with a sixth that float32 rounded", lambda site: site.is_type("double")),
    Known(("InstanceNormalization",), "subtracts the mean after it has multiplied by the scale", larger_than_its_deviation),
    Known(("MatMul",), "gives what lies in memory for a product of nothing",
          lambda site: (site.shape(0) or (1,))[-1] == 0),
    Known(("AveragePool", "LpPool", "MaxPool"), "pads for SAME as if there were no dilations", same_with_dilations),
    Known(("MaxPool",), "pads for SAME by less than nothing, where strides are wider than windows",
          moved_by_wide_strides),
    Known(REDUCTIONS, "gives the input's shape, or 0 for a mean, where there is nothing",
          lambda site: 0 in (site.shape(0) or ())),
    Known(("Resize",), "takes all of an axis whose scale is 1, whatever the region is", region_without_scale),
    Known(("Shrink",), "computes doubles in float", lambda site: site.is_type("double")),
    Known(("Shrink",), "computes integers in float, which holds no large ones",
          lambda site: is_integer(site.input(0)) and beyond(site.input(0), magnitudes(site.input(0)), 2.0**24)),
    Known(("Slice",), "takes an end of 2^31 - 1 or 2^63 - 1 for the beginning, where the step is negative",
          reversed_to_the_end),
]

ONNX_RUNTIME = [
    Known(("Attention",), "gives NaN for a query that attends nothing, as the standard did before its errata", attends_nothing),
    Known(("BatchNormalization",), "multiplies what is not finite in another order",
          lambda site: site.has(not_finite, 1, 2, 3, 4)),
    Known(("Clip",), "bounds by the largest number what nothing bounds in the standard's function", beyond_a_missing_limit),
    Known(("Gemm",), "leaves C out where beta is 0, NaN and all",
          lambda site: site.attribute("beta", 1.0) == 0 and site.has(not_finite, 2)),
    Known(("Gemm",), "gives C without its factor for a product of nothing",
          lambda site: site.input(0).size == 0 and site.attribute("beta", 1.0) != 1 and site.is_given(2)),
    Known(("InstanceNormalization",), "multiplies what is not finite in another order",
          lambda site: site.has(not_finite, 1, 2)),
    Known(("LayerNormalization",), "has no mean of infinities", lambda site: site.has(np.isinf, 0)),
    Known(("MaxRoiPool",), "begins with the lowest number, which -infinity and NaN do not exceed",
          lambda site: site.has(not_finite, 0)),
    Known(("LRN",), "slides a sum along the channels, which what is not finite never leaves",
          lambda site: site.has(not_finite, 0)),
    Known(("ArgMax", "ArgMin", "GlobalMaxPool", "Hardmax", "MaxPool", "ReduceMax", "ReduceMin"), "passes over NaN",
          lambda site: site.has(np.isnan, 0)),
    Known(("Sign",), "gives 0 for NaN", lambda site: site.has(np.isnan, 0)),
    Known(("Pow",), "computes integers in double, which holds no large ones", large_power),
    Known(("Einsum",), "adds integers in double, which holds no large ones, and gives the largest where a sum overflows",
          contraction_beyond_double),
    Known(("ReduceLogSumExp",), "gives an infinity, NaN or not", lambda site: site.has(np.isnan, 0) and site.has(np.isinf, 0)),
    Known(("ReduceSumSquare",), "adds squares of integers in double, and gives the largest where a sum overflows",
          squares_beyond_double),
    Known(("ReduceProd",), "multiplies integers in double, and gives the largest where a product overflows",
          product_beyond_double),
    Known(("TopK", "Unique"), "has no place for NaN in its order", lambda site: site.has(np.isnan, 0)),
    Known(("ReduceMean", "ReduceSum"), "adds integers in double, which holds no large ones", sum_beyond_double),
    Known(("ReduceSum",), "gives the largest integer where a sum overflows", sum_that_overflows),
]

REFERENCE_EVALUATOR_TRAPS = [
    *CONVERTER_TRAPS,
    Known(("AveragePool",), "pads and counts as if there were no dilations",
          lambda site: max(site.attribute("dilations", [1])) > 1
          and (is_padded_by_name(site) or site.attribute("ceil_mode", 0) == 1)),
    Known(("AveragePool",), "pads half of what ceil_mode adds before the first element", moved_by_rounding_up),
    Known(("BatchNormalization",), "takes statistics of the batch before opset 14", lambda site: site.opset < 14),
    Known(("Hardmax", "LogSoftmax", "Softmax"), "knows nothing of the form before opset 13, along all last axes", several_axes),
    Known(("InstanceNormalization", "LayerNormalization", "LpNormalization"), "computes 16 bits in 16 bits",
          lambda site: site.is_type("float16", "bfloat16")),
    Known(("MaxPool",), "begins with -infinity, which integers lack", lambda site: site.is_type("int8", "uint8")),
    Known(("MaxPool",), "knows no other storage order", lambda site: site.attribute("storage_order", 0) == 1),
    Known(("NegativeLogLikelihoodLoss",), "counts labels that are ignored in a mean without weights",
          lambda site: site.attribute("ignore_index", 0) < 0 and not site.is_given(2)
          and site.attribute("reduction", b"mean") == b"mean"),
    Known(("Pad",), "cuts what there is, and pads then, where more is cut than there is", cuts_more_than_there_is),
    Known(("QLinearConv",), "multiplies scales of channels as those of images of two dimensions", scales_of_channels),
    Known(("Resize",), "places an only element at -0.5, where the standard does at 0", resized_to_one),
    Known(("RoiAlign",), "shifts regions by half an element before opset 16", lambda site: site.opset < 16),
    Known(("Shape",), "takes an end before the first dimension as Python does", ends_before_the_first),
    Known(("Unsqueeze",), "inserts the axes of an attribute one after the other, as they are listed", axes_in_disorder),
    Known(("Unique",), "sorts what is to stand in the order of its occurrence, or takes it along the first axis",
          in_order_of_occurrence),
]

REFERENCE_EVALUATOR = [
    Known(("Attention",), "takes a query whose weights are NaN for one that attends nothing",
          lambda site: site.has(not_finite, 0, 1, 2, 4, 5)),
    Known(("AveragePool",), "takes NaN for padding",
          lambda site: site.has(np.isnan, 0) and site.attribute("count_include_pad", 0) == 0),
    Known(("Conv",), "multiplies what is not finite by zeros of its own", lambda site: site.has(not_finite, 0)),
    Known(("CumProd",), "rounds every product on the way to 16 bits, which do not have all of them", leaves_sixteen_bits),
    Known(("Gemm",), "leaves C out where beta is 0, NaN and all",
          lambda site: site.attribute("beta", 1.0) == 0 and site.has(not_finite, 2)),
    Known(("Gemm",), "multiplies integers by its factors in double, which holds no large ones", large_integer_product),
    Known(("LpNormalization",), "adds up numbers where it should add up their magnitudes",
          lambda site: site.attribute("p", 2) == 1 and site.has(np.signbit, 0)),
    Known(("MaxPool",), "passes over NaN", lambda site: site.has(np.isnan, 0)),
    Known(("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"), "multiplies by 0 what is ignored, though it is not finite",
          lambda site: site.has(not_finite, 0) and ignores_labels(site)),
    Known(("PRelu",), "multiplies 0 by slopes that are not finite",
          lambda site: site.has(not_finite, 1) and site.has(lambda x: x == 0, 0)),
    Known(("Pow",), "computes integers of two types in double, which holds no large ones", large_power),
    Known(("Resize",), "computes integers in double, which holds no large ones",
          lambda site: is_integer(site.input(0)) and beyond(site.input(0), magnitudes(site.input(0)), 2.0**53)),
    Known(("Resize",), "multiplies elements that are not the nearest by 0", lambda site: site.has(not_finite, 0)),
    Known(("ReduceMean",), "adds integers in their own type, and divides in double",
          lambda site: sum_that_overflows(site) or sum_beyond_double(site)),
]

# Between Onward's own: differences that are known and accepted.
FAST_PATH = [
    Known(("Conv",), "weights that are not finite, times padding", lambda site: site.has(not_finite, 1)),
    Known(("DFT", "STFT"), "what is not finite, times roots of unity in another order",
          lambda site: site.has(not_finite, 0, 1, 2)),
]

TABLES = {"ONNX Runtime": ONNX_RUNTIME, "the reference evaluator": REFERENCE_EVALUATOR}
TRAPS = {"ONNX Runtime": ONNX_RUNTIME_TRAPS, "the reference evaluator": REFERENCE_EVALUATOR_TRAPS}


def sites(model, fed, types):
    """Every node of a model, with what is known of its inputs before it runs."""
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer} | fed
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
            arrays[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    uses = collections.Counter(name for node in model.graph.node for name in node.input)
    opset = next(entry.version for entry in model.opset_import if entry.domain == "")
    for node in model.graph.node:
        inputs = [arrays.get(name) for name in node.input]
        kinds = [types.get(name, (None,))[0] or (values.NAMES.get(arrays[name].dtype) if name in arrays else None)
                 for name in node.input]
        shapes = [arrays[name].shape if name in arrays else types.get(name, (None, None))[1] for name in node.input]
        yield Site(node, opset, inputs, kinds, shapes, uses)


def excuse(side, site):
    """The reason why one of the others can't judge a node on these inputs, or None."""
    return find(UNDEFINED + TRAPS[side] + TABLES[side], site)


def trap(side, model, fed, types):
    """The first reason why one of the others can't judge a model, or None."""
    return next((entry for site in sites(model, fed, types) if (entry := find(TRAPS[side], site))), None)
