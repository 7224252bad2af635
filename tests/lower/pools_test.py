"""Pools that round up, as older opsets say them: with the windows of the newest one."""

import lowered
import numpy as np
import onnx
import pytest

RANDOM = np.random.default_rng(7)


def window_counts(size, kernel, stride, pads):
    """Windows of ceil_mode as opset 22 counts them, and as the rules before it do."""
    room = size + sum(pads) - kernel
    counted = -(-room // stride) + 1
    return counted - ((counted - 1) * stride >= size + pads[0]), counted


def pools_that_round_up():
    """Windows of one and of two dimensions, of which the last begins behind the input or does not."""
    lines = [(size, kernel, stride, (before, after)) for size in range(1, 5) for kernel in (1, 2, 3)
             for stride in (2, 3) for before in range(kernel) for after in range(kernel)
             if size + before + after >= kernel and (size + before + after - kernel) % stride]
    rounded = (5, 2, 2, (0, 0))
    assert window_counts(*rounded) == (3, 3)
    for line in lines:
        yield [line]
        real, counted = window_counts(*line)
        if real == counted or line[3][1] >= (line[0] + sum(line[3]) - line[1]) % line[2]:
            yield [line, rounded]


@pytest.mark.parametrize("opset", [18, 21])
def test_older_opsets_round_up_as_the_newest(opset, tmp_path):
    """ONNX's rules before opset 22 count windows that begin behind the input; its checker must accept ours."""
    nodes, outputs, weights, counted_otherwise = [], [], {}, 0
    for lines in pools_that_round_up():
        shape = [1, 1, *[line[0] for line in lines]]
        weights["w" + "x".join(map(str, shape))] = RANDOM.standard_normal(shape).astype(np.float32)
        counted_otherwise += any(len(set(window_counts(*line))) == 2 for line in lines)
        for op, extra in (("MaxPool", {}), ("AveragePool", {}), ("AveragePool", {"count_include_pad": 1})):
            outputs.append(f"y{len(outputs)}")
            nodes.append(onnx.helper.make_node(
                op, ["w" + "x".join(map(str, shape))], outputs[-1:], ceil_mode=1,
                kernel_shape=[line[1] for line in lines], strides=[line[2] for line in lines],
                pads=[line[3][0] for line in lines] + [line[3][1] for line in lines], **extra))
    assert counted_otherwise > 20
    file = tmp_path / "model.onnx"
    onnx.save(trained(nodes, outputs, weights), file)
    results = []
    for each in (opset, 22):
        model = lowered.lower(file, tmp_path / f"{each}.onnx", "--opset", each)
        onnx.checker.check_model(model, full_check=True)
        results.append(lowered.session(model).run(None, {}))
    for old, new in zip(*results, strict=True):
        assert old.shape == new.shape and np.allclose(old, new, rtol=1e-6, atol=1e-6)


def trained(nodes, outputs, weights):
    """A model of such nodes, of which the sum of all that they give is minimised."""
    helper = onnx.helper

    def info(name):
        return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)

    tensors = [onnx.numpy_helper.from_array(array, name) for name, array in weights.items()]
    model = helper.make_model(helper.make_graph(nodes, "pools", [], list(map(info, outputs)), tensors),
                              opset_imports=[helper.make_opsetid("", 22),
                                             helper.make_opsetid("ai.onnx.preview.training", 1)], ir_version=10)
    sums = [helper.make_node("ReduceSum", [name], [f"{name}.sum"], keepdims=0) for name in outputs]
    steps = [helper.make_node("Sub", [name, f"d.{name}"], [f"{name}.new"]) for name in weights]
    gradient = helper.make_node("Gradient", list(weights), [f"d.{name}" for name in weights],
                                domain="ai.onnx.preview.training", xs=list(weights), y="loss")
    total = helper.make_node("Sum", [f"{name}.sum" for name in outputs], ["loss"])
    made = list(map(info, ["loss", *[f"{name}.new" for name in weights]]))
    training = model.training_info.add()
    training.algorithm.CopyFrom(helper.make_graph([*sums, total, gradient, *steps], "algorithm", [], made))
    for name in weights:
        training.update_binding.append(onnx.StringStringEntryProto(key=name, value=f"{name}.new"))
    return model
