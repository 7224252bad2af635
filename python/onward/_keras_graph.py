"""An ONNX graph while a Keras model is written into it.

Keras has the channels of images last, ONNX first. A Tensor may be there in both orders; a Transpose is added
where it is asked for in the one that is missing, so that convolutions and poolings in a row need none.
"""

from typing import Any

import numpy
import onnx
from onnx import helper, numpy_helper

import onward

OPSET, IR_VERSION = 20, 9  # what Gelu needs, and the oldest format that has it
CALLERS_IR_VERSION = 10  # the oldest format whose nodes can tell who called them
TYPES = {"float32": onnx.TensorProto.FLOAT, "float64": onnx.TensorProto.DOUBLE, "int32": onnx.TensorProto.INT32,
         "int64": onnx.TensorProto.INT64, "uint8": onnx.TensorProto.UINT8, "int8": onnx.TensorProto.INT8,
         "int16": onnx.TensorProto.INT16, "uint16": onnx.TensorProto.UINT16, "bool": onnx.TensorProto.BOOL}

class StepNames:
    """What results, targets and the optimizer's own state are called. Inputs of the model come first: where one has
    such a name, ours gets a number. All other values of the graph give way.
    """

    def __init__(self, fresh):
        self.output, self.logits, self.label, self.loss = (fresh(each) for each in ("output", "logits", "label", "loss"))
        self.learning_rate, self.iterations = fresh("learning_rate"), fresh("iterations")


class Tensor:
    """A value: its shape as Keras has it (None for sizes that are open), and its names in the graph."""

    def __init__(self, shape, dtype, plain=None, first=None):
        self.shape, self.dtype = tuple(shape), dtype
        self.plain, self.first = plain, first  # in Keras's order, and with channels first
        self.logits = None  # what a Softmax or Sigmoid made it from

    @property
    def rank(self):
        return len(self.shape)


class Parameter:
    """A variable of Keras: its name in the graph, and how its values become the graph's."""

    def __init__(self, variable, name, to_onnx):
        self.variable, self.name, self.to_onnx = variable, name, to_onnx

    def array(self, values):
        return numpy.ascontiguousarray(self.to_onnx(numpy.asarray(values))) if self.to_onnx else numpy.array(values)


