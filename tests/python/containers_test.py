"""What a model gives beside tensors comes as Python's own: maps as dicts, sequences as lists, what is not there as None."""

import numpy as np
import pytest
from program import onward_program

import onward

X = np.array([[0.25, 0.75], [0.5, 0.5]], np.float32)

# Nodes, the type of what they give from x, and what that is.
GIVEN = {
    "maps by integers": ("y = ai.onnx.ml.ZipMap<classlabels_int64s = [7, 3]>(x)", "seq(map(int64, float))",
                         [{7: 0.25, 3: 0.75}, {7: 0.5, 3: 0.5}]),
    "maps by strings": ('y = ai.onnx.ml.ZipMap<classlabels_strings = ["b", "ä"]>(x)', "seq(map(string, float))",
                        [{"b": 0.25, "ä": 0.75}, {"b": 0.5, "ä": 0.5}]),
    "a sequence": ("z = Neg(x) y = SequenceConstruct(x, z)", "seq(float[2,2])", [X, -X]),
    "an empty sequence": ("y = SequenceEmpty()", "seq(float[])", []),
    "an optional tensor": ("z = Neg(x) y = Optional(z)", "optional(float[2,2])", -X),
    "nothing": ("y = Optional<type = float[2]>()", "optional(float[2])", None),
}


def model_of(name):
    nodes, kind, _ = GIVEN[name]
    return onward.parse(f"""<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 3]>
        g (float[N,2] x) => ({kind} y, float[N,2] twice) {{ {nodes} twice = Add(x, x) }}""")


@pytest.mark.parametrize("name", GIVEN)
def test_what_is_given(name):
    wanted = GIVEN[name][2]
    x = X.copy()
    trainer = onward.Trainer(model_of(name))
    for _ in range(2):
        results = trainer.infer({"x": x})
        x[:] = 9  # the results are their own
        y = results["y"]
        assert type(y) is type(wanted)
        if isinstance(wanted, list):
            assert len(y) == len(wanted)
            assert all(np.array_equal(a, b) if isinstance(b, np.ndarray) else a == b for a, b in zip(y, wanted))
        elif wanted is not None:
            assert np.array_equal(y, wanted)
        assert isinstance(results["twice"], np.ndarray) and np.array_equal(results["twice"], 2 * X)
        x = X.copy()


def test_batches_of_any_size():
    trainer = onward.Trainer(model_of("maps by strings"))
    for rows in (2, 1, 0, 2):
        assert trainer.infer({"x": X[:rows]})["y"] == GIVEN["maps by strings"][2][:rows]
    with pytest.raises(onward.Error, match="dimension 1 is 2 and 3"):
        trainer.infer({"x": np.zeros((2, 3), np.float32)})


def test_graphs_inside_of_operators_without_kernels():
    """An SVMClassifier joins probabilities in a Loop; here what it gives is followed by a map."""
    x = np.linspace(-2, 2, 12, dtype=np.float32).reshape(4, 3)
    nodes = """label, p = ai.onnx.ml.SVMClassifier<
        support_vectors = [0.5, 1.0, -1.0, 2.0, 0.0, 1.0, -1.0, 0.5, 0.0], coefficients = [0.5, -1.5, 1.0, 2.0, -0.5, 1.0],
        rho = [0.25, -0.5, 0.125], vectors_per_class = [1, 1, 1], classlabels_strings = ["a", "b", "c"], kernel_type = "RBF",
        kernel_params = [0.5, 0.0, 0.0], prob_a = [-1.5, -0.5, -1.0], prob_b = [0.25, 0.0, -0.5]>(x)"""
    given = []
    for last, kind in (("y = Identity(p)", "float[N,3]"),
                       ('y = ai.onnx.ml.ZipMap<classlabels_strings = ["a", "b", "c"]>(p)', "seq(map(string, float))")):
        trainer = onward.Trainer(onward.parse(f"""<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 3]>
            g (float[N,3] x) => (string[N] label, {kind} y) {{ {nodes} {last} }}"""))
        given.append([trainer.infer({"x": x[:rows]}) for rows in (4, 2, 4)])
    for plain, maps in zip(*given):
        assert maps["label"].tolist() == plain["label"].tolist()
        np.testing.assert_allclose([list(each.values()) for each in maps["y"]], plain["y"], rtol=1e-6)


def test_values_of_maps_are_scalars():
    [row, _] = onward.Trainer(model_of("maps by integers")).infer({"x": X})["y"]
    assert all(type(key) is int and type(value) is np.float32 for key, value in row.items())


def test_the_program_says_what_it_cannot_write(tmp_path):
    model_of("maps by strings").save(tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", X)
    done = onward_program("run", tmp_path / "m.onnx", "--input", f"x={tmp_path / 'x.npy'}")
    assert done.returncode == 1
    assert "output 'y' is seq(map(string, f32[])), not a tensor: Python's Trainer.infer gives it" in done.stderr


# The type of an input, nodes that read it, and what is given, with what comes of it.
TAKEN = {
    "a sequence": ("seq(float[N])", "y = ConcatFromSequence<axis = 0>(x)", [X[0], [9.0]], [0.25, 0.75, 9]),
    "an optional tensor": ("optional(float[2])", "y = OptionalGetElement(x)", X[0], X[0]),
    "nothing": ("optional(float[2])", "y = OptionalHasElement(x)", None, False),
    "an optional sequence": ("optional(seq(float[2]))", "s = OptionalGetElement(x) y = ConcatFromSequence<axis = 0>(s)",
                             [X[0], X[1]], X.ravel()),
    "a map by strings": ("map(string, int64)", 'y = ai.onnx.ml.DictVectorizer<string_vocabulary = ["a", "b", "c"]>(x)',
                         {"c": 3, "a": 1}, [[1, 0, 3]]),
    "a map by integers": ("map(int64, float)", "y = ai.onnx.ml.DictVectorizer<int64_vocabulary = [7, 5]>(x)",
                          {5: 0.5}, [[0, 0.5]]),
}


def taker_of(name):
    kind, nodes, _, wanted = TAKEN[name]
    result = {"b": "bool", "f": "float", "i": "int64"}[np.asarray(wanted).dtype.kind]
    return onward.parse(f"""<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 3]>
        g ({kind} x) => ({result}[] y) {{ {nodes} }}""")


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_taken(name):
    *_, given, wanted = TAKEN[name]
    y = onward.Trainer(taker_of(name)).infer({"x": given})["y"]
    assert np.array_equal(np.squeeze(y), np.squeeze(np.asarray(wanted, y.dtype)))


@pytest.mark.parametrize(("name", "given", "message"), [
    ("a map by strings", X, "a dict is needed, not ndarray"),
    ("a sequence", [["text"]], "in the value for 'x'"),
    ("an optional tensor", np.ones(3, np.float32), "dimension 0 is 2 and 3"),
])
def test_what_is_no_such_value(name, given, message):
    with pytest.raises(onward.Error, match=message):
        onward.Trainer(taker_of(name)).infer({"x": given})
