"""ONNX's node tests, through the backend interface: every test of operators that Onward has passes, or is
listed with the reason why not."""

import warnings

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

import onward
import onward.backend

GAPS = {}


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


def test_node_tests():
    ours = set(onward.operators()) | {("ai.onnx.preview.training", "Gradient")}
    tests = {name: case for name, case in node_tests().items()
             if set(operators_of(case.model.graph)) <= ours and not case.model.functions}
    failed = {}
    for name, case in tests.items():
        try:
            backend = onward.backend.prepare(case.model)
            for inputs, expected in case.data_sets:
                results = backend.run(inputs)
                assert len(results) == len(expected)
                for result, wanted in zip(results, expected):
                    wanted = np.asarray(wanted)
                    assert result.dtype == wanted.dtype and result.shape == wanted.shape
                    if wanted.dtype == object:
                        assert result.tolist() == wanted.tolist()
                    else:
                        np.testing.assert_allclose(result.astype(float), wanted.astype(float), rtol=case.rtol, atol=case.atol)
        except Exception as error:
            failed[name] = f"{type(error).__name__}: {str(error)[:150]}"
    for name, why in failed.items(): print(name, why.replace("\n"," "))
    assert {name: why for name, why in failed.items() if name not in GAPS} == {}
    assert set(GAPS) - set(failed) == set()
    assert len(tests) > 300
