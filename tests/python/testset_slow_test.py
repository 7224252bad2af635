"""The test set that `onward testset` writes, read from its files: Onward passes with symbolic dimensions and without shapes
what it passes with sizes, and one loaded model takes inputs of two sizes."""

import collections
import fnmatch
import json
import os
import pathlib
import subprocess
import sys

import backend_test
import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests
from program import own_environment

import onward
import onward.backend
import onward.testset

# Patterns of tests that pass with sizes, and do not with open ones; each that a pattern fits must fail.
SYMBOLIC_GAPS: dict[str, str] = {}
ERASED_GAPS = {
    "test_dynamicquantizelinear*_expanded":
        "what a scale of opset 11 means is a question of ranks, and no rule of the standard tells that a reduction of all "
        "dimensions is a scalar where the rank of its input is not known",
}

# An example of a batch does not change another: where input 0 has the examples twice, so has each result.
EACH_EXAMPLE = """
    Abs Acos Acosh Asin Asinh Atan Atanh Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish Identity IsInf IsNaN
    LeakyRelu Log Mish Neg Not Reciprocal Relu Round Selu Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Swish Tan Tanh
    ThresholdedRelu AveragePool Conv DepthToSpace GlobalAveragePool GlobalMaxPool InstanceNormalization LRN MaxPool
    SpaceToDepth
""".split()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("testset") / "set"
    done = subprocess.run([os.environ["ONWARD"], "testset", "-o", folder], capture_output=True, text=True,
                          env=own_environment() | {"ONWARD_PYTHON": sys.executable})
    assert done.returncode == 0, done.stderr
    return folder


def parsed(data, kind):
    if kind.HasField("optional_type"):
        proto = onnx.OptionalProto.FromString(data)
        if proto.HasField("sequence_value"):
            return numpy_helper.to_list(proto.sequence_value)
        return numpy_helper.to_array(proto.tensor_value) if proto.HasField("tensor_value") else None
    if kind.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    return numpy_helper.to_array(onnx.TensorProto.FromString(data))


def value(file, kind):
    """What a file holds, by the type that the model states."""
    data = file.read_bytes()
    if kind.HasField("map_type"):
        return entries(onnx.MapProto.FromString(data))
    if kind.HasField("sequence_type") and kind.sequence_type.elem_type.HasField("map_type"):
        return [entries(each) for each in onnx.SequenceProto.FromString(data).map_values]
    return parsed(data, kind)


def entries(proto):
    keys = proto.keys or [key.decode() for key in proto.string_keys]
    return dict(zip(keys, map(numpy_helper.to_array, proto.values.tensor_values), strict=True))


def cases(folder, part):
    """name -> test, as ONNX's own loader finds it."""
    return {case.name: case for case in load_model_tests(data_dir=str(folder), kind=part)}


def check(result, wanted, case):
    if isinstance(wanted, list):
        assert len(result) == len(wanted)
        for each, other in zip(result, wanted):
            check(each, other, case)
    elif isinstance(wanted, dict):
        assert list(result) == list(wanted)
        check(list(result.values()), list(wanted.values()), case)
    elif wanted is None:
        assert result is None
    else:
        assert result.dtype == wanted.dtype and result.shape == wanted.shape
        if wanted.dtype == object:
            assert result.tolist() == wanted.tolist()
        else:
            np.testing.assert_allclose(result.astype(float), wanted.astype(float), rtol=case.rtol, atol=case.atol)


def values(data, which, infos):
    return [value(data / f"{which}_{i}.pb", info.type) for i, info in enumerate(infos)
            if (data / f"{which}_{i}.pb").exists()]


def has_containers(model):
    return any(not value.type.HasField("tensor_type") for value in [*model.graph.input, *model.graph.output])


def outcome(case):
    """"passed", or what went wrong."""
    try:
        model = onnx.load(pathlib.Path(case.model_dir) / "model.onnx")
        backend = onward.backend.prepare(model)
        for data in sorted(pathlib.Path(case.model_dir).glob("test_data_set_*")):
            results = backend.run(values(data, "input", model.graph.input))
            check(list(results), values(data, "output", model.graph.output), case)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "passed"


def known_gaps(names, gaps):
    return {name for name in names if any(fnmatch.fnmatchcase(name, pattern) for pattern in gaps)}


