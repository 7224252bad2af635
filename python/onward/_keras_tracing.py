"""Opens layers and models that are classes of their own: their `call` is run on symbolic tensors, which shows the layers and
operations of Keras that it is made of.

Meanwhile the layer's variables are symbolic too, and its layers take arrays for symbolic tensors, so that nothing is
computed. Sizes that are open are numbers there, since Python code computes with them. A model is therefore traced twice,
with other numbers (and once in training, once not): what is the same both times is the model's own, and what is not is
found to be a size, or is refused (`unified`).
"""

import contextlib
import inspect

import keras
import numpy
from keras import tree
from keras.src.backend.common.symbolic_scope import in_symbolic_scope

import onward

# What any layer or model has: no part of what it computes.
_KERAS = set(vars(keras.layers.Layer())) | set(vars(keras.Sequential()))

# Values for open sizes, the batch first; the smaller ones for models that have a limit.
ATTEMPTS = (((97, 101, 103, 107, 109), (71, 73, 79, 83, 89)), ((29, 31, 37, 41, 43), (23, 53, 59, 61, 67)),
            ((13, 11, 7, 17, 19), (29, 5, 3, 31, 37)), ((13, 3, 5, 7, 17), (11, 2, 4, 6, 8)))


def is_own(layer):
    """A layer of a class that is not Keras's, whose `call` is to be looked at."""
    return isinstance(layer, keras.layers.Layer) and not type(layer).__module__.startswith("keras.")


def is_array(value):
    return isinstance(value, numpy.ndarray) or (keras.ops.is_tensor(value) and not isinstance(value, keras.KerasTensor))


class Trace:
    """One run of a `call`: the symbolic tensors that stand for arguments, variables and arrays."""

    def __init__(self, layer, arguments, keywords):
        self.inputs: list = []
        self.outputs: list = []
        self.variables: dict = {}
        self.arrays: dict = {}

        def placed(value):
            if isinstance(value, keras.KerasTensor):
                self.inputs.append((value, _symbol(value)))
                return self.inputs[-1][1]
            return self.array(value) if is_array(value) else value

        arguments, keywords = tree.map_structure(placed, (list(arguments), dict(keywords)))
        try:
            with self._symbolic(layer):
                results = layer.call(*arguments, **keywords)
        except onward.Error:
            raise
        except Exception as error:  # whatever the code does that can't be done with symbolic tensors
            raise onward.Error(f"{type(layer).__name__} '{layer.name}' can't be exported: its call does what only tensors "
                               f"with values can: {error}") from error
        self.outputs = tree.flatten(results)
        for each in self.outputs:
            if not isinstance(each, keras.KerasTensor):
                raise onward.Error(f"{type(layer).__name__} '{layer.name}' gives {each!r}, which can't be exported")

    def variable(self, variable):
        if id(variable) not in self.variables:
            self.variables[id(variable)] = (variable, _symbol(variable))
        return self.variables[id(variable)][1]

    def array(self, array):
        symbol = _symbol(array)
        self.arrays[id(symbol)] = (keras.ops.convert_to_numpy(array), symbol)
        return symbol

    def nodes(self):
        """What makes the outputs, in order."""
        order, seen = [], set()
        open_ = [(each, False) for each in reversed(self.outputs)]
        while open_:
            tensor, is_ready = open_.pop()
            node = tensor._keras_history.operation._inbound_nodes[tensor._keras_history.node_index]
            if id(node) in seen or node.is_input:
                continue
            if is_ready:
                seen.add(id(node))
                order.append(node)
            else:
                open_ += [(tensor, True), *((each, False) for each in reversed(node.arguments.keras_tensors))]
        return order

    @contextlib.contextmanager
    def _symbolic(self, layer):
        saved = _attributes(layer)
        layer.__dict__.update({name: self._part(value) for name, value in saved.items()})
        arange = keras.ops.arange

        def symbolic_arange(*limits, dtype=None, **keywords):
            """Positions, which are made of nothing but sizes; Keras itself runs the `call` of layers inside on tensors."""
            if in_symbolic_scope():
                return arange(*limits, dtype=dtype, **keywords)
            return self.array(numpy.arange(*limits, dtype=dtype or "int64", **keywords))

        keras.ops.arange = symbolic_arange
        try:
            yield
        finally:
            keras.ops.arange = arange
            layer.__dict__.update(saved)

    def _part(self, value):
        if isinstance(value, keras.Variable):
            return self.variable(value)
        if isinstance(value, keras.layers.Layer):
            return _Part(value, self)
        if isinstance(value, dict):
            return {key: self._part(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._part(each) for each in value]
        return tuple(self._part(each) for each in value) if type(value) is tuple else value


class _Part:
    """A layer inside of one that is traced."""

    def __init__(self, layer, trace):
        self._layer, self._trace = layer, trace

    def __call__(self, *arguments, **keywords):
        arguments = tree.map_structure(lambda each: self._trace.array(each) if is_array(each) else each, arguments)
        return self._layer(*arguments, **keywords)

    def __getattr__(self, name):
        return self._trace._part(getattr(self._layer, name))


def _symbol(like):
    return keras.Input(batch_shape=tuple(like.shape), dtype=keras.backend.standardize_dtype(like.dtype))


def _attributes(layer):
    """What its own code gave a layer, without what Keras and TensorFlow did."""
    return {name: value for name, value in vars(layer).items() if name not in _KERAS and not name.startswith("_self_")}


def takes_training(layer):
    return "training" in inspect.signature(layer.call).parameters


def names_of(layer, path=""):
    """Layers and variables inside of a layer by the attributes that lead to them: {id: "blocks/0/attn"}."""
    names = {}
    parts = {}
    if isinstance(layer, keras.Sequential):
        parts = dict(enumerate(layer.layers))
    elif is_own(layer):
        parts = _attributes(layer)
    elif isinstance(layer, keras.layers.Layer):
        parts = {each.name: each for each in layer.weights}
    elif isinstance(layer, (list, tuple)):
        parts = dict(enumerate(layer))
    elif isinstance(layer, dict):
        parts = layer
    if path and isinstance(layer, (keras.layers.Layer, keras.Variable)):
        names[id(layer)] = path
    for name, part in parts.items():
        for each, own in names_of(part, f"{path}/{name}" if path else str(name)).items():
            names.setdefault(each, own)
    return names
