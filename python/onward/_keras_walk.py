"""Walks through a Keras model, Sequential or Functional, and writes its layers into a graph."""

import contextlib
import re

import keras
import numpy
from keras import tree
from keras.src.models.functional import Functional

import onward
from onward._importing import refuse
from onward._keras_graph import TYPES, Graph, Tensor
from onward._keras_layers import LAYERS, Call
from onward._keras_operations import OPERATIONS, write_operation
from onward._keras_recurrent import RECURRENT
from onward._keras_settings import Settings
from onward._keras_tracing import ATTEMPTS, Trace, is_array, is_own, names_of, takes_training
from onward._keras_unify import Sizes, unify


def is_model(layer):
    """What keras.Model(inputs, outputs) gives is Functional."""
    return type(layer) in (keras.Sequential, Functional)


def functional(model):
    """The graph of a model: Sequential keeps one inside."""
    if isinstance(model, keras.Sequential):
        if not model.built or model._functional is None:
            raise onward.Error(f"the model '{model.name}' is not built: begin it with keras.Input(shape), or call it once")
        return model._functional
    return model


def layers_of(model):
    """All layers, those of inner models and of layers' own layers too."""
    if is_own(model):
        yield from (each for each in model._flatten_layers(include_self=True) if not is_model(each))
        return
    for layer in functional(model).layers:
        if is_model(layer) or is_own(layer):
            yield from layers_of(layer)
        else:
            yield layer


def float_type(model):
    """The one float type that all layers compute in."""
    types: dict[str, object] = {}
    for layer in layers_of(model):
        policy = layer.dtype_policy
        if policy.compute_dtype != policy.variable_dtype or getattr(policy, "quantization_mode", None):
            raise onward.Error(f"{_what(layer)} computes by the policy {policy.name}, which can't be exported")
        if not isinstance(layer, keras.layers.InputLayer):
            types.setdefault(policy.compute_dtype, layer)
    if len(types) > 1 or not set(types) <= {"float32", "float64"}:
        found = ", ".join(f"{dtype} ({_what(layer)})" for dtype, layer in types.items())
        raise onward.Error(f"all layers must compute in float32, or all in float64: there are {found}")
    return next(iter(types), keras.config.floatx())


def _what(layer):
    return f"{type(layer).__name__} '{layer.name}'"


