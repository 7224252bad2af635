"""ONNX's node tests, through the backend interface: every test of operators that Onward has passes, or is
listed with the reason why not."""

import fnmatch
import warnings

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

import onward
import onward.backend

# Patterns of tests that do not pass, and why. Each that a pattern fits must fail.
GAPS = {
    "test_bernoulli*_expanded": "random numbers are each one's own",
    "test_training_dropout": "random numbers are each one's own",
    "test_training_dropout_mask": "random numbers are each one's own",
    "test_training_dropout_default*": "random numbers are each one's own",
    "test_cast*_to_FLOAT8*": "casts to 8-bit floats have no kernel yet",
    "test_cast*_to_FLOAT4E2M1*": "casts to 4-bit floats have no kernel yet",
    "test_equal_string*": "comparing strings has no kernel yet",
    "test_identity_sequence": "sequences can't be given yet",
    "test_identity_opt": "optionals can't be given yet",
    "test_maxpool_with_argmax_2d_precomputed_strides": "indices in column order have no kernel yet",
    "test_scatter_elements_with_reduction_m*": "only the reduction that gradients need is there",
}


def node_tests():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # making the tests divides by zero on purpose
        return {case.name: case for case in load_model_tests(kind="node")}


def operators_of(graph):
    for node in graph.node:
        yield ("" if node.domain == "ai.onnx" else node.domain, node.op_type)
        for attribute in node.attribute:
            for subgraph in [attribute.g, *attribute.graphs]:
                yield from operators_of(subgraph)


def array(value):
    """Types that NumPy lacks come as messages."""
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def test_node_tests():
    ours = set(onward.operators()) | {("ai.onnx.preview.training", "Gradient")}
    tests = {name: case for name, case in node_tests().items()
             if set(operators_of(case.model.graph)) <= ours and not case.model.functions}
    failed = {}
    for name, case in tests.items():
        try:
            backend = onward.backend.prepare(case.model)
            for inputs, expected in case.data_sets:
                results = backend.run([array(each) for each in inputs])
                assert len(results) == len(expected)
                for result, wanted in zip(results, expected):
                    wanted = array(wanted)
                    assert result.dtype == wanted.dtype and result.shape == wanted.shape
                    if wanted.dtype == object:
                        assert result.tolist() == wanted.tolist()
                    else:
                        np.testing.assert_allclose(result.astype(float), wanted.astype(float), rtol=case.rtol, atol=case.atol)
        except Exception as error:
            failed[name] = f"{type(error).__name__}: {error}"
    gaps = {name for name in tests if any(fnmatch.fnmatchcase(name, pattern) for pattern in GAPS)}
    assert {name: why for name, why in failed.items() if name not in gaps} == {}
    assert gaps - set(failed) == set(), "these pass now"
    assert all(fnmatch.filter(gaps, pattern) for pattern in GAPS)
    assert len(tests) - len(gaps) > 600


def test_node_runs_alone():
    node = onnx.helper.make_node("Gemm", ["a", "b"], ["y"], transB=1)
    a, b = np.arange(6.0).reshape(2, 3), np.ones((4, 3))
    [y] = onward.backend.run_node(node, [a, b])
    assert np.array_equal(y, a @ b.T)


def test_nothing_gives_nothing():
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    [y] = onward.backend.run_node(node, [np.zeros((0, 3), np.float32)])
    assert y.shape == (0, 3) and y.dtype == np.float32


def test_devices():
    assert onward.backend.supports_device("CPU")
    assert not onward.backend.supports_device("CUDA")
    model = onward.parse('<ir_version: 8, opset_import: ["" : 17]> m (float[2] x) => (float[2] y) { y = Neg(x) }')
    [y] = onward.backend.run_model(model, [np.ones(2, np.float32)])
    assert y.tolist() == [-1, -1]
    with pytest.raises(onward.Error, match="CUDA is not supported"):
        onward.backend.prepare(model, "CUDA")
    with pytest.raises(onward.Error, match="takes 1 inputs, not 2"):
        onward.backend.run_model(model, [y, y])
