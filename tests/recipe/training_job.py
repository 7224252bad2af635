"""A small CNN with BatchNormalization in float64 as an ONNX file, and training it with Onward: what the
tests against PyTorch and Keras share."""

import json
import os
import pathlib
import subprocess

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

STEPS = 50
EPSILON = 2.0**-10  # an attribute, so exact in float32
TOLERANCE = 1e-9


def batches(seed=7, size=8):
    random = np.random.default_rng(seed)
    return [{"x": random.standard_normal((size, 1, 8, 8)), "label": random.integers(0, 5, size)}
            for _ in range(STEPS)]


def first_weights(seed=3):
    random = np.random.default_rng(seed)
    return {
        "conv.weight": random.standard_normal((4, 1, 3, 3)) * 0.4,
        "bn.weight": 1 + random.standard_normal(4) * 0.1,
        "bn.bias": random.standard_normal(4) * 0.1,
        "bn.running_mean": random.standard_normal(4) * 0.1,
        "bn.running_var": 1 + random.random(4),
        "fc.weight": random.standard_normal((5, 36)) * 0.2,
        "fc.bias": random.standard_normal(5) * 0.1,
    }


def write_model(file, weights, ends_in_softmax=False):
    """conv 3x3, batch norm, relu, max pool, flatten (NCHW), fully connected. The convolution has no bias:
    before a batch norm its gradient is zero but for rounding, which adaptive optimizers blow up."""
    nodes = [
        helper.make_node("Conv", ["x", "conv.weight"], ["conv"], kernel_shape=[3, 3]),
        helper.make_node("BatchNormalization",
                         ["conv", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"],
                         ["bn"], epsilon=EPSILON),
        helper.make_node("Relu", ["bn"], ["relu"]),
        helper.make_node("MaxPool", ["relu"], ["pool"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["pool"], ["flat"]),
        helper.make_node("Gemm", ["flat", "fc.weight", "fc.bias"], ["logits"], transB=1),
    ]
    if ends_in_softmax:
        nodes.append(helper.make_node("Softmax", ["logits"], ["probabilities"], axis=1))
    output = "probabilities" if ends_in_softmax else "logits"
    graph = helper.make_graph(
        nodes, "cnn",
        [helper.make_tensor_value_info("x", TensorProto.DOUBLE, ["N", 1, 8, 8])],
        [helper.make_tensor_value_info(output, TensorProto.DOUBLE, ["N", 5])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, file)


def onward(*arguments):
    done = subprocess.run([os.environ["ONWARD"], *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write_batches(file, data):
    tensors = [numpy_helper.from_array(array, f"{step}/{name}")
               for step, batch in enumerate(data) for name, array in batch.items()]
    onnx.save(helper.make_model(helper.make_graph([], "batches", [], [], tensors)), file)


def initializers(model):
    graphs = [model.graph, *(info.algorithm for info in model.training_info)]
    return {tensor.name: numpy_helper.to_array(tensor)
            for graph in graphs for tensor in graph.initializer}


def train(folder, weights, data, options):
    """Gives the losses and all initializers after the last step."""
    folder = pathlib.Path(folder)
    write_model(folder / "model.onnx", weights)
    onward("prepare", folder / "model.onnx", "-o", folder / "training.onnx",
           "--loss", "softmax_cross_entropy", "--bn", "batch", *options)
    onward("check", folder / "training.onnx")
    write_batches(folder / "batches.onnx", data)
    tool = pathlib.Path(os.environ["ONWARD_TOOLS"]) / "step_tool"
    done = subprocess.run([tool, folder / "training.onnx", folder / "batches.onnx",
                           folder / "trained.onnx"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), initializers(onnx.load(folder / "trained.onnx"))


def difference(ours, theirs):
    """The largest one, relative to numbers above 1."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    return float(np.max(np.abs(ours - theirs) / np.maximum(1, np.abs(theirs))))
