"""What has to be done to the graphs that torch.onnx.export writes, so that they train as the module does."""

from typing import Any

import numpy
import onnx
from onnx import helper, numpy_helper

import onward


def switch_dropout_off(graph):
    """Leaves training_mode out: the default is false, and `prepare` switches it on for training."""
    for node in graph.node:
        if node.op_type == "Dropout" and len(node.input) == 3:
            del node.input[2]
    remove_dead_nodes(graph)


def operations(graph):
    """What a graph computes, whatever its values are called, and without Dropout."""
    called: dict[str, object] = {}
    computed: list[tuple] = []
    for node in graph.node:
        if node.op_type == "Dropout":
            called[node.output[0]] = called.get(node.input[0], node.input[0])
        elif node.op_type == "Constant":
            called[node.output[0]] = node.attribute[0].SerializeToString()
        else:
            attributes = sorted(attribute.SerializeToString() for attribute in node.attribute)
            computed.append((node.op_type, [called.get(name, name) for name in node.input], attributes))
            called |= {name: (len(computed), i) for i, name in enumerate(node.output)}
    return computed


def separate_names(graph):
    """Lets inputs and results give way to parameters of their names, while the exporter's graph still tells them apart."""
    results = [*graph.inputs, *(output for node in graph for output in node.outputs)]
    taken = set(graph.initializers) | {value.name for value in results}
    for value in results:
        if value.name in graph.initializers and graph.initializers[value.name] is not value:
            value.name = fresh_name(value.name, taken)
            taken.add(value.name)


def name_parameters(graph, module):
    """Gives every parameter and buffer the first of its names; a tied one may come under another, or twice."""
    first: dict[int, str] = {}
    names: dict[str, str] = {}
    for name, tensor in [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]:
        names[name] = first.setdefault(id(tensor), name)
    for node in graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = names.get(name, name)
    for values in (graph.initializer, graph.value_info):
        renamed: dict[str, Any] = {}
        for value in values:
            value.name = names.get(value.name, value.name)
            renamed.setdefault(value.name, value)
        kept = [type(value).FromString(value.SerializeToString()) for value in renamed.values()]
        del values[:]
        values.extend(kept)


def simplify(graph, numbers):
    """Says some things as they are meant: the exporter writes them for shapes that nobody knows, and numbers of
    float64 as float32. `numbers` are those that the module computes with."""
    _name_types(graph)
    _fold_casts(graph, numbers)
    _leave_out_zero_biases(graph)
    _keep_the_batch_in_reshapes(graph)
    _stop_gradients_on_limits(graph)
    remove_dead_nodes(graph)


def refuse_unknown_operators(graph):
    known = set(onward.operators())
    missing = sorted({node.op_type for node in graph.node if (node.domain, node.op_type) not in known})
    if missing:
        raise onward.Error(f"the module uses operators that can't be trained yet: {', '.join(missing)}")


def names_in(graph):
    """The names of all values of a graph."""
    names = {value.name for values in (graph.input, graph.output, graph.initializer) for value in values}
    return names | {name for node in graph.node for name in node.output}


def fresh_name(wanted, taken):
    """`wanted`, or `wanted_2`, `wanted_3` ... where that is taken."""
    name, count = wanted, 1
    while name in taken:
        count += 1
        name = f"{wanted}_{count}"
    return name


def remove_dead_nodes(graph):
    read = {value.name for value in graph.output}
    kept = []
    for node in reversed(graph.node):
        if read & set(node.output):
            read |= set(node.input)
            kept.append(onnx.NodeProto.FromString(node.SerializeToString()))
    del graph.node[:]
    graph.node.extend(reversed(kept))


def _types(graph):
    types = {value.name: value.type.tensor_type for value in [*graph.input, *graph.value_info, *graph.output]}
    return types | {tensor.name: onnx.TypeProto.Tensor(elem_type=tensor.data_type) for tensor in graph.initializer}


def _name_types(graph):
    """CastLike as Cast."""
    types = _types(graph)
    for node in graph.node:
        if node.op_type == "CastLike" and node.input[1] in types:
            node.op_type = "Cast"
            node.attribute.append(helper.make_attribute("to", types[node.input[1]].elem_type))
            del node.input[1]


def _constant(node):
    """The value of a Constant node, or None."""
    if node is None or node.op_type != "Constant":
        return None
    value = helper.get_attribute_value(node.attribute[0])
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    # An attribute's floats are float32, though Python has them as float64.
    floats = node.attribute[0].type in (onnx.AttributeProto.FLOAT, onnx.AttributeProto.FLOATS)
    return numpy.asarray(value, numpy.float32 if floats else None)


