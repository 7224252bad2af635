"""A new classifier of a model that tf2onnx wrote starts as Keras starts a Dense layer."""

import os
import re
import subprocess

import keras
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def test_the_bound_is_keras_s(tmp_path):
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "kernel"], ["product"]), helper.make_node("Add", ["product", "bias"], ["y"])], "dense",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 300])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 7])],
        [numpy_helper.from_array(np.ones((300, 7), np.float32), "kernel"), numpy_helper.from_array(np.ones(7, np.float32), "bias")])
    onnx.save(helper.make_model(graph, producer_name="tf2onnx", opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              tmp_path / "m.onnx")
    done = subprocess.run([os.environ["ONWARD"], "prepare", str(tmp_path / "m.onnx"), "-o", str(tmp_path / "t.onnx"), "--loss",
                           "softmax_cross_entropy", "--classes", "300"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    bound = float(re.search(r"as Keras starts a layer \(uniform up to ([0-9.e-]+), biases 0", done.stdout)[1])
    assert bound == 0.1
    layer = keras.layers.Dense(300)
    layer.build((None, 300))
    tensors = {t.name: numpy_helper.to_array(t) for t in onnx.load(tmp_path / "t.onnx").graph.initializer}
    for weight in (np.asarray(layer.kernel), tensors["kernel"]):
        assert 0.999 * bound <= np.abs(weight).max() <= bound * (1 + 1e-6)
        assert abs(weight.std() - bound / np.sqrt(3)) < 0.01 * bound
    assert not np.asarray(layer.bias).any() and not tensors["bias"].any()
