"""Operations of keras.ops and of Python (x + y, 0.5 * x) between the layers of a Functional model."""

import numbers
import operator

from keras.src import ops
from keras.src.ops import nn, numpy

import onward
from onward._activations import ACTIVATIONS
from onward._keras_graph import Tensor
from onward._keras_shapes import written_extreme

_BINARY = {numpy.Add: "Add", numpy.Subtract: "Sub", numpy.Multiply: "Mul", numpy.Divide: "Div",
           numpy.TrueDivide: "Div"}
_EXTREME = {numpy.Maximum: "Max", numpy.Minimum: "Min"}
_UNARY = {operator.attrgetter(row.operation)(ops): row for row in ACTIVATIONS if row.operation}
OPERATIONS = {**_BINARY, **_EXTREME, **_UNARY, numpy.Square: None, nn.Silu: None}


def write_operation(g, operation, arguments, shape, what):
    """What an operation makes of its arguments: Tensors, and numbers, which have the model's type."""
    tensors = [each for each in arguments if isinstance(each, Tensor)]
    for each in arguments:
        if not isinstance(each, (Tensor, numbers.Real)):
            raise onward.Error(f"{what} is called with {each!r}, which can't be exported")
    if any(each.rank != tensors[0].rank or each.dtype != g.dtype for each in tensors):
        raise onward.Error(f"{what} is called with tensors of different ranks, or of integers, which can't be exported")
    kind, name = type(operation), operation.name

    def write(*names):
        given = iter(names)
        inputs = [next(given) if isinstance(each, Tensor) else g.constant(each, f"{name}_number") for each in arguments]
        if kind is numpy.Square:
            return g.node("Mul", inputs * 2, name)
        if kind is nn.Silu:
            return g.node("Mul", [*inputs, g.node("Sigmoid", inputs, f"{name}_gate")], name)
        if kind in _EXTREME:
            first, second = inputs
            return written_extreme(g, _EXTREME[kind], first, second, name)
        if kind in _UNARY:
            # TensorFlow has numbers as attributes of float32 too.
            attributes = {attribute: float(getattr(operation, setting)) for setting, attribute in _UNARY[kind].settings}
            return g.node(_UNARY[kind].op, inputs, name, **attributes)
        return g.node(_BINARY[kind], inputs, name)

    made = g.map(tensors, write, shape)
    if kind is nn.Sigmoid:
        made.logits = tensors[0]
    return made
