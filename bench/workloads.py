"""Writes the inference models that the benchmarks train: workloads.py FOLDER gives FOLDER/mlp.onnx and
FOLDER/cnn.onnx, with the shapes that bench/peer_torch.py has."""

import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BATCH = 64


class Network:
    def __init__(self, name, input_dims):
        self.name, self.nodes, self.weights = name, [], []
        self.random = np.random.default_rng(0)
        self.input = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", *input_dims])
        self.last = "x"

    def weight(self, name, shape):
        scale = (np.prod(shape[1:]) if len(shape) > 1 else 100) ** -0.5
        values = (self.random.uniform(-scale, scale, shape)).astype(np.float32)
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def add(self, op, *more, **attributes):
        output = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, [self.last, *more], [output], **attributes))
        self.last = output

    def conv(self, name, inputs, outputs):
        self.add("Conv", self.weight(f"{name}.weight", (outputs, inputs, 3, 3)),
                 self.weight(f"{name}.bias", (outputs, )), kernel_shape=[3, 3])

    def linear(self, name, inputs, outputs):
        self.add("Gemm", self.weight(f"{name}.weight", (outputs, inputs)),
                 self.weight(f"{name}.bias", (outputs, )), transB=1)

    def save(self, path):
        self.nodes[-1].output[0] = "y"
        output = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 10])
        graph = helper.make_graph(self.nodes, self.name, [self.input], [output], self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8), path)


def mlp():
    net = Network("mlp", [784])
    for name, inputs, outputs in [("fc1", 784, 512), ("fc2", 512, 256), ("fc3", 256, 10)]:
        net.linear(name, inputs, outputs)
        if name != "fc3":
            net.add("Relu")
    return net


def cnn():
    net = Network("cnn", [1, 28, 28])
    net.conv("conv1", 1, 32)
    net.add("Relu")
    net.conv("conv2", 32, 64)
    net.add("Relu")
    net.add("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    net.add("Flatten")
    net.linear("fc1", 9216, 128)
    net.add("Relu")
    net.linear("fc2", 128, 10)
    return net


if __name__ == "__main__":
    for make in (mlp, cnn):
        make().save(pathlib.Path(sys.argv[1]) / f"{make.__name__}.onnx")
