"""Metrics are those of scikit-learn, edge cases too."""

import json
import warnings

import numpy as np
import pytest
from sklearn import metrics as sk

from program import done, onward

AVERAGES = ["macro", "micro", "weighted"]
CLOSE = {"rel": 1e-13, "abs": 1e-15}  # sums of the same numbers in another order


@pytest.fixture(autouse=True)
def undefined_is_expected():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def evaluated(folder, x, label, names, shape=None, op="Identity"):
    """A model that gives what it is given: so the metrics of any scores."""
    shape = shape or ",".join(["N", *map(str, x.shape[1:])])
    dtype = {"float32": "float", "float64": "double"}[x.dtype.name]
    (folder / "m.onnxtxt").write_text(f"""
<ir_version: 8, opset_import: ["" : 17]>
same ({dtype}[{shape}] x) => ({dtype}[{shape}] y)
{{
  y = {op}(x)
}}
""")
    np.savez(folder / "d.npz", x=x, label=label)
    result = done("eval", folder / "m.onnxtxt", "--data", folder / "d.npz", "--metrics", ",".join(names),
                  "--batch-size", 7, "--json")
    found = json.loads(result.stdout)
    values = found.get("metrics", {})
    if "accuracy" in found:
        values["accuracy"] = found["accuracy"]
    return values, found


def counted(y, p, average="binary"):
    """By our names what scikit-learn gives for predicted classes."""
    kinds = {"precision": sk.precision_score, "recall": sk.recall_score, "f1": sk.f1_score}
    expected = {f"{name}-{each}": kind(y, p, average=each) for name, kind in kinds.items() for each in AVERAGES}
    expected |= {name: kind(y, p, average=average) for name, kind in kinds.items()}
    return expected | {"accuracy": sk.accuracy_score(y, p)}


def same(found, expected):
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, **CLOSE), name


def softmax(x):
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True).astype(np.float64))
    return e / e.sum(1, keepdims=True)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shape", ["N", "N,1"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_binary(tmp_path, seed, shape, dtype):
    random = np.random.default_rng(seed)
    label = random.integers(0, 2, 90)
    x = (random.normal(size=90) + label).astype(dtype)
    x = np.round(x, seed)  # with ties, down to whole numbers; some on the threshold
    expected = counted(label, x > 0) | {"auc": sk.roc_auc_score(label, x)}
    given = x if shape == "N" else x[:, None]
    found, whole = evaluated(tmp_path, given, label, [*expected, "confusion"], shape)
    same(found, expected)
    assert whole["confusion"] == sk.confusion_matrix(label, x > 0).tolist()


def test_probabilities_have_another_threshold(tmp_path):
    random = np.random.default_rng(5)
    label, x = random.integers(0, 2, 50), random.normal(size=50)
    p = 1 / (1 + np.exp(-x))
    expected = counted(label, p > 0.5)
    same(evaluated(tmp_path, x, label, expected, op="Sigmoid")[0], expected)


@pytest.mark.parametrize("y, x", [
    ([0, 0, 0], [1.0, -1, 2]),  # no positive label
    ([1, 1, 0], [-1.0, -1, -2]),  # none predicted
    ([0, 0, 0], [-1.0, -1, -2]),  # neither
    ([1, 1], [1.0, 2]),
])
def test_binary_without_positives(tmp_path, y, x):
    y, x = np.array(y), np.array(x)
    expected = counted(y, x > 0)
    found, whole = evaluated(tmp_path, x, y, [*expected, "auc"])
    same(found, expected)
    if len(set(y)) == 1:  # scikit-learn gives NaN and a warning
        assert np.isnan(sk.roc_auc_score(y, x)) and found["auc"] is None
        assert whole["missing"]["auc"] == ("no" if y[0] == 0 else "all") + " examples have label 1"


