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
    shapes = [None if each is None else each.shape for each in arrays]
    node = helper.make_node(op, ["" if each is None else name for name, each in zip(names, arrays)], ["y"], **attributes)
    return known.Site(node, opset, arrays, types, shapes, collections.Counter(names))


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
    (known.ONNX_RUNTIME_TRAPS, site("ReduceMean", floats()), True),
    (known.ONNX_RUNTIME_TRAPS, site("ReduceMean", floats(1)), False),
    (known.ONNX_RUNTIME, site("ReduceSum", np.array([2**53, 1])), True),
    (known.ONNX_RUNTIME, site("ReduceSum", np.array([2**52, 1])), False),
    (known.ONNX_RUNTIME, site("ReduceSum", np.array([2**31 - 1, 1], np.int32)), True),
    (known.ONNX_RUNTIME, site("ReduceSum", np.array([2**30, 1], np.int32)), False),
    (known.ONNX_RUNTIME, site("ReduceMean", np.array([2**31 - 1, 1], np.int32)), False),
    (known.ONNX_RUNTIME, site("ReduceSum", floats(1e30)), False),
    (known.ONNX_RUNTIME, site("Pow", np.array([2**53 + 1]), np.array([1])), True),
    (known.ONNX_RUNTIME, site("Pow", np.array([-3, 2]), np.array([33, 2])), False),
    (known.ONNX_RUNTIME, site("Pow", np.array([-(2**31)], np.int32), np.array([2])), True),
    (known.ONNX_RUNTIME, site("Gemm", np.ones((1, 0)), np.ones((0, 2)), np.ones(2), beta=0.5), True),
    (known.ONNX_RUNTIME, site("Gemm", np.ones((1, 0)), np.ones((0, 2)), np.ones(2)), False),
    (known.ONNX_RUNTIME, site("Gemm", np.ones((1, 0)), np.ones((0, 2)), beta=0.5), False),
    (known.ONNX_RUNTIME, site("Gemm", np.ones((1, 1)), np.ones((1, 2)), np.ones(2), beta=0.5), False),
    (known.ONNX_RUNTIME_TRAPS, site("MatMul", np.ones((2, 0)), np.ones((0, 2))), True),
    (known.ONNX_RUNTIME_TRAPS, site("MatMul", np.ones((0, 2)), np.ones((2, 2))), False),
    (known.ONNX_RUNTIME, site("Clip", floats(INF), floats(0)), True),
    (known.ONNX_RUNTIME, site("Clip", floats(INF), None, floats(0)), False),
    (known.ONNX_RUNTIME, site("Clip", floats(-INF), None, floats(0)), True),
    (known.ONNX_RUNTIME, site("Clip", floats(INF), opset=10, min=1.0), False),
    (known.ONNX_RUNTIME, site("BatchNormalization", floats(INF), *[floats(1)] * 4), False),
    (known.UNDEFINED, site("Resize", floats(INF), mode="cubic"), True),
    (known.UNDEFINED, site("Resize", floats(INF)), False),
    (known.UNDEFINED, site("Upsample", floats(1e30), mode="linear"), False),
    (known.UNDEFINED, site("Softmax", floats(-INF, 1)), False),
    (known.UNDEFINED, site("Softmax", floats(-INF, -INF)), True),
    (known.UNDEFINED, site("LogSoftmax", floats(INF, 1)), True),
    (known.ONNX_RUNTIME_TRAPS, site("Slice", floats(1), [0], [2**31 - 1], [0], [-1]), True),
    (known.ONNX_RUNTIME_TRAPS, site("Slice", floats(1), [0], [2**31 - 1], [0], [1]), False),
    (known.ONNX_RUNTIME_TRAPS, site("Slice", floats(1), [0], [1000], [0], [-1]), False),
    (known.ONNX_RUNTIME_TRAPS, site("Slice", floats(1), [0], [2**31], [0], [-1]), False),
    (known.ONNX_RUNTIME_TRAPS, site("Slice", floats(1), [0], [2**31 - 1]), False),
    (known.ONNX_RUNTIME_TRAPS, site("Slice", floats(1), opset=9, starts=[0], ends=[2**31 - 1]), False),
    (known.ONNX_RUNTIME_TRAPS, site("Add", np.ones((2, 2, 4)), np.ones(2), opset=6, broadcast=1, axis=1), True),
    (known.ONNX_RUNTIME_TRAPS, site("Add", np.ones((2, 2, 4)), np.ones(2), opset=6, broadcast=1, axis=0), False),
    (known.ONNX_RUNTIME_TRAPS, site("Add", np.ones((2, 2, 4)), np.ones(4), opset=6, broadcast=1, axis=2), False),
    (known.ONNX_RUNTIME_TRAPS, site("Less", np.ones((2, 2, 4)), np.ones(2), opset=6, broadcast=1, axis=1), False),
    (known.ONNX_RUNTIME_TRAPS, site("MaxPool", np.ones((1, 1, 3, 3)), auto_pad="SAME_UPPER", dilations=[1, 2], kernel_shape=[2, 2]), True),
    (known.ONNX_RUNTIME_TRAPS, site("MaxPool", np.ones((1, 1, 3, 3)), auto_pad="SAME_UPPER", dilations=[1, 1], kernel_shape=[2, 2]), False),
    (known.ONNX_RUNTIME_TRAPS, site("MaxPool", np.ones((1, 1, 6)), auto_pad="SAME_UPPER", kernel_shape=[1],
                                    strides=[3]), True),
    (known.ONNX_RUNTIME_TRAPS, site("MaxPool", np.ones((1, 1, 5)), auto_pad="SAME_UPPER", kernel_shape=[1],
                                    strides=[3]), False),
    (known.ONNX_RUNTIME_TRAPS, site("MaxPool", np.ones((1, 1, 6)), auto_pad="SAME_UPPER", kernel_shape=[2],
                                    strides=[3]), False),
    (known.ONNX_RUNTIME_TRAPS, site("Attention", *[np.ones((1, 1, 2, 2))] * 3), True),
    (known.ONNX_RUNTIME_TRAPS, site("Attention", *[np.ones((1, 1, 2, 1))] * 3), False),
    (known.ONNX_RUNTIME_TRAPS, site("Attention", *[np.ones((1, 2, 2))] * 3, q_num_heads=2, kv_num_heads=2), False),
    (known.ONNX_RUNTIME_TRAPS, site("Attention", *[np.ones((1, 1, 2, 2))] * 3, scale=0.25), False),
    (known.ONNX_RUNTIME_TRAPS, site("Attention", *[floats(1).reshape(1, 1, 1, 1)] * 3, scale=0.5), False),
    (known.ONNX_RUNTIME, site("Attention", *[np.ones((1, 1, 2, 1))] * 3, np.array([[True, False], [False, False]])), True),
    (known.ONNX_RUNTIME, site("Attention", *[np.ones((1, 1, 2, 1))] * 3, np.array([[True, False], [False, True]])), False),
    (known.ONNX_RUNTIME, site("Attention", *[np.ones((1, 1, 2, 1))] * 3, np.array([[False, True]]), is_causal=1), True),
    (known.ONNX_RUNTIME, site("Attention", *[np.ones((1, 1, 2, 1))] * 3, is_causal=1), False),
    (known.UNDEFINED, site("ReduceL2", np.array([2**31 - 1, 2**31 - 1], np.int32)), True),
    (known.UNDEFINED, site("ReduceL2", np.array([2**30, 3], np.int32)), False),
    (known.ONNX_RUNTIME, site("ReduceProd", np.array([3**34, 1])), True),
    (known.ONNX_RUNTIME, site("ReduceProd", np.array([-3, 0, 4])), False),
    (known.ONNX_RUNTIME, site("Einsum", np.array([2**31 - 1, 1], np.int32), equation="i->"), True),
    (known.ONNX_RUNTIME, site("Einsum", np.array([3, 1]), np.array([4, 2]), equation="i,i->"), False),
    (known.ONNX_RUNTIME_TRAPS, site("Attention", *[floats(1).reshape(1, 1, 1, 1), floats(1, 1).reshape(1, 1, 2, 1)] * 3,
                                    is_causal=1), True),
    (known.ONNX_RUNTIME_TRAPS, site("Attention", *[floats(1, 1).reshape(1, 1, 2, 1)] * 6, is_causal=1), False),
    (known.CONVERTER_TRAPS, site("PRelu", np.ones((2, 3, 1)), np.ones(3), opset=6), True),
    (known.CONVERTER_TRAPS, site("PRelu", np.ones((2, 3)), np.ones(3), opset=6), False),
    (known.CONVERTER_TRAPS, site("PRelu", np.ones((2, 3, 1)), np.ones(1), opset=6), False),
    (known.ONNX_RUNTIME, site("ReduceLogSumExp", floats(INF, np.nan)), True),
    (known.ONNX_RUNTIME, site("ReduceLogSumExp", floats(1, np.nan)), False),
    (known.ONNX_RUNTIME, site("ReduceSumSquare", np.array([2**27])), True),
    (known.ONNX_RUNTIME, site("ReduceSumSquare", np.array([2**26])), False),
    (known.ONNX_RUNTIME, site("LRN", floats(INF), size=3), True),
    (known.ONNX_RUNTIME, site("LRN", floats(1e4), size=3), False),
    (known.REFERENCE_EVALUATOR_TRAPS, site("Unsqueeze", np.ones((4, 2)), axes=[2, 1], opset=12), True),
    (known.REFERENCE_EVALUATOR_TRAPS, site("Unsqueeze", np.ones((4, 2)), axes=[1, 2], opset=12), False),
    (known.ONNX_RUNTIME_TRAPS, site("HannWindow", np.array(3), output_datatype=11), True),
    (known.ONNX_RUNTIME_TRAPS, site("HannWindow", np.array(3), output_datatype=1), False),
    (known.ONNX_RUNTIME_TRAPS, site("Col2Im", np.ones((1, 8, 4)), dilations=[1, 1, 2]), True),
    (known.ONNX_RUNTIME_TRAPS, site("Col2Im", np.ones((1, 4, 4)), dilations=[1, 2]), False),
    (known.ONNX_RUNTIME_TRAPS, site("DFT", np.ones((4, 2), np.float32), np.array(8), np.array(0), inverse=1, onesided=1, opset=20), True),
    (known.ONNX_RUNTIME_TRAPS, site("DFT", np.ones((5, 2), np.float32), np.array(8), np.array(0), inverse=1, onesided=1, opset=20), False),
    (known.ONNX_RUNTIME_TRAPS, site("DFT", np.ones((5, 2)), inverse=1), True),
    (known.ONNX_RUNTIME_TRAPS, site("DFT", np.ones((5, 2))), False),
    (known.UNDEFINED, site("NonMaxSuppression", floats(1, INF), floats(1)), True),
    (known.UNDEFINED, site("NonMaxSuppression", floats(1), floats(1)), False),
    (known.ONNX_RUNTIME_TRAPS, site("Shrink", np.array([1.0])), True),
    (known.ONNX_RUNTIME_TRAPS, site("Shrink", floats(1)), False),
    (known.ONNX_RUNTIME_TRAPS, site("Gelu", np.array([1.0]), approximate="tanh"), True),
    (known.ONNX_RUNTIME_TRAPS, site("Gelu", floats(1), approximate="tanh"), False),
    (known.REFERENCE_EVALUATOR_TRAPS, site("AveragePool", floats(1), ceil_mode=1, dilations=[1, 2]), True),
    (known.REFERENCE_EVALUATOR_TRAPS, site("AveragePool", np.ones((1, 1, 4, 4)), ceil_mode=1, dilations=[1, 1], kernel_shape=[1, 1]), False),
    (known.REFERENCE_EVALUATOR_TRAPS, site("AveragePool", floats(1), dilations=[1, 2]), False),
    (known.REFERENCE_EVALUATOR_TRAPS, site("AveragePool", np.ones((1, 1, 4)), ceil_mode=1, kernel_shape=[3],
                                           strides=[3]), True),
    (known.REFERENCE_EVALUATOR_TRAPS, site("AveragePool", np.ones((1, 1, 5)), ceil_mode=1, kernel_shape=[3],
                                           strides=[3]), False),
    (known.REFERENCE_EVALUATOR_TRAPS, site("AveragePool", np.ones((1, 1, 3)), ceil_mode=1, kernel_shape=[1],
                                           strides=[3]), False),
    (known.REFERENCE_EVALUATOR_TRAPS, site("Softmax", np.ones((2, 2, 2)), opset=12), True),
    (known.REFERENCE_EVALUATOR_TRAPS, site("Softmax", np.ones((2, 2, 2)), opset=12, axis=-1), False),
    (known.REFERENCE_EVALUATOR_TRAPS, site("Softmax", np.ones((2, 2, 2)), opset=13), False),
    (known.ONNX_RUNTIME_TRAPS, site("Resize", np.ones((2, 2)), floats(0, 0, 1, 0.5), None, np.array([4, 2]),
                                    coordinate_transformation_mode="tf_crop_and_resize"), True),
    (known.ONNX_RUNTIME_TRAPS, site("Resize", np.ones((2, 2)), floats(0, 0, 0.5, 1), floats(2, 1),
                                    coordinate_transformation_mode="tf_crop_and_resize"), False),
    (known.REFERENCE_EVALUATOR, site("Resize", np.array([2**53])), True),
    (known.REFERENCE_EVALUATOR, site("Resize", np.array([2**52])), False),
    (known.REFERENCE_EVALUATOR_TRAPS, site("Resize", np.ones((2, 2)), None, None, np.array([2, 1]),
                                           coordinate_transformation_mode="pytorch_half_pixel"), True),
    (known.REFERENCE_EVALUATOR_TRAPS, site("Resize", np.ones((2, 2)), None, floats(2, 2),
                                           coordinate_transformation_mode="pytorch_half_pixel"), False),
    (known.REFERENCE_EVALUATOR_TRAPS, site("Resize", np.ones((2, 2)), None, floats(2, 0.5)), False),
    (known.REFERENCE_EVALUATOR_TRAPS, site("Unique", np.ones((2, 2)), sorted=0, axis=0), True),
    (known.REFERENCE_EVALUATOR_TRAPS, site("Unique", np.ones((2, 2)), axis=1), False),
    (known.REFERENCE_EVALUATOR_TRAPS, site("QLinearConv", np.ones((1, 2, 3)), *[np.ones(())] * 2, np.ones((2, 2, 1)), np.ones(2)), True),
    (known.REFERENCE_EVALUATOR_TRAPS, site("QLinearConv", np.ones((1, 2, 3)), *[np.ones(())] * 2, np.ones((1, 2, 1)), np.ones(1)), False),
    (known.REFERENCE_EVALUATOR_TRAPS, site("QLinearConv", np.ones((1, 2, 3, 3)), *[np.ones(())] * 2, np.ones((2, 2, 1, 1)), np.ones(2)), False),
    (known.REFERENCE_EVALUATOR, site("PRelu", floats(0), floats(INF)), True),
    (known.REFERENCE_EVALUATOR, site("PRelu", floats(1), floats(INF)), False),
    (known.REFERENCE_EVALUATOR, site("LpNormalization", floats(1, -1), p=1), True),
    (known.REFERENCE_EVALUATOR, site("LpNormalization", floats(1, -1)), False),
    (known.REFERENCE_EVALUATOR, site("LpNormalization", floats(1, 2), p=1), False),
    (known.REFERENCE_EVALUATOR_TRAPS, site("Shape", np.ones((2, 2)), end=-3), True),
    (known.REFERENCE_EVALUATOR_TRAPS, site("Shape", np.ones((2, 2)), start=-3, end=-2), False),
    (known.REFERENCE_EVALUATOR_TRAPS, site("NegativeLogLikelihoodLoss", np.ones((1, 2)), [0], ignore_index=-1), True),
    (known.REFERENCE_EVALUATOR_TRAPS, site("NegativeLogLikelihoodLoss", np.ones((1, 2)), [0], ignore_index=-1,
                                           reduction="sum"), False),
    (known.REFERENCE_EVALUATOR_TRAPS, site("NegativeLogLikelihoodLoss", np.ones((1, 2)), [0], np.ones(2),
                                           ignore_index=-1), False),
    (known.REFERENCE_EVALUATOR, site("Gemm", np.array([[2**53]]), np.array([[2]])), True),
    (known.REFERENCE_EVALUATOR, site("Gemm", np.array([[2**40]]), np.array([[2]]), np.array([5]), beta=2.0), False),
    (known.REFERENCE_EVALUATOR, site("AveragePool", floats(np.nan), count_include_pad=1), False),
    (known.REFERENCE_EVALUATOR, site("ReduceMean", np.array([2**31 - 1, 1], np.int32)), True),
    (known.REFERENCE_EVALUATOR, site("ReduceMean", np.array([2**53, 1])), True),
    (known.REFERENCE_EVALUATOR, site("ReduceMean", np.array([2**52, 1])), False),
    (known.REFERENCE_EVALUATOR_TRAPS, site("Pad", np.ones((2, 0)), [0, 2, 0, -1]), True),
    (known.REFERENCE_EVALUATOR_TRAPS, site("Pad", np.ones((2, 1)), [-1, 2, 2, -1]), False),
    (known.REFERENCE_EVALUATOR_TRAPS, site("Pad", np.ones((2, 0)), [2, -1], None, [1]), True),
    (known.REFERENCE_EVALUATOR_TRAPS, site("Pad", np.ones((2, 0)), opset=10, pads=[-1, 1, 0, 0]), False),
])
def test_predicates(table, where, applies):
    assert (known.find(table, where) is not None) == applies


@pytest.mark.parametrize("statistics, traps", [("m, v", False), ("m, m", True), ("b, v", True)])
def test_shared_statistics_are_a_trap(statistics, traps):
    model = parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 17]>
      g (float[2,3] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[2,3] y) {{
        y, p, q = BatchNormalization<training_mode = 1>(x, s, b, {statistics}) }}""")
    assert (known.trap("ONNX Runtime", model, {}, {}) is not None) == traps
