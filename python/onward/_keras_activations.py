"""Keras's activation functions in ONNX's operators, as they are computed on TensorFlow."""

import inspect

import keras
import numpy

import onward
from onward._activations import ACTIVATIONS as ONE_OPERATOR


def _with_defaults(row):
    """A function of keras.activations, by what its settings are where nobody gives them."""
    parameters = inspect.signature(getattr(keras.activations, row.keras)).parameters
    attributes = {attribute: parameters[setting].default for setting, attribute in row.settings}
    return lambda g, x, name: g.node(row.op, [x], name, **attributes)


# Where a function has a kink, what is written has TensorFlow's derivative, whatever rule an operator of ONNX that
# computes the same (Clip, Max, Elu) is differentiated by.

def relu6(g, x, name):
    """Its derivative is 0 at 0 and at 6."""
    six = g.constant(6, "six")
    positive = g.node("Relu", [x], f"{name}_relu")
    top = g.node("Equal", [positive, six], f"{name}_is_six")
    return g.node("Where", [top, six, g.node("Clip", [positive, "", six], f"{name}_clip")], name)


def at_most(g, x, top, name):
    """Its derivative is 1 at the top."""
    return g.node("Where", [g.node("Greater", [x, top], f"{name}_is_above"), top, x], name)


def _hard_sigmoid(g, x, name):
    shifted = g.node("Add", [x, g.constant(3, "three")], f"{name}_shifted")
    return g.node("Div", [relu6(g, shifted, f"{name}_clipped"), g.constant(6, "six")], name)


def _silu(g, x, name):
    return g.node("Mul", [x, g.node("Sigmoid", [x], f"{name}_gate")], name)


def _gelu(g, x, name):
    if g.dtype == "float32":
        return g.node("Gelu", [x], name)
    # TensorFlow has this constant in float32, whatever the type: x/2 (1 + erf(x c)).
    c = g.constant(float(numpy.float32(0.7071067811865476)), "root_of_half")
    curve = g.node("Erf", [g.node("Mul", [x, c], f"{name}_scaled")], f"{name}_erf")
    half = g.node("Mul", [x, g.constant(0.5, "half")], f"{name}_half")
    return g.node("Mul", [half, g.node("Add", [curve, g.constant(1, "one")], f"{name}_gate")], name)


def activate_gelu(g, x, name, approximate):
    if not approximate:
        return _gelu(g, x, name)
    if g.dtype != "float32":
        raise onward.Error(f"gelu '{name}' with approximate=True can't be exported in {g.dtype}")
    return g.node("Gelu", [x], name, approximate="tanh")


def elu(g, x, name, alpha=1.0):
    """x above 0, alpha (exp(x) - 1) below, where no large x overflows; its derivative is alpha at 0."""
    zero = g.constant(0, "zero")
    positive = g.node("Greater", [x, zero], f"{name}_is_positive")
    low = g.node("Exp", [g.node("Where", [positive, zero, x], f"{name}_negative")], f"{name}_exp")
    low = g.node("Sub", [low, g.constant(1, "one")], f"{name}_low")
    if alpha != 1:
        low = g.node("Mul", [low, g.constant(alpha, f"{name}_alpha")], f"{name}_scaled")
    return g.node("Where", [positive, x, low], name)


a = keras.activations
ACTIVATIONS = {
    **{getattr(a, row.keras): _with_defaults(row) for row in ONE_OPERATOR if row.keras},
    a.relu6: relu6, a.hard_sigmoid: _hard_sigmoid, a.silu: _silu, a.gelu: _gelu, a.elu: elu,
}
ALONG_AXIS = {a.softmax: "Softmax", a.log_softmax: "LogSoftmax"}


def softmax(g, tensor, axis, name, op="Softmax"):
    here = g.axis(tensor, axis)
    made = g.map([tensor], lambda x: g.node(op, [x], name, axis=here))
    if op == "Softmax":
        made.logits = tensor
    return made


def activate(g, function, tensor, name, settings):
    """What an activation makes of a tensor."""
    if function is None or function is a.linear:
        return tensor
    if function in ALONG_AXIS:
        return softmax(g, tensor, -1, name, ALONG_AXIS[function])
    if function not in ACTIVATIONS:
        known = ", ".join(sorted(each.__name__ for each in [a.linear, *ACTIVATIONS, *ALONG_AXIS]))
        called = getattr(function, "__name__", repr(function))
        raise onward.Error(f"{settings.what} with activation={called} can't be exported: it may be {known}")
    made = g.map([tensor], lambda x: ACTIVATIONS[function](g, x, name))
    if function is a.sigmoid:
        made.logits = tensor
    return made
