"""Pooling in every opset, window by window as ONNX Runtime does: where ceil_mode lets a last window begin
in the padding, where auto_pad finds the padding, and what count_include_pad counts."""

import itertools

import numpy as np
import onnx
import onnxruntime
import pytest

import onward

OPSETS = {"MaxPool": [8, 10, 11, 12, 22], "AveragePool": [7, 10, 11, 19, 22]}
SIZES = [1, 2, 5, 6, 7, 8]
WINDOWS = list(itertools.product([1, 2, 3], [1, 2, 3, 4], [(0, 0), (0, 1), (1, 0), (1, 1), (2, 1), (2, 2)]))
AUTO_PADS = ["SAME_UPPER", "SAME_LOWER", "VALID"]


def attributes_of(operator, opset):
    """All combinations that this version of the operator has words for."""
    rounding = [0, 1] if opset >= 10 else [0]
    counting = [0, 1] if operator == "AveragePool" else [None]
    dilating = [1, 2] if (operator, opset >= 19) == ("AveragePool", True) or \
        (operator, opset >= 10) == ("MaxPool", True) else [1]
    for (kernel, stride, pads), ceil, count, dilation in itertools.product(WINDOWS, rounding, counting, dilating):
        if max(pads) >= kernel:
            continue
        common = {"kernel_shape": [kernel], "strides": [stride]}
        if opset >= 10:
            common["ceil_mode"] = ceil
        if count is not None:
            common["count_include_pad"] = count
        if dilation > 1:
            common["dilations"] = [dilation]
        yield {**common, "pads": list(pads)}
        if pads == (0, 0):
            yield from ({**common, "auto_pad": auto_pad} for auto_pad in AUTO_PADS)


def is_comparable(attributes, size):
    """Whether ONNX Runtime is a judge. It pads for SAME as if there were no dilations, and by a negative number where
    strides are longer than windows; it divides a negative number towards zero where a window does not fit, and gives
    the lowest float where one lies in the padding alone, both of which are refused here."""
    [kernel], [stride], [dilation] = attributes["kernel_shape"], attributes["strides"], attributes.get("dilations", [1])
    if attributes.get("auto_pad", "").startswith("SAME"):
        return dilation == 1 and stride <= kernel
    before, after = attributes.get("pads", [0, 0])
    room = size + before + after - (kernel - 1) * dilation - 1
    starts = range(-before, -before + room + (stride if attributes.get("ceil_mode") else 1), stride)
    return room >= 0 and all(any(0 <= start + tap * dilation < size for tap in range(kernel))
                             for start in starts if start < size)


def model_of(nodes, opset, sizes):
    """One graph with all nodes: an output for each."""
    helper = onnx.helper
    inputs = [helper.make_tensor_value_info(f"x{size}", onnx.TensorProto.FLOAT, [1, 2, size]) for size in sizes]
    outputs = [helper.make_tensor_value_info(node.output[0], onnx.TensorProto.FLOAT, None) for node in nodes]
    return helper.make_model(helper.make_graph(nodes, "pools", inputs, outputs),
                             opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def by_onnx_runtime(node, opset, size, feed):
    """Its result, or nothing where it refuses the node."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model_of([node], opset, [size]).SerializeToString(), options)
        return session.run(None, feed)[0]
    except Exception:  # every refusal of its own is one of a dozen classes
        return None


@pytest.mark.parametrize("operator,opset", [(op, opset) for op, opsets in OPSETS.items() for opset in opsets])
def test_windows_are_those_of_onnx_runtime(operator, opset):
    random = np.random.default_rng(opset)
    feeds = {f"x{size}": random.standard_normal((1, 2, size)).astype(np.float32) for size in SIZES}
    expected, nodes = {}, []
    for at, (attributes, size) in enumerate(itertools.product(attributes_of(operator, opset), SIZES)):
        if at % 5 != opset % 5 or not is_comparable(attributes, size):  # each version a part of them, together all
            continue
        node = onnx.helper.make_node(operator, [f"x{size}"], [f"y{at}"], **attributes)
        result = by_onnx_runtime(node, opset, size, {f"x{size}": feeds[f"x{size}"]})
        if result is not None:
            expected[f"y{at}"] = (attributes, size, result)
            nodes.append(node)
    assert len(nodes) > 50
    results = onward.Trainer(onward.loads(model_of(nodes, opset, SIZES)), threads=1).infer(feeds)
    for name, (attributes, size, result) in expected.items():
        np.testing.assert_allclose(results[name], result, rtol=1e-5, atol=1e-6, err_msg=f"{attributes} on {size}")