def test_the_set_is_counted_and_explained(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["tests"] == {part.name: len(list(part.iterdir())) for part in folder.iterdir() if part.is_dir()}
    assert manifest["tests"]["node_symbolic"] == manifest["tests"]["node_erased"] == len(load_model_tests(kind="node"))
    assert manifest["ml_operators"] == sorted(schema.name for schema in onnx.defs.get_all_schemas() if schema.domain == "ai.onnx.ml")
    assert all(part in (folder / "README.md").read_text() for part in manifest["tests"])
    again = subprocess.run([os.environ["ONWARD"], "testset", "-o", folder], capture_output=True, text=True,
                           env=own_environment() | {"ONWARD_PYTHON": sys.executable})
    assert again.returncode == 1 and "give a new or an empty folder" in again.stderr


def test_it_says_what_to_install(tmp_path):
    (tmp_path / "onnx.py").write_text("raise ImportError('not here')")
    paths = os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]])
    done = subprocess.run([os.environ["ONWARD"], "testset", "-o", tmp_path / "set"], capture_output=True, text=True,
                          env=own_environment() | {"ONWARD_PYTHON": sys.executable, "PYTHONPATH": paths})
    assert done.returncode == 1 and done.stderr == (
        "error: the test set is made with ONNX's Python package, which is not installed: pip install onnx\n")
    assert not (tmp_path / "set").exists()


def test_no_two_dimensions_share_a_symbol(folder):
    for case in cases(folder, "node_symbolic").values():
        graph = onnx.load(pathlib.Path(case.model_dir) / "model.onnx").graph
        dimensions = [dimension for info in [*graph.input, *graph.output] for kind in onward.testset._tensor_types(info.type)
                      for dimension in kind.shape.dim]
        symbols = collections.Counter(dimension.dim_param for dimension in dimensions)
        assert "" not in symbols and set(symbols.values()) <= {1}, case.name


@pytest.mark.parametrize("part, gaps", [("symbolic", SYMBOLIC_GAPS), ("erased", ERASED_GAPS)])
def test_what_passes_with_sizes_passes_without(folder, part, gaps):
    given_up = backend_test.GAPS  # with sizes, which backend_test.py sees to
    found = {name: outcome(case) for name, case in cases(folder, f"node_{part}").items()
             if not known_gaps([name], given_up)}
    failed = {name: what for name, what in found.items() if what != "passed"}
    operators = set(onward.operators()) | {("ai.onnx.preview.training", "Gradient"), ("", "Scatter"), ("", "Upsample")}
    missing = {name for name in failed
               if not set(backend_test.operators_of(onnx.load(folder / f"node_{part}" / name / "model.onnx").graph)) <= operators}
    listed = known_gaps(found, gaps)
    assert {name: what for name, what in failed.items() if name not in listed | missing} == {}
    assert listed - set(failed) == set(), "these pass now: take them out"
    assert [pattern for pattern in gaps if not fnmatch.filter(failed, pattern)] == [], "these fit no test"


@pytest.mark.parametrize("part", ["ml", "ml_symbolic", "ml_erased"])
def test_ml(folder, part):
    found = {name: outcome(case) for name, case in cases(folder, part).items()}
    assert {name: what for name, what in found.items() if what != "passed"} == {}


@pytest.mark.parametrize("part", ["node_symbolic", "node_erased"])
def test_one_model_takes_two_sizes(folder, part):
    tried = set()
    for case in cases(folder, part).values():
        model = onnx.load(pathlib.Path(case.model_dir) / "model.onnx")
        data = pathlib.Path(case.model_dir) / "test_data_set_0"
        if len(model.graph.node) != 1 or model.graph.node[0].op_type not in EACH_EXAMPLE or has_containers(model):
            continue
        inputs, wanted = (values(data, which, infos) for which, infos in
                          (("input", model.graph.input), ("output", model.graph.output)))
        # The indices of a MaxPool count through the batch.
        if any(each.ndim == 0 for each in [inputs[0], *wanted]) or len(wanted) != 1:
            continue
        tried.add(model.graph.node[0].op_type)
        backend = onward.backend.prepare(model)
        for times in (1, 2, 1):
            [result] = backend.run([np.concatenate([inputs[0]] * times), *inputs[1:]])
            check(result, np.concatenate([wanted[0]] * times), case)
    assert tried == set(EACH_EXAMPLE)