@pytest.mark.parametrize("seed", range(4))
def test_classes(tmp_path, seed):
    random = np.random.default_rng(seed)
    label = random.integers(0, 5, 80)
    x = np.round(random.normal(size=(80, 5)) + np.eye(5)[label], 1 + seed).astype(np.float32)
    p = x.argmax(1)
    expected = counted(label, p, "macro") | {
        "auc": sk.roc_auc_score(label, softmax(x), multi_class="ovr"),
        **{f"top-{k}": sk.top_k_accuracy_score(label, x, k=k) for k in (1, 2, 4)}}
    found, whole = evaluated(tmp_path, x, label, [*expected, "confusion"])
    same(found, expected)
    assert whole["confusion"] == sk.confusion_matrix(label, p, labels=range(5)).tolist()


def test_two_classes_are_binary(tmp_path):
    random = np.random.default_rng(0)
    label = random.integers(0, 2, 60)
    x = np.round(random.normal(size=(60, 2)) + np.eye(2)[label], 2)
    expected = counted(label, x.argmax(1)) | {"auc": sk.roc_auc_score(label, x[:, 1] - x[:, 0])}
    same(evaluated(tmp_path, x, label, expected)[0], expected)
    assert expected["auc"] == pytest.approx(sk.roc_auc_score(label, softmax(x)[:, 1]), rel=1e-2)


def test_probabilities_of_classes_count_as_they_are(tmp_path):
    random = np.random.default_rng(3)
    label = random.integers(0, 3, 60)
    p = softmax(random.normal(size=(60, 3)) * 3 + np.eye(3)[label])
    expected = {"auc": sk.roc_auc_score(label, p, multi_class="ovr")}
    assert expected["auc"] != sk.roc_auc_score(label, softmax(p), multi_class="ovr")
    same(evaluated(tmp_path, p, label, expected)[0], expected)


@pytest.mark.parametrize("labels, predicted", [
    ([0, 1, 2, 0], [0, 2, 2, 1]),  # class 3 occurs nowhere: it counts for nothing
    ([0, 1, 2, 0], [0, 3, 2, 3]),  # it is only predicted: its precision is 0, its recall 0 by agreement
    ([0, 3, 3, 0], [0, 0, 1, 0]),
    ([2, 2, 2, 2], [2, 2, 2, 2]),
])
def test_a_class_that_never_occurs(tmp_path, labels, predicted):
    x = np.eye(4)[predicted]
    expected = counted(np.array(labels), np.array(predicted), "macro")
    found, whole = evaluated(tmp_path, x, np.array(labels), [*expected, "auc"])
    same(found, expected)
    assert found["auc"] is None and "examples have label" in whole["missing"]["auc"]


def test_segmentation(tmp_path):
    random = np.random.default_rng(1)
    label = random.integers(0, 3, (9, 4, 5))
    x = random.normal(size=(9, 4, 4, 5)) + np.moveaxis(np.eye(4)[label], -1, 1)
    expected = counted(label.ravel(), x.argmax(1).ravel(), "macro") | {
        "mean-iou": sk.jaccard_score(label.ravel(), x.argmax(1).ravel(), average="macro")}
    same(evaluated(tmp_path, x, label, expected)[0], expected)


