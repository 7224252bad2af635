"""A copy of a model that computes in double where the model computes in float."""

import collections

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16)
# The opset of each domain, and the constants as they were.
Given = collections.namedtuple("Given", "versions constants")
# Inputs and attributes that stay what they are, whatever the tensors' type is.
TYPE_ATTRIBUTES = ("to", "dtype", "output_datatype")


def double_copy(model):
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    given = Given({opset.domain: opset.version for opset in copy.opset_import}, {})
    convert_graph(copy.graph, given)
    for function in copy.functions:
        versions = {opset.domain: opset.version for opset in function.opset_import}
        convert_nodes(function.node, Given(versions, {}))
    return copy


def convert_graph(graph, given):
    given = Given(given.versions, given.constants | {tensor.name: copied(tensor) for tensor in graph.initializer})
    for tensor in graph.initializer:
        convert_tensor(tensor)
    for value in [*graph.input, *graph.output, *graph.value_info]:
        convert_type(value.type)
    convert_nodes(graph.node, given)


def convert_nodes(nodes, given):
    converted = []
    for node in nodes:
        if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
            given.constants[node.output[0]] = copied(node.attribute[0].t)
        convert_node(node, given)
        converted += between_casts(node, given)
    del nodes[:]
    nodes.extend(converted)


def copied(tensor):
    copy = TensorProto()
    copy.CopyFrom(tensor)
    return copy


def between_casts(node, given):
    """A node, after casts to float of the operands that its operator does not take in double (Resize's scales, what is
    quantized), and before casts to double of what it gives in float alone."""
    schema = schema_of(node, given.versions)
    before, after = [], []
    if not schema:
        return [node]
    for values, formal, casts in ((node.input, schema.inputs, before), (node.output, schema.outputs, after)):
        for i, name in enumerate(values):
            types = formal[min(i, len(formal) - 1)].types
            if not name or "tensor(float)" not in types or "tensor(double)" in types:
                continue
            values[i] = f"{name}__float_{i}_of_{node.output[0]}"
            if casts is before and name in given.constants:  # an empty one says that there is none
                before.append(onnx.helper.make_node("Constant", [], [values[i]], value=given.constants[name]))
            elif casts is before:
                before.append(onnx.helper.make_node("Cast", [name], [values[i]], to=TensorProto.FLOAT))
            else:
                after.append(onnx.helper.make_node("Cast", [values[i]], [name], to=TensorProto.DOUBLE))
    return [*before, node, *after]


def schema_of(node, versions):
    try:
        return onnx.defs.get_schema(node.op_type, versions.get(node.domain, 1), node.domain)
    except onnx.defs.SchemaError:
        return None


def convert_node(node, given):
    for attribute in node.attribute:
        if attribute.name in TYPE_ATTRIBUTES and attribute.i in FLOATS:
            attribute.i = TensorProto.DOUBLE
        elif attribute.name in ("value_float", "value_floats"):
            numbers = attribute.f if attribute.name == "value_float" else list(attribute.floats)
            attribute.CopyFrom(onnx.helper.make_attribute("value", numpy_helper.from_array(np.array(numbers, np.float64))))
        elif attribute.type == onnx.AttributeProto.TENSOR:
            convert_tensor(attribute.t)
        elif attribute.type == onnx.AttributeProto.GRAPH:
            convert_graph(attribute.g, given)
    if node.op_type == "ConstantOfShape" and not node.attribute:
        zero = numpy_helper.from_array(np.zeros(1, np.float64))
        node.attribute.append(onnx.helper.make_attribute("value", zero))
    elif node.op_type in ("RandomNormal", "RandomUniform") and all(each.name != "dtype" for each in node.attribute):
        node.attribute.append(onnx.helper.make_attribute("dtype", TensorProto.DOUBLE))


def convert_tensor(tensor):
    if tensor.data_type in FLOATS:
        name = tensor.name
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), name))


def convert_type(type_proto):
    kind = type_proto.WhichOneof("value")
    if kind == "tensor_type" and type_proto.tensor_type.elem_type in FLOATS:
        type_proto.tensor_type.elem_type = TensorProto.DOUBLE
    elif kind == "sequence_type":
        convert_type(type_proto.sequence_type.elem_type)
    elif kind == "optional_type":
        convert_type(type_proto.optional_type.elem_type)
