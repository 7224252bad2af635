"""The reference kernels give what ONNX's own reference evaluator gives, on every operator case."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lower"))
from exact_operators import EXACT_OPERATORS  # noqa: E402

# Random numbers are each one's own: compared by shape and type alone.
OTHER_RANDOM_NUMBERS = {"Dropout in training", "Dropout of the default ratio", "RandomNormal", "RandomUniform",
                        "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial"}

# Where the evaluator has a gap, even with our own operators: what it should give.
BETTER = {
    "Pad negative": lambda x, pads: np.pad(x[1:, :-2], [(0, 1), (0, 0)]),
    # The evaluator takes padding away where the standard's inference adds none.
    "Conv same, strides beyond the window": lambda x, w: np.einsum("oc,ncl->nol", w[..., 0], x[..., ::3]),
    "MaxPool same, strides beyond the window": lambda x: x[..., ::3],
    "AveragePool same, strides beyond the window": lambda x: (x[..., ::3, 0::4] + x[..., ::3, 1::4]) / 2,
    "Slice backwards from before the beginning": lambda x, **bounds: x[:1],
    "Dropout of the default ratio": lambda x, training: x,
    "Multinomial": lambda x: np.zeros((2, 50)),
}


def read(path):
    return numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes()))


def roundings(value):
    """Relative and absolute: operators that know no float64 are rounded after each step."""
    return (1e-5, 1e-5) if value.dtype == np.float32 else (1e-12, 1e-12)


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cases")
    subprocess.run([pathlib.Path(os.environ["ONWARD_TOOLS"]) / "case_tool", folder], check=True)
    return sorted(folder.iterdir())


def test_values(cases):
    assert len(cases) > 100
    wrong = []
    for folder in cases:
        case = json.loads((folder / "case.json").read_text())
        feeds = {name: read(folder / f"{name}.input") for name in case["inputs"]}
        model = onnx.load(folder / "model.onnx")
        if case["name"] in BETTER:
            results = [BETTER[case["name"]](**feeds)]
        else:
            results = ReferenceEvaluator(model, new_ops=EXACT_OPERATORS).run(case["outputs"], feeds)
        expected = dict(zip(case["outputs"], results))
        for name, value in expected.items():
            value, result = np.asarray(value), read(folder / f"{name}.result")
            if value.shape != result.shape or value.dtype != result.dtype:
                wrong.append(f"{case['name']}: {name} is {result.dtype}{result.shape}, expected {value.dtype}{value.shape}")
            elif case["name"] not in OTHER_RANDOM_NUMBERS and not np.allclose(result, value, *roundings(value)):
                wrong.append(f"{case['name']}: {name} differs by {np.abs(result - value).max()}")
    assert wrong == []
