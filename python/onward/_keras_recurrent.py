"""Recurrent layers of Keras in ONNX: LSTM, GRU and SimpleRNN, alone or in a Bidirectional.

Time comes first in ONNX, and each direction has a dimension of its own. The variables stay as Keras has them; a few
nodes cut them by gates and put these in ONNX's order.
"""

import keras
import numpy
from onnx import numpy_helper

import onward
from onward._keras_graph import Tensor

L = keras.layers

# The operator, and where each gate of ONNX is among Keras's.
KINDS = {L.LSTM: ("LSTM", (0, 3, 1, 2)), L.GRU: ("GRU", (0, 1, 2)), L.SimpleRNN: ("RNN", (0,))}
# ONNX has each of them for every gate and state; Keras one for gates and one for the rest.
ACTIVATIONS = {"sigmoid": "Sigmoid", "tanh": "Tanh", "relu": "Relu"}


def _activation(call, layer, name):
    function = getattr(layer, name)
    word = getattr(function, "__name__", "")
    if function is not getattr(keras.activations, word, None) or word not in ACTIVATIONS:
        call.settings.refuse(name, word or function)
    return ACTIVATIONS[word]


def _activations(call, layer, op):
    last = _activation(call, layer, "activation")
    if op == "RNN":
        return [last]
    return [_activation(call, layer, "recurrent_activation"), *[last] * (2 if op == "LSTM" else 1)]


class _Weights:
    """What the directions of one layer hold, as ONNX's inputs."""

    def __init__(self, g, name, layers, op, order):
        self.g, self.name, self.layers, self.op, self.order = g, name, layers, op, order

    def _in_order(self, value, wanted):
        """Gates along the first dimension, in ONNX's order."""
        gates = len(self.order)
        if self.order == tuple(range(gates)):
            return value
        parts = self.g.nodes_of("Split", [value], [f"{wanted}_{i}" for i in range(gates)], axis=0, num_outputs=gates)
        return self.g.node("Concat", [parts[i] for i in self.order], f"{wanted}_gates", axis=0)

    def _of_all(self, parts, wanted):
        axis = self.g.constant([0], "first_axis", "int64")
        rows = [self.g.node("Unsqueeze", [part, axis], f"{wanted}_row") for part in parts]
        return rows[0] if len(rows) == 1 else self.g.node("Concat", rows, wanted, axis=0)

    def matrix(self, attribute):
        wanted = f"{self.name}_{attribute}"
        parts = [self._in_order(self.g.node("Transpose", [self.g.parameter(getattr(layer.cell, attribute))], wanted,
                                            perm=[1, 0]), wanted) for layer in self.layers]
        return self._of_all(parts, wanted)

    def bias(self):
        """That of the input, then that of the state; Keras has both only where the reset gate comes after the product."""
        if not self.layers[0].use_bias:
            return ""
        g, wanted, parts = self.g, f"{self.name}_bias", []
        for layer in self.layers:
            bias = g.parameter(layer.cell.bias)
            if len(layer.cell.bias.shape) == 2:
                parts.append(g.node("Reshape", [bias, g.constant([-1], "one_row", "int64")], wanted))
                continue
            zeros = numpy_helper.from_array(numpy.zeros(layer.cell.bias.shape, g.dtype))
            none = g.node("Constant", [], f"{self.name}_no_bias", value=zeros)
            parts.append(g.node("Concat", [self._in_order(bias, wanted), none], wanted, axis=0))
        return self._of_all(parts, wanted)


def _first_states(g, call, states):
    """What comes with a call beside the sequence, for each direction: h, or h and c."""
    if not states:
        return []
    axis = g.constant([0], "first_axis", "int64")
    kinds = 2 if KINDS[type(call.recurrent)][0] == "LSTM" else 1
    all_of = []
    for kind in range(kinds):
        rows = [g.node("Unsqueeze", [g.plain(each), axis], f"{call.name}_first") for each in states[kind::kinds]]
        all_of.append(rows[0] if len(rows) == 1 else g.node("Concat", rows, f"{call.name}_first_states", axis=0))
    return ["", *all_of]


def _sequences(g, name, y, ways, backwards):
    """ONNX's [time, way, batch, unit] as Keras's [batch, time, units of both ways]."""
    if ways == 1:
        y = g.node("Squeeze", [y, g.constant([1], "second_axis", "int64")], f"{name}_apart")
    else:
        y = g.node("Transpose", [y], f"{name}_near", perm=[0, 2, 1, 3])
        y = g.node("Reshape", [y, g.constant([0, 0, -1], "beside", "int64")], f"{name}_beside")
    if backwards:  # Keras leaves them in the order in which they came
        ends = [g.constant([each], wanted, "int64") for each, wanted in
                ((-1, "last"), (-2**63 + 1, "before_first"), (0, "time_axis"), (-1, "back"))]
        y = g.node("Slice", [y, *ends], f"{name}_turned")
    return g.node("Transpose", [y], name, perm=[1, 0, 2])


