"""What Trainer takes for an input: whatever means the same numbers, and nothing that could mean others."""

import numpy as np
import pytest

import onward

MODEL = """
    <ir_version: 8, opset_import: ["" : 17]>
    m ({x}[N,2] x, bool[N,1] flag) => ({x}[N,3] y) <{x}[2,3] w = {{1, -2, 3, 0.5, 0.25, -1}}> {{
        use = Where(flag, x, x)
        y = MatMul(use, w)
    }}
"""
X = np.array([[0.5, -1.25], [3.0, 2.0]])
FLAG = np.array([[True], [False]])
LABEL = np.array([2, 0])


def trainer(x="float", loss="softmax_cross_entropy"):
    model = onward.parse(MODEL.format(x=x))
    return onward.Trainer(onward.prepare(model, loss=loss, optimizer="sgd", learning_rate=0.1, train=["w"]))


class Tensor:
    """What PyTorch's tensors have, one that belongs to a graph and lies on another device included."""

    def __init__(self, array, ready=False):
        self.array, self.ready = array, ready

    def detach(self):
        return self

    def cpu(self):
        return Tensor(self.array, ready=True)

    def __array__(self, dtype=None, copy=None):
        assert self.ready
        return self.array


ACCEPTED = {
    "float64": {"x": X},
    "float16": {"x": X.astype("float16")},
    "big-endian": {"x": X.astype(">f4"), "label": LABEL.astype(">i8")},
    "transposed": {"x": np.ascontiguousarray(X.T).T},
    "strided": {"x": np.repeat(X, 2, axis=0)[::2], "label": np.repeat(LABEL, 3)[::3]},
    "lists": {"x": X.tolist(), "label": LABEL.tolist(), "flag": [[True], [False]]},
    "tuples": {"x": tuple(map(tuple, X)), "label": tuple(LABEL)},
    "tensor": {"x": Tensor(X), "label": Tensor(LABEL)},
    **{f"{name} labels": {"label": LABEL.astype(name)} for name in ("int32", "uint8", "int8", "uint64", "float32", "float64")},
    "bool labels": {"label": LABEL.astype(bool), "as": np.array([1, 0])},
    "a column of labels": {"label": LABEL[:, None]},
    "a row of flags": {"flag": FLAG[:, 0]},
    "whole numbers": {"x": np.array([[1, 2], [3, -4]]), "as x": np.array([[1.0, 2], [3, -4]])},
}


@pytest.mark.parametrize("dtype", ["float", "double"])
@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name, dtype):
    given = dict(ACCEPTED[name])
    meant = {"x": given.pop("as x", X), "label": given.pop("as", LABEL), "flag": FLAG}
    meant["x"] = meant["x"].astype({"float": "float32", "double": "float64"}[dtype])
    one, other = trainer(dtype), trainer(dtype)
    assert one.step(meant)["loss"] == other.step(meant | given)["loss"]
    assert np.array_equal(one.gradients(meant)["w"], other.gradients(meant | given)["w"])
    without_label = {key: value for key, value in (meant | given).items() if key != "label"}
    del meant["label"]
    assert np.array_equal(one.infer(meant)["y"], other.infer(without_label)["y"])
    assert one.infer(meant)["y"].dtype == meant["x"].dtype


@pytest.mark.parametrize("given, message", [
    ({"x": np.full((2, 2), 1e39)}, r"element 0 is 1e\+39, which f32 cannot represent"),
    ({"x": X.astype(complex)}, "c128 is not converted to f32: pass an array of f32"),
    ({"x": np.array([[2**24 + 1, 0], [0, 0]])}, "element 0 is 16777217, which f32 cannot represent: pass floats"),
    ({"x": X[None]}, r"f64\[1,2,2\] does not fit f32\[N,2\]"),
    ({"x": X[:, :1]}, "dimension 1 is 2 and 1"),
    ({"x": [[1, 2], [3]]}, "list can't be taken for an array"),
    ({"x": None}, "must hold strings, not NoneType"),
    ({"x": "data.npy"}, "does not"),
    ({"label": LABEL + 0.5}, "element 0 is 2.5, which i64 cannot represent: pass integers"),
    ({"label": [np.nan, 0]}, "element 0 is nan"),
    ({"label": np.eye(3)[LABEL]}, r"f64\[2,3\] does not fit i64\[N\]"),
    ({"label": 2}, r"i64\[\] does not fit i64\[N\]"),
    ({"flag": FLAG.astype(int)}, "i64 is not converted to bool: pass an array of bool"),
], ids=lambda value: str(value)[:30])
def test_refused(given, message):
    with pytest.raises(onward.Error, match=message) as error:
        trainer().step({"x": X, "label": LABEL, "flag": FLAG} | given)
    assert f"in the array for '{next(iter(given))}'" in str(error.value)


def test_a_column_is_a_target_of_rows():
    """Targets [N] for outputs [N,1], which broadcasting would make [N,N]."""
    model = onward.parse('<ir_version: 8, opset_import: ["" : 17]> m (float[N,1] x) => (float[N,1] y) '
                         "<float[1,1] w = {2}> { y = MatMul(x, w) }")
    column = onward.Trainer(onward.prepare(model, loss="mse", optimizer="sgd", train=["w"]))
    assert column.step({"x": [1, 2, 3], "label": [2, 4, 7]})["loss"] == np.float32(1 / 3)


def test_a_number_is_a_scalar():
    model = onward.parse('<ir_version: 8, opset_import: ["" : 17]> m (float x, float[1] z) => (float[1] y) { y = Mul(x, z) }')
    assert onward.Trainer(model).infer({"x": 3, "z": 0.5})["y"].tolist() == [1.5]
