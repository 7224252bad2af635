"""A training step around a smooth graph: a loss of its float outputs, its gradients, and plain descent."""

import numpy as np
import onnx
import onnx.inliner
import values
from graph import types_of
from onnx import helper, numpy_helper

TRAINING = "ai.onnx.preview.training"


class NothingToTrain(Exception):
    pass


# Floats that results depend on, and that nothing is differentiated by: a ratio, whose gradient is refused, a number of
# classes, which is a whole one, scales, which sizes follow from, and a state that the standard's tags leave out.
# Differences would move it, and whatever else reads it.
HELD = {("CausalConvWithState", 3), ("Dropout", 1), ("OneHot", 1), ("Resize", 1), ("Resize", 2), ("Upsample", 1)}

# Floats of which nothing but the shape is read.
ONLY_SHAPES = {("EyeLike", 0)}


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
            if outputs & used and (node.op_type, i) not in ONLY_SHAPES:
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
    outputs = [value.name for value in subject.model.graph.output if subject.types[value.name][0] == subject.smooth]
    if not xs or not outputs:
        raise NothingToTrain
    numbers = np.random.default_rng(subject.seed + 1)
    dtype = values.NUMPY[subject.smooth]
    nodes, tensors, parts = [], [], []
    for i, name in enumerate(outputs):
        shape, weights = subject.types[name][1], f"loss.weights{i}"
        if shape is None:  # as many as data say: weighted by themselves
            weights = name
        else:
            array = np.asarray(numbers.uniform(-1, 1, shape)).astype(dtype)
            tensors.append(numpy_helper.from_array(array, weights))
        nodes.append(helper.make_node("Mul", [name, weights], [f"loss.weighted{i}"]))
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


def without_double(model):
    """The operators that the standard does not have for doubles; their scales and the like may be floats all the same."""
    opset = model.opset_import[0].version
    kinds = {node.op_type: types_of(node.op_type, opset, 0) for node in model.graph.node if node.input}
    return sorted(op for op, types in kinds.items() if "float" in types and "double" not in types)


def has_doubles(model):
    return not without_double(model)


def written_out(model, types):
    """The model with the standard's own functions in place of the nodes that are not for doubles, which need to know
    what they are given; the model itself where there are none."""
    if has_doubles(model):
        return model
    plain = onnx.ModelProto.FromString(model.SerializeToString())
    plain.ClearField("training_info")
    infos = {name: helper.make_tensor_value_info(name, values.ONNX[kind], shape) for name, (kind, shape) in types.items()}
    inputs, outputs = ([value.name for value in each] for each in (plain.graph.input, plain.graph.output))
    for field, names in (("input", inputs), ("value_info", infos.keys() - {*inputs, *outputs})):
        plain.graph.ClearField(field)
        getattr(plain.graph, field).extend(infos[name] for name in names)
    plain = onnx.inliner.inline_selected_functions(plain, [("", op) for op in without_double(model)],
                                                   inline_schema_functions=True)
    plain.training_info.extend(model.training_info)
    return plain


def in_double(model, types):
    """The model with its float tensors in double, and what is not for doubles written out."""
    model = written_out(onnx.ModelProto.FromString(model.SerializeToString()), types)
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
    narrow_scales(model)
    return model


def widen_attributes(node, widen):
    for attribute in list(node.attribute):
        if attribute.type == onnx.AttributeProto.TENSOR:
            widen(attribute.t)
        elif attribute.name in ("to", "dtype") and attribute.i == onnx.TensorProto.FLOAT:
            attribute.i = onnx.TensorProto.DOUBLE
        elif attribute.name in ("value_float", "value_floats"):
            array = np.float64(attribute.f) if attribute.name == "value_float" else np.array(attribute.floats, np.float64)
            node.attribute.remove(attribute)
            node.attribute.append(helper.make_attribute("value", numpy_helper.from_array(np.asarray(array))))
    if node.op_type == "ConstantOfShape" and not node.attribute:
        node.attribute.append(helper.make_attribute("value", numpy_helper.from_array(np.zeros(1))))


def narrow_scales(model):
    """Puts floats in front of inputs that are float, whatever the operand's type is; constants stay constants."""
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant":
            constants[node.output[0]] = node.attribute[0].t
    given = {value.name for value in model.graph.input}
    nodes, opset = [], model.opset_import[0].version
    for at, node in enumerate(model.graph.node):
        for i, name in enumerate(node.input):
            if not name or i == 0 or types_of(node.op_type, opset, i) != {"float"}:
                continue
            node.input[i] = narrow = f"{name}.narrow{at}.{i}"
            if name in constants and name not in given:
                array = numpy_helper.to_array(constants[name]).astype(np.float32)
                model.graph.initializer.append(numpy_helper.from_array(array, narrow))
            else:
                nodes.append(helper.make_node("Cast", [name], [narrow], to=onnx.TensorProto.FLOAT))
        nodes.append(node)
    nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
