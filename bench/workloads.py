"""Inference models that the benchmarks train, written by hand: those of bench/networks.py that other runtimes shall read
too, and a Scan, which PyTorch would unroll."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Network:
    def __init__(self, name, input_dims, opset=15):
        self.name, self.nodes, self.weights, self.opset = name, [], [], opset
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

    def constant(self, name, values):
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def conv(self, name, inputs, outputs):
        self.add("Conv", self.weight(f"{name}.weight", (outputs, inputs, 3, 3)),
                 self.weight(f"{name}.bias", (outputs, )), kernel_shape=[3, 3])

    def conv_norm_relu(self, name, inputs, outputs):
        self.add("Conv", self.weight(f"{name}.weight", (outputs, inputs, 3, 3)), kernel_shape=[3, 3],
                 pads=[1, 1, 1, 1])
        ones, zeros = np.ones(outputs, np.float32), np.zeros(outputs, np.float32)
        self.add("BatchNormalization", self.constant(f"{name}.scale", ones), self.constant(f"{name}.shift", zeros),
                 self.constant(f"{name}.mean", zeros), self.constant(f"{name}.variance", ones))
        self.add("Relu")

    def norm(self, name, size):
        self.add("LayerNormalization", self.constant(f"{name}.scale", np.ones(size, np.float32)),
                 self.constant(f"{name}.shift", np.zeros(size, np.float32)))

    def project(self, name, inputs, outputs):
        """A linear layer on the last dimension."""
        self.add("MatMul", self.weight(f"{name}.weight", (inputs, outputs)))
        self.add("Add", self.weight(f"{name}.bias", (outputs, )))

    def reshape(self, shape):
        self.add("Reshape", self.constant(f"shape_{len(self.nodes)}", np.array(shape, np.int64)))

    def linear(self, name, inputs, outputs):
        self.add("Gemm", self.weight(f"{name}.weight", (outputs, inputs)),
                 self.weight(f"{name}.bias", (outputs, )), transB=1)

    def save(self, path):
        self.nodes[-1].output[0] = "y"
        output = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 10])
        graph = helper.make_graph(self.nodes, self.name, [self.input], [output], self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8), path)


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


def cnn_bn():
    """Convolutions with batch normalization, as in the first stage of a residual network."""
    net = Network("cnn_bn", [3, 32, 32])
    net.conv_norm_relu("conv1", 3, 32)
    net.conv_norm_relu("conv2", 32, 64)
    net.add("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    net.conv_norm_relu("conv3", 64, 64)
    net.conv_norm_relu("conv4", 64, 64)
    net.add("GlobalAveragePool")
    net.add("Flatten")
    net.linear("fc", 64, 10)
    return net


def block(tokens=32, size=256, heads=4):
    """A transformer's block: attention and a wide layer, each after a normalization and added to its input."""
    net = Network("block", [tokens, size], opset=20)
    net.norm("norm1", size)
    normal, parts = net.last, []
    for part, order in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3])):
        net.last = normal
        net.project(part, size, size)
        net.reshape([0, tokens, heads, size // heads])
        net.add("Transpose", perm=order)
        parts.append(net.last)
    net.last = parts[0]
    net.add("MatMul", parts[1])
    net.add("Mul", net.constant("scale", np.float32((size // heads)**-0.5)))
    net.add("Softmax", axis=-1)
    net.add("MatMul", parts[2])
    net.add("Transpose", perm=[0, 2, 1, 3])
    net.reshape([0, tokens, size])
    net.project("out", size, size)
    net.add("Add", "x")
    attended = net.last
    net.norm("norm2", size)
    net.project("wide", size, 4 * size)
    net.add("Gelu")
    net.project("narrow", 4 * size, size)
    net.add("Add", attended)
    net.add("Transpose", perm=[0, 2, 1])
    net.add("GlobalAveragePool")
    net.add("Flatten")
    net.linear("fc", size, 10)
    return net


def scan(times=32, size=64):
    """A Scan over the steps of an LSTM cell."""
    net = Network("scan", [times, size], opset=20)
    for part in ("input", "hidden"):
        net.weight(f"{part}.weight", (size, 4 * size))
    net.weight("bias", (4 * size, ))
    net.add("Shape", start=0, end=1)
    net.add("Concat", net.constant("size", np.array([size], np.int64)), axis=0)
    net.add("ConstantOfShape")
    floats = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", size])
              for name in ("h", "c", "x_t", "h_next", "c_next")]
    nodes = [("MatMul", ["x_t", "input.weight"], ["from_input"]), ("MatMul", ["h", "hidden.weight"], ["from_hidden"]),
             ("Add", ["from_input", "from_hidden"], ["sum"]), ("Add", ["sum", "bias"], ["gates"]),
             ("Split", ["gates"], ["i", "f", "g", "o"], {"axis": 1, "num_outputs": 4}),
             *[("Sigmoid", [gate], [f"s_{gate}"]) for gate in "ifo"], ("Tanh", ["g"], ["t_g"]),
             ("Mul", ["s_f", "c"], ["kept"]), ("Mul", ["s_i", "t_g"], ["added"]), ("Add", ["kept", "added"], ["c_next"]),
             ("Tanh", ["c_next"], ["t_c"]), ("Mul", ["s_o", "t_c"], ["h_next"])]
    body = helper.make_graph([helper.make_node(op, reads, gives, **(more[0] if more else {}))
                              for op, reads, gives, *more in nodes], "cell", floats[:3], floats[3:])
    zeros, net.last = net.last, "h_last"
    net.nodes.append(helper.make_node("Scan", [zeros, zeros, "x"], ["h_last", "c_last"], body=body, num_scan_inputs=1,
                                      scan_input_axes=[1]))
    net.linear("fc", size, 10)
    return net


WORKLOADS = {make.__name__: make for make in (mlp, cnn, cnn_bn, block, scan)}
