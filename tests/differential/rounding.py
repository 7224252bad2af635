"""How far rounding can carry a graph's results: its nodes' results are disturbed as rounding would, and the
spread of what comes out is measured. What is given stays as it is."""

import numpy as np
import onnx
import values
from compare import off
from onnx import helper, numpy_helper

RUNS = 5
FACTOR = 16.0  # between the spread that is seen and the distance that it explains


def disturbed(model, types, numbers):
    """The model with every float result of a node multiplied by numbers next to 1."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    graph = model.graph
    outputs = {value.name for value in graph.output}
    nodes, renamed = [], {}
    for node in graph.node:
        node = onnx.NodeProto.FromString(node.SerializeToString())
        node.input[:] = [renamed.get(name, name) for name in node.input]
        nodes.append(node)
        if node.op_type in ("Constant", "ConstantOfShape", "Identity"):
            continue
        for i, name in enumerate(node.output):
            type, shape = types.get(name, (None, None))
            if not name or type not in values.FLOATS or shape is None:
                continue
            exact = f"{name}.exact" if name in outputs else name
            shaken = name if name in outputs else f"{name}.shaken"
            renamed[name] = shaken
            node.output[i] = exact
            noise = 1 + 2 * values.EPSILON[type] * numbers.uniform(-1, 1, shape)
            tensor = numpy_helper.from_array(np.asarray(noise).astype(values.NUMPY[type]), f"{name}.noise")
            graph.initializer.append(tensor)
            nodes.append(helper.make_node("Mul", [exact, tensor.name], [shaken]))
    del graph.node[:]
    graph.node.extend(nodes)
    if model.ir_version < 4:
        model.ir_version = 4  # initializers that are no inputs
    return model


def slack(run, model, types, exact, seed):
    """For each output, how far its elements may be off; infinite for one whose very shape moves."""
    numbers = np.random.default_rng(seed)
    found = {}
    for _ in range(RUNS):
        answer = run(disturbed(model, types, numbers))
        if not answer.done:
            return None
        for name, array in answer.outputs.items():
            if name not in exact:
                continue
            moved = np.inf if array.shape != exact[name].shape else FACTOR * off(array, exact[name])
            found[name] = np.maximum(found.get(name, 0.0), moved)
    return found
