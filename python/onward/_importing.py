"""What the importers of frameworks share."""

import warnings

import numpy

import onward


def refuse(problems, what):
    """Raises one Error that names all problems, if there are any."""
    if len(problems) == 1:
        raise onward.Error(problems[0])
    if problems:
        raise onward.Error(f"{what} can't be exported:\n  " + "\n  ".join(problems))


def is_float32(value):
    """Whether a float32 can hold the number as it is."""
    return float(numpy.float32(value)) == value


def warn_if_rounded(value, setting, what, double, stacklevel=3):
    """Tells where an ONNX attribute, which is a float32, is not the number that the framework computes with."""
    if double and not is_float32(value):
        warnings.warn(f"{setting}={value} of {what} becomes {float(numpy.float32(value))!r}: ONNX attributes are of "
                      "float32", stacklevel=stacklevel)


def loss_model(dtype, inputs, nodes, initializers="", opset=20, ir_version=9):
    """A loss as a graph of its own, from what it reads to `loss`, in ONNX's text; {dtype} stands for the type."""
    onnx_type = {"float32": "float", "float64": "double"}[dtype]
    text = (f'<ir_version: {ir_version}, opset_import: ["" : {opset}]>\n'
            f"loss ({inputs}) => ({{dtype}} loss) <{initializers}> {{{{ {nodes} }}}}")
    return onward.parse(text.format(dtype=onnx_type))