class Graph:
    def __init__(self, name, dtype):
        self.name, self.dtype = name, dtype
        self.inputs, self.outputs, self.nodes, self.initializers = [], [], [], []
        self.parameters = {}  # by the identity of Keras's variables
        self._constants = {}
        self._names = set()
        self.names: Any = None  # once the inputs have theirs
        self.all_norms_frozen = False
        self.variable_names = {}  # by their identity, where they are not called by their paths
        self.callers = []  # paths and classes of the layers whose nodes follow, where these are told
        self.shapes = {}  # of values that are told, by their names

    def fresh(self, wanted):
        name, number = wanted, 2
        while name in self._names:
            name, number = f"{wanted}_{number}", number + 1
        self._names.add(name)
        return name

    def input(self, name, shape, dtype):
        name = self.fresh(name)
        self.inputs.append(helper.make_tensor_value_info(name, _type(dtype), _sizes(shape, name)))
        return Tensor(shape, dtype, plain=name)

    def take_step_names(self):
        """To be called when all inputs are there, and before any other value."""
        self.names = StepNames(self.fresh)

    def producer(self, name):
        """The node that gives a value; None for inputs and initializers."""
        return next((node for node in self.nodes if name in node.output), None)

    def output(self, tensor, name):
        """Makes a tensor a result of that name, which is one of the step's."""
        old = self.plain(tensor)
        maker = self.producer(old)
        if maker is None or any(old == each.name for each in self.outputs):
            self.nodes.append(helper.make_node("Identity", [old], [name], name=name))
        else:
            for node in self.nodes:
                node.input[:] = [name if each == old else each for each in node.input]
            maker.output[:] = [name]
            tensor.plain = name
        sizes = ["N" if axis == 0 and size is None else size for axis, size in enumerate(tensor.shape)]
        self.outputs.append(helper.make_tensor_value_info(name, _type(tensor.dtype), sizes))
        return name

    def node(self, op, inputs, wanted, **attributes):
        name = self.fresh(wanted)
        attributes = {key: value for key, value in attributes.items() if value is not None}
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        self._tell_callers(self.nodes[-1])
        return name

    def _tell_callers(self, node):
        """Which layers a node was called by, from the model on, for source that is made of it."""
        if self.callers:
            paths, kinds = zip(*self.callers, (node.name, node.op_type), strict=True)
            helper.set_metadata_props(node, {"onward.name_scopes": str(list(paths)),
                                             "onward.class_hierarchy": str(list(kinds))})

    def constant(self, values, wanted, dtype=None):
        """An initializer that is no variable; equal ones of a name are one."""
        array = numpy.asarray(values, dtype or self.dtype)
        key = (wanted, array.dtype, array.shape, array.tobytes())
        if key not in self._constants:
            self._constants[key] = self.fresh(wanted)
            self.initializers.append(numpy_helper.from_array(array, self._constants[key]))
        return self._constants[key]

    def parameter(self, variable, to_onnx=None):
        """A variable of Keras as an initializer; the same one where several layers share it."""
        if id(variable) not in self.parameters:
            name = self.variable_names.get(id(variable), variable.path)
            parameter = Parameter(variable, self.fresh(name), to_onnx)
            self.parameters[id(variable)] = parameter
            self.initializers.append(numpy_helper.from_array(parameter.array(variable.numpy()), parameter.name))
        return self.parameters[id(variable)].name

    def nodes_of(self, op, inputs, wanted, **attributes):
        """The names of several results."""
        names = [self.fresh(each) for each in wanted]
        attributes = {key: value for key, value in attributes.items() if value is not None}
        self.nodes.append(helper.make_node(op, inputs, names, name=names[0], **attributes))
        self._tell_callers(self.nodes[-1])
        return names

    def array(self, values, wanted):
        """An array that is no variable."""
        return Tensor(values.shape, str(values.dtype), plain=self.constant(values, wanted, values.dtype))

    def plain(self, tensor):
        """The name in Keras's order of dimensions."""
        if tensor.plain is None:
            order = [0, *range(2, tensor.rank), 1]
            tensor.plain = self.node("Transpose", [tensor.first], f"{tensor.first}_channels_last", perm=order)
        return tensor.plain

    def first(self, tensor):
        """The name with channels first."""
        if tensor.rank < 3:
            return self.plain(tensor)
        if tensor.first is None:
            order = [0, tensor.rank - 1, *range(1, tensor.rank - 1)]
            tensor.first = self.node("Transpose", [tensor.plain], f"{tensor.plain}_channels_first", perm=order)
        return tensor.first

    def image(self, tensor, data_format):
        """The name with channels first of an image that Keras has in that format."""
        return self.first(tensor) if data_format == "channels_last" else self.plain(tensor)

    def from_image(self, name, shape, data_format, dtype):
        last = data_format == "channels_last" and len(shape) > 2
        return Tensor(shape, dtype, **{"first" if last else "plain": name})

    def map(self, tensors, write, shape=None):
        """What `write` makes of the names of tensors, in an order of dimensions that all of them have."""
        follows = all(each.plain is None and each.rank == tensors[0].rank for each in tensors)
        name = write(*(each.first if follows else self.plain(each) for each in tensors))
        return Tensor(shape or tensors[0].shape, tensors[0].dtype, **{"first" if follows else "plain": name})

    def axis(self, tensor, axis):
        """An axis of Keras, counted as in the order that `map` has the tensor in."""
        axis = axis % tensor.rank
        if tensor.plain is not None:
            return axis
        return {0: 0, tensor.rank - 1: 1}.get(axis, axis + 1)

    def proto(self):
        known = {each.name for each in (*self.inputs, *self.outputs, *self.initializers)}
        shapes = [helper.make_tensor_value_info(name, dtype, shape) for name, (dtype, shape) in self.shapes.items()
                  if name not in known and self.producer(name) is not None]
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.initializers, value_info=shapes)
        ir_version = CALLERS_IR_VERSION if shapes else IR_VERSION
        return helper.make_model(graph, ir_version=ir_version, opset_imports=[helper.make_opsetid("", OPSET)],
                                 producer_name="onward")


def _type(dtype):
    if dtype not in TYPES:
        raise onward.Error(f"tensors of {dtype} can't be exported")
    return TYPES[dtype]


def _sizes(shape, name):
    """The batch is N; other open sizes have names of their own."""
    return [("N" if axis == 0 else f"{name}_{axis}") if size is None else size for axis, size in enumerate(shape)]
