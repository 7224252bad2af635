"""A training step around a smooth graph: a loss of its float outputs, its gradients, and plain descent."""

import numpy as np
import onnx
import values
from onnx import helper, numpy_helper

TRAINING = "ai.onnx.preview.training"


class NothingToTrain(Exception):
    pass


# Floats that results depend on, and that nothing is differentiated by: a ratio, whose gradient is refused, and a number
# of classes, which is a whole one. Differences would move it, and whatever else reads it.
HELD = {("Dropout", 1), ("OneHot", 1)}


def flows(subject):
    """For each value of the floats' type: whether a held input depends on it, and whether a float output does."""
    def is_float(name):
        return bool(name) and subject.types[name][0] == subject.smooth

    held, used = set(), {value.name for value in subject.model.graph.output if is_float(value.name)}
    for node in reversed(subject.model.graph.node):
        outputs = set(filter(is_float, node.output))
        for i, name in enumerate(node.input):
            if not is_float(name):
                continue
            if (node.op_type, i) in HELD or outputs & held:
                held.add(name)
            if outputs & used:
                used.add(name)
    return held, used


def differentiable_leaves(subject):
    """Float inputs and tensors of the model that a gradient can be taken by."""
    held, used = flows(subject)
    given = [value.name for value in subject.model.graph.input] + [t.name for t in subject.model.graph.initializer]
    return [name for name in dict.fromkeys(given) if name in used - held]


def training_model(subject):
    """The model with one training info, which gives `loss` and for each x of xs its gradient d_<x>; tensors
    of the model are moved against theirs."""
    xs = differentiable_leaves(subject)
    outputs = [value.name for value in subject.model.graph.output
               if subject.types[value.name][0] == subject.smooth and subject.types[value.name][1] is not None]
    if not xs or not outputs:
        raise NothingToTrain
    numbers = np.random.default_rng(subject.seed + 1)
    dtype = values.NUMPY[subject.smooth]
    nodes, tensors, parts = [], [], []
    for i, name in enumerate(outputs):
        weights = numbers.uniform(-1, 1, subject.types[name][1])
        tensors.append(numpy_helper.from_array(np.asarray(weights).astype(dtype), f"loss.weights{i}"))
        nodes.append(helper.make_node("Mul", [name, f"loss.weights{i}"], [f"loss.weighted{i}"]))
        nodes.append(helper.make_node("ReduceSum", [f"loss.weighted{i}"], [f"loss.part{i}"], keepdims=0))
        parts.append(f"loss.part{i}")
    nodes.append(helper.make_node("Sum", parts, ["loss"]))
    nodes.append(helper.make_node("Gradient", xs, [f"d_{x}" for x in xs], domain=TRAINING, xs=xs, y="loss"))
    gives = ["loss", *[f"d_{x}" for x in xs]]
    trained = [tensor.name for tensor in subject.model.graph.initializer if tensor.name in xs]
    tensors.append(numpy_helper.from_array(np.asarray(0.125).astype(dtype), "rate"))
    for x in trained:
        old = {"broadcast": 1} if subject.opset < 7 else {}
        nodes.append(helper.make_node("Mul", [f"d_{x}", "rate"], [f"{x}.move"], **old))
        nodes.append(helper.make_node("Sub", [x, f"{x}.move"], [f"{x}.new"]))
    infos = [helper.make_tensor_value_info(name, values.ONNX[subject.smooth], None)
             for name in [*gives, *[f"{x}.new" for x in trained]]]
    model = onnx.ModelProto.FromString(subject.model.SerializeToString())
    model.ir_version = max(model.ir_version, 7)
    model.opset_import.append(helper.make_opsetid(TRAINING, 1))
    info = model.training_info.add()
    info.algorithm.CopyFrom(helper.make_graph(nodes, "algorithm", [], infos, tensors))
    for x in trained:
        info.update_binding.append(onnx.StringStringEntryProto(key=x, value=f"{x}.new"))
    return model, xs


def in_double(model):
    """The model with its float tensors in double."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    single, double = onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE

    def widen(tensor):
        if tensor.data_type == single:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))

    for graph in [model.graph, *[info.algorithm for info in model.training_info]]:
        for tensor in graph.initializer:
            widen(tensor)
        for value in [*graph.input, *graph.output, *graph.value_info]:
            if value.type.tensor_type.elem_type == single:
                value.type.tensor_type.elem_type = double
        for node in graph.node:
            widen_attributes(node, widen)
    return model


def widen_attributes(node, widen):
    for attribute in list(node.attribute):
        if attribute.type == onnx.AttributeProto.TENSOR:
            widen(attribute.t)
        elif attribute.name == "to" and attribute.i == onnx.TensorProto.FLOAT:
            attribute.i = onnx.TensorProto.DOUBLE
        elif attribute.name in ("value_float", "value_floats"):
            array = np.float64(attribute.f) if attribute.name == "value_float" else np.array(attribute.floats, np.float64)
            node.attribute.remove(attribute)
            node.attribute.append(helper.make_attribute("value", numpy_helper.from_array(np.asarray(array))))
    if node.op_type == "ConstantOfShape" and not node.attribute:
        node.attribute.append(helper.make_attribute("value", numpy_helper.from_array(np.zeros(1))))
