"""Looking for the node that makes a difference: each node of a graph alone, on the values that it has there."""

import collections
import dataclasses

import onnx
import values
from known import Site
from onnx import helper, numpy_helper


@dataclasses.dataclass
class SingleNode:
    node: onnx.NodeProto
    opset: int
    model: onnx.ModelProto
    inputs: list  # arrays, None for one that is left out
    fed: dict

    def site(self):
        types = [None if array is None else values.NAMES.get(array.dtype) for array in self.inputs]
        shapes = [None if array is None else array.shape for array in self.inputs]
        return Site(self.node, self.opset, self.inputs, types, shapes, collections.Counter(self.node.input))


def with_all_outputs(model, types):
    """The model with every value of a node as an output."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    given = {value.name for value in model.graph.output}
    for node in model.graph.node:
        for name in node.output:
            if name and name not in given:
                type, _ = types[name]
                model.graph.output.append(helper.make_tensor_value_info(name, values.ONNX[type], None))
    return model


def single_nodes(subject, arrays):
    """Each node as a model of its own. `arrays` has every value; what the model holds as a constant stays one."""
    tensors = {tensor.name: tensor for tensor in subject.model.graph.initializer}
    given = {value.name for value in subject.model.graph.input}
    constants = {node.output[0] for node in subject.model.graph.node if node.op_type == "Constant"}
    arrays = {**{name: numpy_helper.to_array(tensor) for name, tensor in tensors.items()}, **subject.inputs, **arrays}
    for node in subject.model.graph.node:
        if node.op_type == "Constant" or any(name not in arrays for name in node.input if name):
            continue
        fed, infos, held = {}, [], []
        for name in dict.fromkeys(name for name in node.input if name):
            if (name in tensors and name not in given) or name in constants:
                held.append(numpy_helper.from_array(arrays[name], name))
            else:
                fed[name] = arrays[name]
                infos.append(helper.make_tensor_value_info(name, values.ONNX[values.NAMES[arrays[name].dtype]],
                                                           arrays[name].shape))
        outputs = [helper.make_tensor_value_info(name, values.ONNX[subject.types[name][0]], None)
                   for name in node.output if name]
        graph = helper.make_graph([node], "single", infos, outputs, held)
        ir = max(4, subject.model.ir_version)
        model = helper.make_model(graph, opset_imports=subject.model.opset_import, ir_version=ir)
        inputs = [arrays[name] if name else None for name in node.input]
        yield SingleNode(node, subject.opset, model, inputs, fed)