class Walk:
    """One pass over a model; problems are gathered, so that all of them are named at once."""

    def __init__(self, model, norms_are_frozen=False):
        self.graph = Graph(model.name, float_type(model))
        norms = [layer for layer in layers_of(model) if type(layer) is keras.layers.BatchNormalization]
        self.norms = [layer for layer in norms if layer.trainable and not norms_are_frozen]
        self.graph.all_norms_frozen = not self.norms
        self.frozen = 0  # normalizations that are called so
        self.problems = []
        self.uses: dict[int, int] = {}
        self.training = None  # in a model that is traced, which it is
        self.names = {}

    def write(self, model):
        """The model's results."""
        model = functional(model)
        inputs = []
        for each in model.inputs:
            name = each._keras_history.operation.name
            inputs.append(self.graph.input(name, each.shape, keras.backend.standardize_dtype(each.dtype)))
        self.graph.take_step_names()
        results = self._run(zip(model.inputs, inputs, strict=True), _nodes_of(model), model.outputs)
        refuse(self.problems, "the model")
        return results

    def write_traced(self, model, arguments, sizes, training):
        """The same, of a model that is traced, with numbers in the place of sizes that are open."""
        self.training = training
        self.names = names_of(model)
        self.graph.variable_names = self.names
        given = []
        for each in tree.flatten(arguments):
            tensor = self.graph.input(each._keras_history.operation.name, each.shape,
                                      keras.backend.standardize_dtype(each.dtype))
            given.append((each, tensor))
        self.graph.take_step_names()
        open_sizes = [(tensor.plain, axis) for each, tensor in given for axis, size in enumerate(each.shape) if size is None]
        values = _values(open_sizes, sizes)
        for _, tensor in given:
            tensor.shape = tuple(values.get((tensor.plain, axis), size) for axis, size in enumerate(tensor.shape))
        symbols = {id(each): keras.Input(batch_shape=tensor.shape, dtype=each.dtype) for each, tensor in given}
        arguments = tree.map_structure(lambda each: symbols[id(each)], arguments)
        tensors = {id(symbols[id(each)]): tensor for each, tensor in given}
        results = self._open(model, arguments, {}, tensors)
        refuse(self.problems, "the model")
        return results, values

    def _run(self, inputs, nodes, outputs):
        tensors = {id(each): tensor for each, tensor in inputs}
        for node in nodes:
            try:
                results = self._call(node, tensors)
            except onward.Error as error:
                self.problems.append(str(error))
                results = [Tensor(each.shape, self.graph.dtype, plain="unknown") for each in node.outputs]
            tensors |= {id(each): tensor for each, tensor in zip(node.outputs, results, strict=True)}
            for each in results if self.training is not None else ():
                self._tell_shape(each)
        return [tensors[id(each)] for each in outputs]

    def _tell_shape(self, tensor):
        if tensor.dtype in TYPES:
            order = [0, tensor.rank - 1, *range(1, tensor.rank - 1)]
            if tensor.plain:
                self.graph.shapes[tensor.plain] = (TYPES[tensor.dtype], tensor.shape)
            if tensor.first:
                self.graph.shapes[tensor.first] = (TYPES[tensor.dtype], tuple(tensor.shape[axis] for axis in order))

    def _open(self, layer, arguments, keywords, tensors):
        """What a layer's own `call` makes of its arguments."""
        keywords = {name: value for name, value in keywords.items() if value is not None}
        if not takes_training(layer):
            keywords.pop("training", None)  # Keras hands it on
        elif "training" not in keywords:
            keywords["training"] = self.training
        trace = Trace(layer, arguments, keywords)
        inputs = [(symbol, tensors[id(given)]) for given, symbol in trace.inputs]
        for variable, symbol in trace.variables.values():
            dtype = keras.backend.standardize_dtype(variable.dtype)
            inputs.append((symbol, Tensor(variable.shape, dtype, plain=self.graph.parameter(variable))))
        path = self.names.get(id(layer), "")
        inputs += [(symbol, self.graph.array(array, f"{path}/constant")) for array, symbol in trace.arrays.values()]
        with self._called_by(layer):
            return self._run(inputs, trace.nodes(), trace.outputs)

    @contextlib.contextmanager
    def _called_by(self, layer):
        """Nodes that are written meanwhile are the layer's."""
        if self.training is not None:
            kind = type(layer)
            name = kind.__name__ if is_own(layer) else f"keras.layers.{kind.__name__}"
            self.graph.callers.append((self.names.get(id(layer), "").replace("/", "."), name))
        try:
            yield
        finally:
            if self.training is not None:
                self.graph.callers.pop()

    def _call(self, node, tensors):
        layer = node.operation
        if type(layer) in OPERATIONS:
            return self._operation(node, tensors)
        if self.training is not None and (is_own(layer) or is_model(layer)) and type(layer) not in LAYERS:
            return self._open(layer, node.arguments.args, node.arguments.kwargs, tensors)
        if type(layer) not in LAYERS and not is_model(layer):
            raise onward.Error(f"{_what(layer)} can't be exported")
        if getattr(layer, "activity_regularizer", None) is not None:
            raise onward.Error(f"{_what(layer)} has an activity_regularizer, which can't be exported: build it without")
        if getattr(layer, "lora_enabled", False):
            raise onward.Error(f"{_what(layer)} has enable_lora, which can't be exported: give the sum, layer.kernel, to "
                               "a layer without it")
        self._refuse_arguments(node)
        inputs = [tensors[id(each)] for each in node.arguments.keras_tensors]
        if is_model(layer):
            inner = functional(layer)
            return self._run(zip(inner.inputs, inputs, strict=True), _nodes_of(inner), inner.outputs)
        self.uses[id(layer)] = self.uses.get(id(layer), 0) + 1
        if type(layer) is keras.layers.BatchNormalization and self.uses[id(layer)] > 1:
            raise onward.Error(f"{_what(layer)} is used {self.uses[id(layer)]} times, which can't be exported")
        settings = Settings(_what(layer), layer.get_config())
        if len(node.outputs) != 1 and type(layer) not in RECURRENT:
            raise onward.Error(f"{_what(layer)} gives {len(node.outputs)} results")
        call = Call(layer, settings, self._floats(layer, inputs), node.outputs[0].shape, self.names.get(id(layer), layer.name))
        # In a Functional model that is a default, which the model's own `training` overrides.
        if self.training is not None and node.arguments.kwargs.get("training") is False:
            if type(layer) is keras.layers.Dropout:
                return inputs
            self.frozen += type(layer) is keras.layers.BatchNormalization and not call.is_frozen
            call.is_frozen = True
        with self._called_by(layer):
            result = LAYERS[type(layer)](self.graph, call)
        settings.finish()
        return result if isinstance(result, list) else [result]

    def _operation(self, node, tensors):
        def given(each):
            if isinstance(each, keras.KerasTensor):
                return tensors[id(each)]
            return self.graph.array(keras.ops.convert_to_numpy(each), "constant") if is_array(each) else each

        arguments, keywords = tree.map_structure(given, (list(node.arguments.args), dict(node.arguments.kwargs)))
        # While a model is traced, Keras counts on.
        name = node.operation.name if self.training is None else re.sub(r"_\d+$", "", node.operation.name)
        return write_operation(self.graph, node.operation, name, arguments, keywords, node.outputs)

    def _refuse_arguments(self, node):
        """A call may be told more than its inputs: to train or not, what to mask."""
        arguments = node.arguments
        known = {id(each) for each in arguments.keras_tensors}
        for name, value in arguments.kwargs.items():
            if name == "training" and (not value or value is self.training):
                continue
            # A model with several inputs is called with a mask for each, none of which need be there.
            if any(each is not None and id(each) not in known for each in tree.flatten(value)):
                raise onward.Error(f"{_what(node.operation)} is called with {name}={value!r}, which can't be exported")
        for value in tree.flatten(arguments.args):
            if value is not None and id(value) not in known:
                raise onward.Error(f"{_what(node.operation)} is called with {value!r}, which can't be exported")

    def _cast(self, x):
        return self.graph.node("Cast", [x], f"{x}_cast", to=11 if self.graph.dtype == "float64" else 1)

    def _floats(self, layer, inputs):
        """Layers bring floats to their own type; integers they keep."""
        made = []
        for each in inputs:
            if each.dtype != self.graph.dtype and each.dtype.startswith("float"):
                each = self.graph.map([each], self._cast)
                each.dtype = self.graph.dtype
            elif each.dtype != self.graph.dtype and type(layer) not in TAKE_INTEGERS:
                raise onward.Error(f"{_what(layer)} reads {each.dtype}, which can't be exported")
            made.append(each)
        return made


