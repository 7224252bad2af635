"""ONNX's node tests in other opsets: what stock ONNX Runtime computes as expected, it still does."""

import pathlib
import sys
import warnings

import lowered
import numpy as np
import onnx
import pytest
from onnx.backend.test.loader import load_model_tests

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "suite"))
import suite  # noqa: E402

# The opset, and how many of the tests it can say.
OPSETS = {13: 900, 17: 1100, 21: 1250, 26: 1300}

# ONNX Runtime has none of its own, and takes the body of the standard's function where the model is of that version.
NOT_IN_RUNTIME = {"test_swish"}


def run(model, inputs):
    """What ONNX Runtime gives, or nothing where it does not take the model."""
    try:
        session = lowered.session(model)
        return session.run(None, dict(zip([each.name for each in session.get_inputs()], inputs, strict=True)))
    except Exception:
        return None


def equal(results, expected):
    for found, array in zip(results, expected, strict=True):
        if array.dtype == object:
            return np.array_equal(found, array)
        if found.dtype != array.dtype or not np.allclose(found, array, rtol=1e-3, atol=1e-4, equal_nan=True):
            return False
    return True


@pytest.fixture(scope="module")
def cases():
    """Those that it runs as they are, with what the standard expects."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # making the node tests divides by zero on purpose
        cases = load_model_tests(kind="node")
    for case in cases:
        model, (inputs, expected) = suite.read_model(case), case.data_sets[0]
        arrays = [isinstance(each, np.ndarray | np.generic) for each in [*inputs, *expected]]
        if not all(arrays):  # sequences
            continue
        expected = list(map(np.asarray, expected))
        results = run(model, inputs)
        if results is not None and equal(results, expected):
            found[case.name] = (model, inputs, expected)
    return found


@pytest.mark.parametrize("opset", OPSETS)
def test_same_results(cases, tmp_path, opset):
    suite.write(tmp_path / "in", {name: model for name, (model, _, _) in cases.items()})
    lines = suite.run_tool("upgrade", tmp_path / "in", tmp_path / "out", str(opset))
    written = [name for name in cases if "error" not in lines[name]]
    assert [name for name in written if "bug" in lines[name]] == []
    wrong = []
    for name in written:
        _, inputs, expected = cases[name]
        results = run(onnx.load(tmp_path / "out" / f"{name}.onnx"), inputs)
        if name not in NOT_IN_RUNTIME and (results is None or not equal(results, expected)):
            wrong.append(name)
    assert wrong == []
    assert len(written) > OPSETS[opset], len(written)
