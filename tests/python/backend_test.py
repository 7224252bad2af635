"""ONNX's node tests, all of them, through the backend interface. Each passes, or is listed with the reason why
not, or uses operators that Onward does not have, which are refused by name."""

import dataclasses
import fnmatch
import pathlib
import warnings

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

import onward
import onward.backend

# Patterns of tests that do not pass although their operators are there, and why. Each that a pattern fits must
# fail: one that passes takes its line out.
RANDOM = "random numbers are each one's own"
GAPS = {
    **dict.fromkeys(["test_attention_3d_causal_bf16*", "test_attention_4d_causal_bf16*",
                     "test_attention_4d_causal_padded_kv_bf16*", "test_attention_4d_padded_kv_bf16*"],
                    "they expect a sum of exponentials that is rounded to bfloat16 after each of them"),
    "test_bernoulli*": RANDOM,
    "test_training_dropout": RANDOM,
    "test_training_dropout_mask": RANDOM,
    "test_training_dropout_default*": RANDOM,
}
# What the standard has tests for, of the operators that training a network takes. None may lose its tests.
COVERED = """
    Abs Adagrad Adam Add And AveragePool BatchNormalization Cast CastLike Clip Concat Constant ConstantOfShape Conv Div
    Dropout Equal Erf Exp Expand Flatten Gather Gelu Gemm GlobalAveragePool Gradient Greater Identity
    LayerNormalization LeakyRelu Less Log LogSoftmax MatMul Max MaxPool Min Momentum Mul Neg
    NegativeLogLikelihoodLoss Not OneHot Or Pad Pow Reciprocal ReduceMax ReduceMean ReduceSum Relu
    Reshape Shape Sigmoid Slice Softmax SoftmaxCrossEntropyLoss Split Sqrt Squeeze Sub Sum Tanh Transpose Unsqueeze
    Where
    ConcatFromSequence GRU If LSTM Loop OptionalGetElement OptionalHasElement RNN Scan SequenceAt SequenceConstruct
    SequenceEmpty SequenceErase SequenceInsert SequenceLength SequenceMap SplitToSequence
""".split()


def read(case):
    """The same case with what its folder holds."""
    folder = pathlib.Path(case.model_dir)

    def tensors(data, which):
        files = [data / f"{which}_{i}.pb" for i in range(len(list(data.glob(f"{which}_*"))))]
        return [onnx.TensorProto.FromString(file.read_bytes()) for file in files]

    data = [(tensors(each, "input"), tensors(each, "output")) for each in sorted(folder.glob("test_data_set_*"))]
    return dataclasses.replace(case, model=onnx.load(folder / "model.onnx"), data_sets=data)


def node_tests():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # making the tests divides by zero on purpose
        return {case.name: case for case in [*load_model_tests(kind="node"), *map(read, load_model_tests(kind="simple"))]}


def operators_of(graph):
    for node in graph.node:
        yield ("" if node.domain == "ai.onnx" else node.domain, node.op_type)
        for attribute in node.attribute:
            for subgraph in [attribute.g, *attribute.graphs]:
                yield from operators_of(subgraph)


def array(value):
    """Types that NumPy lacks come as messages; sequences as lists, what is not there as None."""
    if isinstance(value, list) or value is None:
        return value
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def check(result, wanted, case):
    if isinstance(wanted, list):
        assert isinstance(result, list) and len(result) == len(wanted)
        for each, other in zip(result, wanted):
            check(each, np.asarray(other), case)
        return
    assert result.dtype == wanted.dtype and result.shape == wanted.shape
    if wanted.dtype == object:
        assert result.tolist() == wanted.tolist()
    else:
        np.testing.assert_allclose(result.astype(float), wanted.astype(float), rtol=case.rtol, atol=case.atol)


def run(case):
    backend = onward.backend.prepare(case.model)
    for inputs, expected in case.data_sets:
        results = backend.run([array(each) for each in inputs])
        assert len(results) == len(expected)
        for result, wanted in zip(results, map(array, expected)):
            check(result, wanted, case)