def _nodes_of(model):
    """The calls of a Functional model, in order."""
    depths = sorted(model._nodes_by_depth, reverse=True)
    return [node for depth in depths for node in model._nodes_by_depth[depth] if not node.is_input]


def _values(open_sizes, numbers):
    """Numbers for open sizes; all batches are of one size."""
    rest = iter(numbers[1:])
    try:
        return {(name, axis): numbers[0] if axis == 0 else next(rest) for name, axis in open_sizes}
    except StopIteration:
        raise onward.Error(f"the model leaves {len(open_sizes)} sizes open: declare some") from None


def walked(model):
    """The graph of a model, and its results."""
    if is_model(model) and not any(is_own(layer) for layer in layers_of(model)):
        walk = Walk(model)
        return walk, walk.write(model)
    arguments = list(functional(model).inputs) if is_model(model) else _called_with(model)
    if is_model(model):
        arguments = [arguments if len(arguments) > 1 else arguments[0]]
    walk, results = _traced(model, arguments)
    # Where all normalizations are called so that they keep their statistics, they are what they are in inference.
    if walk.frozen and walk.frozen == len(walk.norms):
        return _traced(model, arguments, norms_are_frozen=True)
    if walk.frozen:
        raise onward.Error(f"{walk.frozen} of {len(walk.norms)} layers BatchNormalization are called with training=False, which "
                           "can't be exported: call all of them so, or give these trainable=False")
    return walk, results


def _traced(model, arguments, norms_are_frozen=False):
    for number, (first, second) in enumerate(ATTEMPTS, 1):
        walk, other = Walk(model, norms_are_frozen), Walk(model, norms_are_frozen)
        try:
            results, values = walk.write_traced(model, arguments, first, numpy.True_)
            others, other_values = other.write_traced(model, arguments, second, numpy.False_)
        except onward.Error:
            if number == len(ATTEMPTS):
                raise
            continue
        sizes = Sizes()
        for (name, axis), value in values.items():
            sizes.add(name, axis, value, other_values[name, axis])
        unify(walk.graph, other.graph, sizes)
        for one, two in zip(results, others, strict=True):
            _open_again(one, two)
        return walk, results
    raise AssertionError


def _open_again(one, two):
    """Sizes that differ between two traces are open."""
    one.shape = tuple(a if a == b else None for a, b in zip(one.shape, two.shape, strict=True))
    if one.logits is not None:
        _open_again(one.logits, two.logits)


def _called_with(model):
    """The symbolic tensors that a model of a class of its own was called with."""
    for node in model._inbound_nodes:
        given = [each for each in node.arguments.args if each is not None]
        if given and not node.arguments.kwargs.keys() - {"training", "mask"}:
            return given
    raise onward.Error(f"{_what(model)} does not tell what it reads: call it once with keras.Input(shape, dtype=...), or with a "
                       "list of those")


TAKE_INTEGERS = {keras.layers.Embedding, keras.layers.Rescaling, keras.layers.Flatten, keras.layers.Reshape,
                 keras.layers.Permute, keras.layers.Identity}