@pytest.mark.parametrize("ignored", [None, 1, -100])
def test_labels_that_are_ignored(tmp_path, ignored):
    random = np.random.default_rng(2)
    label = random.integers(0, 3, (11, 6))
    if ignored == -100:
        label[random.random(label.shape) < 0.3] = -100
    x = (random.normal(size=(11, 3, 6)) + np.moveaxis(np.eye(3)[label.clip(0)], -1, 1)).astype(np.float32)
    ignore = "" if ignored is None else f"<ignore_index = {ignored}>"
    (tmp_path / "s.onnxtxt").write_text(f"""
<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
segments (float[N,3,6] x) => (float[N,3,6] scores) <float[3,1] b = {{0, 0, 0}}>
{{
  scores = Add(x, b)
}}
training_info {{
  algorithm step (int64[N,6] label) => (float loss, float[3,1] b_new)
  {{
    loss = SoftmaxCrossEntropyLoss{ignore}(scores, label)
    db = ai.onnx.preview.training.Gradient<xs = ["b"], zs = ["x", "label"], y = "loss">(b, x, label)
    b_new = Sub(b, db)
  }}
  update_binding {{
    b <- b_new
  }}
}}
""")
    np.savez(tmp_path / "d.npz", x=x, label=label)
    counts = label != ignored
    y, p = label[counts], x.argmax(1)[counts]
    expected = counted(y, p, "macro") | {
        "mean-iou": sk.jaccard_score(y, p, average="macro"),
        "top-2": sk.top_k_accuracy_score(y, np.moveaxis(x, 1, -1)[counts], k=2, labels=range(3))}
    if ignored != 1:
        expected["auc"] = sk.roc_auc_score(y, softmax(np.moveaxis(x, 1, -1)[counts]), multi_class="ovr")
    result = done("eval", tmp_path / "s.onnxtxt", "--data", tmp_path / "d.npz", "--metrics", ",".join(expected), "--json")
    found = json.loads(result.stdout)
    same(found["metrics"] | {"accuracy": found["accuracy"]}, expected)


@pytest.mark.parametrize("shape", [(40,), (40, 1), (40, 3), (40, 2, 3)])
@pytest.mark.parametrize("offset", [0, 1e6])
def test_numbers(tmp_path, shape, offset):
    random = np.random.default_rng(4)
    y = random.normal(size=shape) + offset
    p = y + random.normal(size=shape)
    flat = (y.reshape(40, -1), p.reshape(40, -1))
    expected = {"mse": sk.mean_squared_error(*flat), "mae": sk.mean_absolute_error(*flat), "r2": sk.r2_score(*flat)}
    found = evaluated(tmp_path, p, y, expected)[0]
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-12), name


@pytest.mark.parametrize("y, p", [
    ([3, 3, 3], [3, 3, 3]),  # constant labels: 1 where they are met, else 0
    ([3, 3, 3], [3, 3, 4]),
    ([1, 2, 3], [3, 2, 1]),  # worse than the mean
    ([[1, 5], [2, 5], [3, 5]], [[1, 5], [2, 5], [4, 5]]),  # one of two constant
])
def test_edges_of_r2(tmp_path, y, p):
    y, p = np.array(y, float), np.array(p, float)
    same(evaluated(tmp_path, p, y, ["r2"])[0], {"r2": sk.r2_score(y, p)})


def test_r2_of_one_example_is_missing(tmp_path):
    assert np.isnan(sk.r2_score([1.0], [2.0]))
    found, whole = evaluated(tmp_path, np.array([2.0]), np.array([1.0]), ["r2", "mse"])
    assert found == {"mse": 1, "r2": None} and whole["missing"] == {"r2": "it takes at least two examples"}


@pytest.mark.parametrize("names", ["f1,auc", "mse,r2"])
def test_what_is_no_number_is_not_dropped(tmp_path, names):
    """scikit-learn refuses it."""
    x, y = np.array([1.0, np.nan, -1]), np.array([1, 0, 0])
    with pytest.raises(ValueError):
        sk.mean_squared_error(x, y)
    found, whole = evaluated(tmp_path, x, y, names.split(","))
    assert set(found.values()) == {None}
    assert set(whole["missing"].values()) == {"not all predictions are finite numbers"}


def test_top_k_of_too_few_classes(tmp_path):
    """scikit-learn warns that it is meaningless."""
    np.savez(tmp_path / "d.npz", x=np.eye(3), label=np.arange(3))
    evaluated(tmp_path, np.eye(3), np.arange(3), ["top-2"])
    refused = onward("eval", tmp_path / "m.onnxtxt", "--data", tmp_path / "d.npz", "--metrics", "top-3")
    assert refused.returncode == 1 and "'top-3' of 3 classes is always 1" in refused.stderr
