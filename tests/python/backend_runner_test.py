"""ONNX's backend suite through its own runner: nodes, simple models, those that PyTorch once wrote, and the networks whose
weights it makes up. The counts are in backend-counts.txt of the tools' folder, which `make test` prints at its end."""

import os
import pathlib
import re
import unittest

import numpy as np
import onnx.backend.test
import pytest

import onward.backend

RANDOM = "NumPy's random numbers are expected"
GAPS = {
    "Node": {
        **dict.fromkeys([f"test_bernoulli{kind}{how}" for kind in ("", "_double", "_seed") for how in ("", "_expanded")], RANDOM),
        **dict.fromkeys([f"test_training_dropout{how}" for how in ("", "_default", "_default_mask", "_mask")], RANDOM),
    },
    "Simple": {}, "PyTorchConverted": {}, "PyTorchOperator": {}, "Real": {},
}
FEWEST = {"Node": 1884, "Simple": 23, "PyTorchConverted": 82, "PyTorchOperator": 35, "Real": 9}


class Suite(onnx.backend.test.BackendTest):
    """The suite, which compares a sequence's tensors row by row, and so falls where one is a scalar: here whole ones are
    compared, by the suite's own function."""

    @classmethod
    def assert_similar_outputs(cls, ref_outputs, outputs, **tolerance):
        compare = super().assert_similar_outputs
        assert len(outputs) == len(ref_outputs)
        for wanted, given in zip(ref_outputs, outputs):
            assert isinstance(given, list) == isinstance(wanted, list)
            if isinstance(given, list):
                compare(wanted, given, **tolerance)
            else:
                compare([wanted], [given], **tolerance)


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    """The test cases by kind, with what they download or make in a folder of their own."""
    os.environ["ONNX_HOME"] = str(tmp_path_factory.mktemp("home"))
    backend = Suite(onward.backend, __name__)
    backend.exclude("_cuda")
    cases = backend.test_cases
    return {re.fullmatch("OnnxBackend(.*?)(Model)?Test", name).group(1): case for name, case in cases.items()}


def test_all_kinds(suite):
    lines = []
    for kind, known in GAPS.items():
        result = unittest.TestResult()
        cases = list(unittest.defaultTestLoader.loadTestsFromTestCase(suite[kind]))
        unittest.TestSuite(cases).run(result)
        not_run = {case.id().rpartition(".")[2] for case, _ in result.skipped}
        wrong = {case.id().rpartition(".")[2].removesuffix("_cpu"): text for case, text in result.failures + result.errors}
        run = result.testsRun - len(not_run)
        lines.append(f"{kind}: {run - len(wrong)} of {run} pass")
        assert run >= FEWEST[kind] and all(name.endswith("_cuda") for name in not_run), (kind, run)
        assert wrong.keys() == known.keys(), (kind, {name: wrong.get(name) for name in wrong.keys() ^ known.keys()})
    (pathlib.Path(os.environ["ONWARD_TOOLS"]) / "backend-counts.txt").write_text("".join(f"  {line}\n" for line in lines))


def test_the_runner_itself_compares_no_sequence_of_scalars():
    """Once it does, `Suite` can go."""
    values = [[np.zeros((), np.float32)]]
    with pytest.raises(TypeError, match="Unable to compare"):
        onnx.backend.test.BackendTest.assert_similar_outputs(values, values, rtol=0, atol=0)