def _fold_casts(graph, numbers):
    """Constants in the type that they are used in, and as exact as the module has them."""
    exact: dict[float, set] = {}
    for number in numbers:
        exact.setdefault(numpy.float32(number).item(), set()).add(number)
    makers = {name: node for node in graph.node for name in node.output}
    for node in graph.node:
        value = _constant(makers.get(node.input[0])) if node.op_type == "Cast" else None
        if value is None:
            continue
        to = helper.get_node_attr_value(node, "to")
        if value.dtype == numpy.float32 and to == onnx.TensorProto.DOUBLE:
            value = numpy.array([_exact(number, exact) for number in value.reshape(-1).tolist()]).reshape(value.shape)
        folded = numpy_helper.from_array(value.astype(helper.tensor_dtype_to_np_dtype(to)))
        node.op_type = "Constant"
        del node.input[:], node.attribute[:]
        node.attribute.append(helper.make_attribute("value", folded))


def _exact(number, exact):
    found = exact.get(number, set())
    if len(found) == 1:
        return next(iter(found))
    if not found and number * 4096 == round(number * 4096):
        return number  # one of the exporter's own, such as 0.5
    raise onward.Error(f"the exporter rounds a constant to {number}, and what it was is not known: use float32")


def _leave_out_zero_biases(graph):
    """A convolution without bias gets one of zeros, which would look like something to train."""
    makers = {name: node for node in graph.node for name in node.output}

    def is_zero(name):
        maker = makers.get(name)
        while maker is not None and maker.op_type in ("Expand", "Cast"):
            maker = makers.get(maker.input[0])
        value = _constant(maker)
        return value is not None and not value.any()

    for node in graph.node:
        if node.op_type in ("Conv", "ConvTranspose") and len(node.input) == 3 and is_zero(node.input[2]):
            del node.input[2]


def _keep_the_batch_in_reshapes(graph):
    """Reshape(x, [n, a, b]), where n is computed from the size of x's own dimension 0, as [0, a, b]."""
    makers = {name: node for node in graph.node for name in node.output}
    types = _types(graph)

    def batch_of(name):
        """The name of the dimension that a value is the size of."""
        maker = makers.get(name)
        while maker is not None and maker.op_type in ("Reshape", "Squeeze", "Unsqueeze", "Cast"):
            maker = makers.get(maker.input[0])
        if maker is None or maker.op_type != "Shape" or maker.input[0] not in types:
            return None
        place = {attribute.name: attribute.i for attribute in maker.attribute}
        dims = types[maker.input[0]].shape.dim
        if place.get("end") != 1 or place.get("start", 0) != 0 or not dims:
            return None
        return dims[0].dim_param

    for node in graph.node:
        shape = makers.get(node.input[1]) if node.op_type == "Reshape" else None
        if shape is None or shape.op_type != "Concat" or node.input[0] not in types:
            continue
        rest = [_constant(makers.get(name)) for name in shape.input[1:]]
        dims = types[node.input[0]].shape.dim
        if any(sizes is None or not sizes.all() for sizes in rest) or not dims or not dims[0].dim_param:
            continue
        if batch_of(shape.input[0]) != dims[0].dim_param:
            continue
        target = [0, *(int(size) for sizes in rest for size in sizes.reshape(-1))]
        name = f"{node.output[0]}_shape"
        graph.initializer.append(numpy_helper.from_array(numpy.array(target), name))
        node.input[1] = name
        del node.attribute[:]


def _stop_gradients_on_limits(graph):
    """Clip passes gradients where x is one of the limits, at which PyTorch's clamp stops them: there the limit itself
    is taken, Where(x == low, low, Clip(x, low, high))."""
    types, makers, taken = _types(graph), {name: node for node in graph.node for name in node.output}, names_in(graph)
    written = []

    def add(op, inputs, wanted):
        name = fresh_name(wanted, taken)
        taken.add(name)
        written.append(helper.make_node(op, inputs, [name]))
        return name

    for node in graph.node:
        written.append(onnx.NodeProto.FromString(node.SerializeToString()))
        if node.op_type != "Clip" or types[node.output[0]].elem_type not in (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE):
            continue
        x, *limits = node.input
        limits = [limit for limit in limits if limit]
        values = [_constant(makers.get(limit)) for limit in limits]
        if len(limits) == 2 and values[0] > values[1]:
            continue  # no x is inside, and none on a limit
        result = written[-1].output[0] = fresh_name(f"{node.output[0]}_clip", taken)
        taken.add(result)
        for limit in limits:
            result = add("Where", [add("Equal", [x, limit], f"{node.output[0]}_on"), limit, result], f"{node.output[0]}_held")
        written[-1].output[0] = node.output[0]
    del graph.node[:]
    graph.node.extend(written)
