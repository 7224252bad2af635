"""How far rounding can carry a graph's results: its nodes' results are disturbed as rounding would, and the
spread of what comes out is measured. What is given stays as it is, but where it is added up: the sums on the
way may be larger than the result by far."""

import numpy as np
import onnx
import values
from compare import off
from onnx import helper, numpy_helper

RUNS = 5
MANY_RUNS = 60  # where what rounding turns over is a choice among equals: few of them see each choice
SUMS = {"AveragePool", "BatchNormalization", "Conv", "DFT", "Gemm", "GlobalAveragePool", "GroupNormalization",
        "InstanceNormalization", "LayerNormalization", "MatMul", "MeanVarianceNormalization", "NegativeLogLikelihoodLoss",
        "ReduceMean", "ReduceSum", "STFT", "SoftmaxCrossEntropyLoss", "Sum"}
WAVES = {"BlackmanWindow", "DFT", "HammingWindow", "HannWindow", "STFT"}  # their zeros are off by as much as their other elements
FACTOR = 16.0  # between the spread that is seen and the distance that it explains


def disturbed(model, types, numbers):
    """The model with every float result of a node, and every float that is added up, multiplied by numbers
    next to 1."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    graph = model.graph
    outputs = {value.name for value in graph.output}
    nodes, renamed = [], {}

    def combine(op, middle, name, source, result):
        type, shape = types[name]
        noise = middle + 2 * values.EPSILON[type] * numbers.uniform(-1, 1, shape)
        tensor = numpy_helper.from_array(np.asarray(noise).astype(values.NUMPY[type]), f"{result}.noise")
        graph.initializer.append(tensor)
        nodes.append(helper.make_node(op, [source, tensor.name], [result]))
        return result

    def shake(name, source, result, is_wave=False):
        if is_wave:
            source = combine("Add", 0, name, source, f"{result}.moved")
        return combine("Mul", 1, name, source, result)

    def can_be_shaken(name):
        type, shape = types.get(name, (None, None))
        return bool(name) and type in values.FLOATS and shape is not None

    for at, node in enumerate(graph.node):
        node = onnx.NodeProto.FromString(node.SerializeToString())
        for i, name in enumerate(node.input):
            node.input[i] = renamed.get(name, name)
            if node.op_type in SUMS and can_be_shaken(name):
                node.input[i] = shake(name, node.input[i], f"{name}.summand{at}.{i}")
        nodes.append(node)
        if node.op_type in ("Constant", "ConstantOfShape", "Identity"):
            continue
        for i, name in enumerate(node.output):
            if not can_be_shaken(name):
                continue
            node.output[i] = exact = f"{name}.exact" if name in outputs else name
            renamed[name] = shake(name, exact, name if name in outputs else f"{name}.shaken", node.op_type in WAVES)
    del graph.node[:]
    graph.node.extend(nodes)
    if model.ir_version < 4:
        model.ir_version = 4  # initializers that are no inputs
    return model


def slack(run, model, types, exact, seed, runs=RUNS):
    """For each output, how far its elements may be off; infinite for one whose very shape moves."""
    numbers = np.random.default_rng(seed)
    found = {}
    for _ in range(runs):
        answer = run(disturbed(model, types, numbers))
        if not answer.done:
            return None
        for name, array in answer.outputs.items():
            if name not in exact:
                continue
            moved = np.inf if array.shape != exact[name].shape else FACTOR * off(array, exact[name])
            found[name] = np.maximum(found.get(name, 0.0), moved)
    return found
