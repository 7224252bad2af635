"""Walks through a Keras model, Sequential or Functional, and writes its layers into a graph."""

import keras
from keras import tree
from keras.src.models.functional import Functional

import onward
from onward._importing import refuse
from onward._keras_graph import Graph, Tensor
from onward._keras_layers import LAYERS, Call
from onward._keras_operations import OPERATIONS, write_operation
from onward._keras_settings import Settings


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
    """All layers, those of inner models too."""
    for layer in functional(model).layers:
        if is_model(layer):
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

    def __init__(self, model):
        self.graph = Graph(model.name, float_type(model))
        norms = [layer for layer in layers_of(model) if type(layer) is keras.layers.BatchNormalization]
        self.norms = [layer for layer in norms if layer.trainable]
        self.graph.all_norms_frozen = not self.norms
        self.problems = []

    def write(self, model):
        """The model's results."""
        model = functional(model)
        inputs = []
        for each in model.inputs:
            name = each._keras_history.operation.name
            inputs.append(self.graph.input(name, each.shape, keras.backend.standardize_dtype(each.dtype)))
        self.graph.take_step_names()
        results = self._run(model, inputs)
        refuse(self.problems, "the model")
        return results

    def _run(self, model, inputs):
        tensors = {id(each): tensor for each, tensor in zip(model.inputs, inputs, strict=True)}
        for depth in sorted(model._nodes_by_depth, reverse=True):
            for node in model._nodes_by_depth[depth]:
                if node.is_input:
                    continue
                try:
                    results = self._call(node, tensors)
                except onward.Error as error:
                    self.problems.append(str(error))
                    results = [Tensor(each.shape, self.graph.dtype, plain="unknown") for each in node.outputs]
                tensors |= {id(each): tensor for each, tensor in zip(node.outputs, results, strict=True)}
        return [tensors[id(each)] for each in model.outputs]

    def _call(self, node, tensors):
        layer = node.operation
        if type(layer) in OPERATIONS:
            return [self._operation(node, tensors)]
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
            return self._run(functional(layer), inputs)
        if type(layer) is keras.layers.BatchNormalization and len(layer._inbound_nodes) > 1:
            raise onward.Error(f"{_what(layer)} is used {len(layer._inbound_nodes)} times, which can't be exported")
        settings = Settings(_what(layer), layer.get_config())
        if len(node.outputs) != 1:
            raise onward.Error(f"{_what(layer)} gives {len(node.outputs)} results")
        call = Call(layer, settings, self._floats(layer, inputs), node.outputs[0].shape, layer.name)
        result = LAYERS[type(layer)](self.graph, call)
        settings.finish()
        return [result]

    def _operation(self, node, tensors):
        if node.arguments.kwargs or len(node.outputs) != 1:
            raise onward.Error(f"{_what(node.operation)} is called by names, which can't be exported")
        arguments = [tensors.get(id(each), each) for each in tree.flatten(node.arguments.args)]
        return write_operation(self.graph, node.operation, arguments, node.outputs[0].shape, _what(node.operation))

    def _refuse_arguments(self, node):
        """A call may be told more than its inputs: to train or not, what to mask."""
        arguments = node.arguments
        known = {id(each) for each in arguments.keras_tensors}
        for name, value in arguments.kwargs.items():
            if name == "training" and not value:
                continue  # a default of the layer, which the model's own `training` overrides
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


TAKE_INTEGERS = {keras.layers.Embedding, keras.layers.Rescaling, keras.layers.Flatten, keras.layers.Reshape,
                 keras.layers.Permute, keras.layers.Identity}