def run_without_inputs(case):
    """Operators are looked at before inputs are, which may be of kinds that can't be given."""
    onward.backend.prepare(case.model).run({})


def outcome(run, case):
    try:
        run(case)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "passed"


@pytest.fixture(scope="module")
def cases():
    return node_tests()


@pytest.fixture(scope="module")
def outcomes(cases):
    """What became of each test, of those of Onward's operators and of all others."""
    # Gradients are written out; Scatter is what ScatterElements was called before opset 11, and Upsample what Resize was.
    known = set(onward.operators()) | {("ai.onnx.preview.training", "Gradient"), ("", "Scatter"), ("", "Upsample")}
    ours, others = {}, {}
    for name, case in cases.items():
        operators = set(operators_of(case.model.graph))
        if operators <= known:
            ours[name] = (operators, outcome(run, case))
        else:
            others[name] = (operators - known, outcome(run_without_inputs, case))
    return ours, others


def test_every_test_of_our_operators_passes_or_is_a_known_gap(outcomes):
    ours, _ = outcomes
    gaps = {name for name in ours if any(fnmatch.fnmatchcase(name, pattern) for pattern in GAPS)}
    assert {name: what for name, (_, what) in ours.items() if what != "passed" and name not in gaps} == {}
    assert {name for name in gaps if ours[name][1] == "passed"} == set(), "these pass now: take them out of GAPS"
    assert [pattern for pattern in GAPS if not fnmatch.filter(gaps, pattern)] == [], "these fit no test"


def test_every_operator_has_tests_that_pass(outcomes):
    ours, _ = outcomes
    covered = {op for operators, what in ours.values() if what == "passed" for _, op in operators}
    assert set(COVERED) - covered == set()


def test_all_other_operators_are_refused_by_name(outcomes):
    _, others = outcomes
    assert {name: what for name, (operators, what) in others.items()
            if not what.startswith("Error: ") or not any(op in what for _, op in operators)} == {}


def of_any_length(model):
    """The same model for first dimensions of any size."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    for value in [*model.graph.input, *model.graph.output]:
        for dim in value.type.tensor_type.shape.dim[:1]:
            dim.dim_param = "N"
    return model


@pytest.mark.parametrize("name", [
    *[f"test_bernoulli{kind}{how}" for kind in ("", "_double", "_seed") for how in ("", "_expanded")],
    *[f"test_training_dropout{how}" for how in ("", "_default", "_default_mask", "_mask")]])
def test_random_numbers_are_distributed_as_the_suite_has_them(cases, name):
    """Its tests with random numbers can't be passed but by NumPy's; here they are given their inputs many times over."""
    times = 4000
    case = cases[name]
    [[(x, *settings), expected]] = case.data_sets
    for model, data, count in [(case.model, x, 1), (of_any_length(case.model), np.concatenate([x] * times), times)]:
        results = onward.backend.run_model(model, [data, *settings])
        assert [each.dtype for each in results] == [each.dtype for each in expected]
        assert [each.shape for each in results] == [(count * each.shape[0], *each.shape[1:]) for each in expected]
    y, *masks = results
    hits = y != 0
    if settings:  # a Dropout
        chances = np.full(x.shape, 1 - settings[0])
        assert np.all(data != 0) and all(np.array_equal(mask, hits) for mask in masks)
        np.testing.assert_allclose(y[hits], (data / (1 - settings[0]))[hits], rtol=1e-6)
    else:
        # The standard's function body has Greater(random, x), the wrong way round: that graph is run as it is.
        chances = 1 - x if name.endswith("expanded") else x
        assert set(np.unique(y)) == {0, 1}
    drawn = hits.reshape(times, *x.shape)
    for events, chance in [(drawn, chances), (drawn[::2] & drawn[1::2], chances**2)]:
        off = np.abs(events.mean(axis=0) - chance)
        assert np.all(off <= 5 * np.sqrt(chance * (1 - chance) / len(events)))


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
    for inputs in ([y, y], []):
        with pytest.raises(onward.Error, match=f"the model has 1 inputs, but {len(inputs)} arrays are given"):
            onward.backend.run_model(model, inputs)
