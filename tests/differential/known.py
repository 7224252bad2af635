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
    """A node where it stands: its inputs' arrays (None for one that is left out or not known), the types of
    its inputs, and how often each value of the graph is read."""

    node: object
    opset: int
    inputs: list
    types: list
    uses: collections.Counter

    def attribute(self, name, otherwise=None):
        for attribute in self.node.attribute:
            if attribute.name == name:
                return helper.get_attribute_value(attribute)
        return otherwise

    def input(self, index):
        return self.inputs[index] if index < len(self.inputs) else None

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


def large(array):
    return np.abs(array) > 80


def out_of_range(site):
    """Whether a cast of floats meets a number that the integer type does not have."""
    target = site.attribute("to") or values.ONNX.get((site.types + ["", ""])[1])
    name = values.BY_ONNX.get(target)
    if name not in values.INTEGERS:
        return False
    limits = np.iinfo(values.NUMPY[name])
    return site.has(lambda x: ~(np.isfinite(x) & (np.trunc(x) >= limits.min) & (np.trunc(x) <= limits.max)), 0)


def same_with_dilations(site):
    return (site.attribute("auto_pad", b"") or b"").startswith(b"SAME") and max(site.attribute("dilations", [1])) > 1


def reversed_to_the_end(site):
    ends, steps = site.input(2), site.input(4)
    return ends is None or steps is None or bool(((np.asarray(ends) >= 2**31 - 1) & (np.asarray(steps) < 0)).any())


def shares_statistics(site):
    return site.attribute("training_mode", 0) == 1 and any(site.uses[name] > 1 for name in site.node.input[3:5])


# Where the standard leaves a result open, nobody is wrong.
UNDEFINED = [
    Known(("Cast", "CastLike"), "a float that the integer type does not have", out_of_range),
    Known(("Conv",), "weights that are not finite, times padding", lambda site: site.has(not_finite, 1)),
    Known(("Div",), "an integer divided by 0", lambda site: site.input(1).dtype.kind in "iu" and 0 in site.input(1)),
    Known(("SoftmaxCrossEntropyLoss", "LogSoftmax", "Softmax"), "scores that are not finite",
          lambda site: site.has(not_finite, 0)),
]

ONNX_RUNTIME_TRAPS = [
    Known(("BatchNormalization",), "writes the running statistics over those that it is given, which others read",
          shares_statistics),
    Known(("Gelu",), "its approximation by tanh computes in float",
          lambda site: site.attribute("approximate") == b"tanh" and site.is_type("double")),
    Known(("AveragePool", "MaxPool"), "pads for SAME as if there were no dilations", same_with_dilations),
    Known(("Slice",), "takes an end of at least 2^31 - 1 for the beginning, where the step is negative",
          reversed_to_the_end),
]

ONNX_RUNTIME = [
    Known(("BatchNormalization",), "multiplies what is not finite in another order", lambda site: site.has(not_finite)),
    Known(("Clip",), "a limit that is left out is the largest number, not infinity", lambda site: site.has(np.isinf, 0)),
    Known(("Gemm",), "leaves C out where beta is 0, NaN and all",
          lambda site: site.attribute("beta", 1.0) == 0 and site.has(not_finite, 2)),
    Known(("MatMul",), "gives what lies in memory for a product of nothing", lambda site: site.input(0).size == 0),
    Known(("MaxPool", "ReduceMax"), "passes over NaN", lambda site: site.has(np.isnan, 0)),
    Known(("ReduceMax", "ReduceMean", "ReduceSum"), "gives the input's shape, or 0 for a mean, where there is nothing",
          lambda site: site.input(0).size == 0),
]

REFERENCE_EVALUATOR_TRAPS = [
    Known(("Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Sub"),
          "broadcasts along an axis of opset 6 wrongly",
          lambda site: site.opset < 7 and site.attribute("axis") is not None),
    Known(("AveragePool",), "pads and counts as if there were no dilations",
          lambda site: max(site.attribute("dilations", [1])) > 1
          and (site.attribute("auto_pad", b"NOTSET") != b"NOTSET" or site.attribute("ceil_mode", 0) == 1)),
    Known(("BatchNormalization",), "computes the form of opset 9 wrongly", lambda site: site.opset < 14),
    Known(("LogSoftmax", "Softmax"), "knows nothing of the form before opset 13, along all last axes",
          lambda site: site.opset < 13),
    Known(("LayerNormalization",), "computes 16 bits in 16 bits", lambda site: site.is_type("float16", "bfloat16")),
    Known(("MaxPool",), "begins with -infinity, which integers lack", lambda site: site.is_type("int8", "uint8")),
    Known(("MaxPool",), "knows no other storage order", lambda site: site.attribute("storage_order", 0) == 1),
    Known(("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"), "counts labels that are ignored in a mean",
          lambda site: site.attribute("ignore_index", 0) < 0),
    Known(("Shape",), "takes limits beyond the rank as Python does",
          lambda site: min(site.attribute("start", 0), site.attribute("end", 0)) < 0),
]

REFERENCE_EVALUATOR = [
    Known(("AveragePool",), "takes NaN for padding", lambda site: site.has(np.isnan, 0)),
    Known(("Conv",), "multiplies what is not finite by zeros of its own", lambda site: site.has(not_finite, 0)),
    Known(("BatchNormalization",), "statistics of numbers that are not finite: an infinity for NaN",
          lambda site: site.has(not_finite, 0)),
    Known(("Gemm",), "multiplies integers by its factors as floats", lambda site: site.input(0).dtype.kind in "iu"),
    Known(("LogSoftmax", "SoftmaxCrossEntropyLoss"), "takes the logarithm of an exponential that became 0",
          lambda site: site.has(large, 0)),
    Known(("MaxPool",), "passes over NaN", lambda site: site.has(np.isnan, 0)),
]

# Between Onward's own: differences that are known and accepted.
FAST_PATH = [
    Known(("Conv",), "weights that are not finite, times padding", lambda site: site.has(not_finite, 1)),
    Known(("BatchNormalization",), "statistics of numbers that are not finite: NaN for an infinity",
          lambda site: site.has(not_finite, 0)),
]

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
        yield Site(node, opset, inputs, kinds, uses)


def trap(side, model, fed, types):
    """The first reason why one of the others can't judge a model, or None."""
    return next((entry for site in sites(model, fed, types) if (entry := find(TRAPS[side], site))), None)
