"""Damages models in the ways that files are damaged, by accident or on purpose."""

import onnx

EXTREME = [0, 1, -1, 2, 3, 7, 64, 1000, 2**31 - 1, 2**31, -2**31, 2**32, 2**62, 2**63 - 1, -2**63]
ODD_NAMES = ["", "x", "\u00e4\u00f6", "a" * 300, "../x", "Add", "\n", "0"]


def graphs_of(model):
    """All graphs of a model, subgraphs included."""
    found = [model.graph]
    for info in model.training_info:
        found += [info.initialization, info.algorithm]
    for graph in found:  # grows while it is walked
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    found.append(attribute.g)
    return found


def all_nodes(model):
    return [node for graph in graphs_of(model) for node in graph.node]


def all_names(model):
    return [name for node in all_nodes(model) for name in [*node.input, *node.output]] or [""]


def damage_bits(data, rng):
    for _ in range(rng.randint(1, 8)):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return data


def damage_range(data, rng):
    begin = rng.randrange(len(data))
    end = min(len(data), begin + rng.randint(1, 32))
    data[begin:end] = rng.randbytes(rng.randint(0, 40))
    return data


def cut_off(data, rng):
    return data[:rng.randrange(len(data))]


def repeat_range(data, rng):
    begin = rng.randrange(len(data))
    piece = data[begin:begin + rng.randint(1, 64)]
    at = rng.randrange(len(data))
    return data[:at] + piece * rng.randint(1, 4) + data[at:]


def break_text(data, rng):
    """Overwrites some letters of a name with bytes that are no UTF-8."""
    letters = [i for i, byte in enumerate(data) if chr(byte).isalpha()]
    for i in rng.sample(letters, min(3, len(letters))):
        data[i] = 0xFF
    return data


def change_attribute(model, rng):
    nodes = [node for node in all_nodes(model) if node.attribute]
    if not nodes:
        return
    attribute = rng.choice(rng.choice(nodes).attribute)
    kind = rng.randrange(6)
    if kind == 0:
        attribute.i = rng.choice(EXTREME)
    elif kind == 1:
        attribute.type = rng.randrange(15)
    elif kind == 2 and attribute.ints:
        attribute.ints[rng.randrange(len(attribute.ints))] = rng.choice(EXTREME)
    elif kind == 3:
        attribute.ints.extend([rng.choice(EXTREME)] * rng.randint(1, 20))
    elif kind == 4:
        attribute.name = rng.choice(["axis", "axes", "pads", "num_outputs", "group", "body"])
    else:
        del attribute.ints[:]


def add_attribute(model, rng):
    nodes = all_nodes(model)
    if not nodes:
        return
    name = rng.choice(["axis", "axes", "keepdims", "num_outputs", "kernel_shape", "strides", "pads",
                       "dilations", "group", "perm", "to", "split", "blocksize", "start", "end"])
    value = rng.choice([rng.choice(EXTREME), [rng.choice(EXTREME) for _ in range(rng.randint(1, 9))], 0.5])
    rng.choice(nodes).attribute.append(onnx.helper.make_attribute(name, value))


def change_dimension(model, rng):
    types = [value.type.tensor_type for graph in graphs_of(model)
             for value in [*graph.input, *graph.output, *graph.value_info]
             if value.type.HasField("tensor_type")]
    tensors = [tensor for graph in graphs_of(model) for tensor in graph.initializer]
    if types and (not tensors or rng.random() < 0.6):
        tensor = rng.choice(types)
        if tensor.shape.dim and rng.random() < 0.8:
            rng.choice(tensor.shape.dim).dim_value = rng.choice(EXTREME)
        elif rng.random() < 0.5:
            tensor.ClearField("shape")
        else:
            for _ in range(rng.randint(1, 40)):
                tensor.shape.dim.add().dim_value = rng.choice(EXTREME)
    elif tensors:
        tensor = rng.choice(tensors)
        tensor.dims.append(rng.choice(EXTREME))


def change_element_type(model, rng):
    for graph in rng.sample(graphs_of(model), 1):
        values = [*graph.input, *graph.output]
        if values:
            rng.choice(values).type.tensor_type.elem_type = rng.randint(0, 40)


def change_name(model, rng):
    nodes = all_nodes(model)
    if not nodes:
        return
    node = rng.choice(nodes)
    names = rng.choice([node.input, node.output])
    if names:
        names[rng.randrange(len(names))] = rng.choice(ODD_NAMES + all_names(model))


def change_operator(model, rng):
    nodes = all_nodes(model)
    if nodes:
        node = rng.choice(nodes)
        node.op_type = rng.choice([schema.name for schema in onnx.defs.get_all_schemas()])
        if rng.random() < 0.3:
            node.domain = rng.choice(["", "ai.onnx", "ai.onnx.ml", "ai.onnx.preview.training", "x.y"])


def change_arity(model, rng):
    nodes = all_nodes(model)
    if not nodes:
        return
    node = rng.choice(nodes)
    if rng.random() < 0.5 and node.input:
        del node.input[rng.randrange(len(node.input)):]
    else:
        rng.choice([node.input, node.output]).extend(
            rng.choice(all_names(model) + ["new"]) for _ in range(rng.randint(1, 12)))


def change_versions(model, rng):
    if rng.random() < 0.5:
        model.ir_version = rng.choice(EXTREME + [3, 4, 7, 10])
    for opset in model.opset_import:
        opset.version = rng.choice([*range(1, 30), *EXTREME])


def reorder(model, rng):
    graph = rng.choice(graphs_of(model))
    nodes = list(graph.node)
    rng.shuffle(nodes)
    del graph.node[:]
    graph.node.extend(nodes)


def change_training(model, rng):
    if not model.training_info:
        return
    info = rng.choice(model.training_info)
    bindings = [*info.update_binding, *info.initialization_binding]
    if bindings:
        binding = rng.choice(bindings)
        binding.key = rng.choice([binding.key, binding.value, *all_names(model), *ODD_NAMES])
        binding.value = rng.choice([binding.key, binding.value, *all_names(model), *ODD_NAMES])
    if rng.random() < 0.2:
        model.training_info.add().CopyFrom(info)


BYTE_DAMAGE = [damage_bits, damage_range, cut_off, repeat_range, break_text]
MODEL_DAMAGE = [change_attribute, add_attribute, change_dimension, change_element_type, change_name,
                change_operator, change_arity, change_versions, reorder, change_training]


def mutate(data, rng):
    """The bytes of a model, damaged in one to three ways."""
    if rng.random() < 0.7:
        model = onnx.ModelProto.FromString(data)
        for _ in range(rng.randint(1, 3)):
            rng.choice(MODEL_DAMAGE)(model, rng)
        return model.SerializeToString()
    return bytes(rng.choice(BYTE_DAMAGE)(bytearray(data), rng))