def _write(g, call, layers, backwards):
    layer = call.recurrent = layers[0]
    op, order = KINDS[type(layer)]
    ways, name, x = len(layers), call.name, g.plain(call.inputs[0])
    weights = _Weights(g, name, layers, op, order)
    activations = [each for one in layers for each in _activations(call, one, op)]
    usual = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}[op] * ways
    direction = "bidirectional" if ways == 2 else "reverse" if backwards else None
    inputs = [g.node("Transpose", [x], f"{name}_time_first", perm=[1, 0, 2]), weights.matrix("kernel"),
              weights.matrix("recurrent_kernel"), weights.bias(), *_first_states(g, call, call.inputs[1:])]
    while not inputs[-1]:
        inputs.pop()
    names = [f"{name}_all", f"{name}_h", *[f"{name}_c"] * (op == "LSTM")]
    results = g.nodes_of(op, inputs, names, hidden_size=layer.units, direction=direction or "forward",
                         activations=activations if activations != usual else None,
                         **({"linear_before_reset": int(layer.reset_after)} if op == "GRU" else {}))
    axis = g.constant([0], "first_axis", "int64")

    def states(which):
        """Those of one kind, for each direction."""
        if ways == 1:
            return [g.node("Squeeze", [results[which], axis], f"{name}_last")]
        rows = g.nodes_of("Split", [results[which]], [f"{name}_last_{way}" for way in ("forward", "backward")], axis=0,
                          num_outputs=2)
        return [g.node("Squeeze", [row, axis], f"{row}_alone") for row in rows]

    last = states(1) if layer.return_state or not layer.return_sequences else []
    sizes = (call.x_shape[0], *([call.x_shape[1]] if layer.return_sequences else []), layer.units * ways)
    if layer.return_sequences:
        y = _sequences(g, name, results[0], ways, backwards and ways == 1)
    elif ways == 1:
        y = last[0]
    else:
        y = g.node("Concat", last, name, axis=1)
    tensors = [Tensor(sizes, g.dtype, plain=y)]
    if layer.return_state:
        cells = states(2) if op == "LSTM" else []
        for way in range(ways):
            for each in (last, cells) if cells else (last,):
                tensors.append(Tensor((call.x_shape[0], layer.units), g.dtype, plain=each[way]))
    return tensors


def _told(call, layer):
    """Settings of a layer that its attributes tell, or that change nothing."""
    s = call.settings
    s.told("units", "use_bias", "activation", "recurrent_activation", "unit_forget_bias", "reset_after", "implementation",
           "return_sequences", "return_state", "go_backwards", "unroll", "zero_output_for_mask", "use_cudnn")
    for name in ("dropout", "recurrent_dropout"):
        if getattr(layer, name):
            s.refuse(name, getattr(layer, name))
        s.told(name)
    if layer.stateful:
        s.refuse("stateful", True)


def recurrent(g, call):
    call.x_shape = call.inputs[0].shape
    _told(call, call.layer)
    return _write(g, call, [call.layer], call.layer.go_backwards)


def bidirectional(g, call):
    layer, call.x_shape = call.layer, call.inputs[0].shape
    ways = [layer.forward_layer, layer.backward_layer]
    if type(ways[0]) not in KINDS or type(ways[1]) is not type(ways[0]):
        raise onward.Error(f"{call.settings.what} of {type(ways[0]).__name__} can't be exported")
    if call.settings["merge_mode"] != "concat":
        call.settings.refuse("merge_mode", layer.merge_mode)
    alike = ("units", "use_bias", "return_sequences", "return_state", *(["reset_after"] if type(ways[0]) is L.GRU else []))
    if any(getattr(ways[0], name) != getattr(ways[1], name) for name in alike) or ways[0].go_backwards or \
            not ways[1].go_backwards:
        raise onward.Error(f"{call.settings.what} with layers that differ can't be exported")
    for each in ways:
        _told(call, each)
        for name in ("kernel", "recurrent", "bias", "activity"):
            for kind in ("regularizer", "constraint"):
                if getattr(each.cell if name != "activity" else each, f"{name}_{kind}", None) is not None:
                    call.settings.refuse(f"{name}_{kind}", True)
    call.settings.told("layer", "backward_layer")
    return _write(g, call, ways, False)


RECURRENT = {**dict.fromkeys(KINDS, recurrent), L.Bidirectional: bidirectional}
