"""The tables of known differences speak of nothing but what they are meant for."""

import collections

import known
import numpy as np
import pytest
from onnx import helper, parser

INF = float("inf")


def site(op, *inputs, opset=17, **attributes):
    names = [f"x{i}" for i in range(len(inputs))]
    arrays = [None if each is None else np.asarray(each) for each in inputs]
    types = [None if each is None else known.values.NAMES[each.dtype] for each in arrays]
    return known.Site(helper.make_node(op, names, ["y"], **attributes), opset, arrays, types, collections.Counter(names))


def floats(*numbers):
    return np.array(numbers, np.float32)


@pytest.mark.parametrize("table, where, applies", [
    (known.UNDEFINED, site("Cast", floats(1, 300), to=3), True),
    (known.UNDEFINED, site("Cast", floats(1, 127.9), to=3), False),
    (known.UNDEFINED, site("Cast", floats(-0.5), to=2), False),
    (known.UNDEFINED, site("Cast", floats(np.nan), to=7), True),
    (known.UNDEFINED, site("Cast", floats(np.nan), to=11), False),
    (known.UNDEFINED, site("Cast", np.array([300]), to=3), False),
    (known.UNDEFINED, site("Conv", floats(INF), floats(1)), False),
    (known.UNDEFINED, site("Conv", floats(1), floats(INF)), True),
    (known.ONNX_RUNTIME, site("ReduceMax", floats(1, np.nan)), True),
    (known.ONNX_RUNTIME, site("ReduceMax", floats(1, INF)), False),
    (known.ONNX_RUNTIME, site("ReduceMean", floats()), True),
    (known.ONNX_RUNTIME, site("ReduceMean", floats(1)), False),
    (known.ONNX_RUNTIME_TRAPS, site("Slice", floats(1), [0], [2**31 - 1], [0], [-1]), True),
    (known.ONNX_RUNTIME_TRAPS, site("Slice", floats(1), [0], [2**31 - 1], [0], [1]), False),
    (known.ONNX_RUNTIME_TRAPS, site("Slice", floats(1), [0], [1000], [0], [-1]), False),
    (known.ONNX_RUNTIME_TRAPS, site("MaxPool", floats(1), auto_pad="SAME_UPPER", dilations=[1, 2]), True),
    (known.ONNX_RUNTIME_TRAPS, site("MaxPool", floats(1), auto_pad="SAME_UPPER", dilations=[1, 1]), False),
    (known.ONNX_RUNTIME_TRAPS, site("Gelu", np.array([1.0]), approximate="tanh"), True),
    (known.ONNX_RUNTIME_TRAPS, site("Gelu", floats(1), approximate="tanh"), False),
    (known.REFERENCE_EVALUATOR_TRAPS, site("AveragePool", floats(1), ceil_mode=1, dilations=[1, 2]), True),
    (known.REFERENCE_EVALUATOR_TRAPS, site("AveragePool", floats(1), ceil_mode=1, dilations=[1, 1]), False),
    (known.REFERENCE_EVALUATOR_TRAPS, site("AveragePool", floats(1), dilations=[1, 2]), False),
    (known.REFERENCE_EVALUATOR_TRAPS, site("Softmax", floats(1), opset=12), True),
    (known.REFERENCE_EVALUATOR_TRAPS, site("Softmax", floats(1), opset=13), False),
])
def test_predicates(table, where, applies):
    assert (known.find(table, where) is not None) == applies


@pytest.mark.parametrize("statistics, traps", [("m, v", False), ("m, m", True), ("b, v", True)])
def test_shared_statistics_are_a_trap(statistics, traps):
    model = parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 17]>
      g (float[2,3] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[2,3] y) {{
        y, p, q = BatchNormalization<training_mode = 1>(x, s, b, {statistics}) }}""")
    assert (known.trap("ONNX Runtime", model, {}, {}) is not None) == traps
