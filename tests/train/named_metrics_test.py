"""--metrics of `onward train` and `onward eval`; what is compared with scikit-learn is in sklearn_metrics_test.py."""

import json

import numpy as np
import pytest

from program import digits, done, equal_bits, events, example, onward, state

LINEAR = """
<ir_version: 8, opset_import: ["" : 17]>
linear (float[N,4] x) => (float[N,{outputs}] y) <float[4,{outputs}] w = {{{zeros}}}>
{{
  {body}
}}
"""


def linear(folder, loss, outputs=1, body="y = MatMul(x, w)", lr=0.5, *more):
    zeros = ", ".join(["0"] * 4 * outputs)
    (folder / "linear.onnxtxt").write_text(LINEAR.format(outputs=outputs, zeros=zeros, body=body))
    done("prepare", folder / "linear.onnxtxt", "--loss", loss, "--optimizer", "sgd", "--lr", lr, *more,
         "-o", folder / f"{loss}.onnx")
    return folder / f"{loss}.onnx"


def two_kinds(folder, count=60, part=0.5, name="two.npz"):
    random = np.random.default_rng(0)
    label = (random.random(count) < part).astype(np.int64)
    x = (random.normal(size=(count, 4)) + label[:, None]).astype(np.float32)
    np.savez(folder / name, x=x, label=label.astype(np.float32)[:, None], y=label)
    return x, label


def evaluation(*arguments):
    return json.loads(done("eval", *arguments, "--json").stdout)


@pytest.mark.parametrize("loss, body", [("bce_with_logits", "y = MatMul(x, w)"),
                                        ("bce_with_logits", "z = MatMul(x, w) y = Sigmoid(z)"),
                                        ("bce", "z = MatMul(x, w) y = Sigmoid(z)")])
def test_binary(tmp_path, loss, body):
    x, label = two_kinds(tmp_path)
    model = linear(tmp_path, loss, body=body)
    result = done("train", model, "--data", tmp_path / "two.npz", "--epochs", 3, "--eval", tmp_path / "two.npz",
                  "--metrics", "accuracy,f1,auc", "-o", tmp_path / "t.onnx", "--json")
    last = events(result.stdout, "epoch")[-1]
    assert "accuracy" in last and "metrics" not in last  # f1 and auc are of evaluations
    predicted = done("run", tmp_path / "t.onnx", "--input", f"x={save(tmp_path, x)}", "-o", tmp_path / "out")
    scores = np.load(tmp_path / "out" / "y.npy")[:, 0]
    assert predicted.returncode == 0
    right = (scores > (0.5 if "Sigmoid" in body else 0)) == label
    found = last["evaluation"]
    assert found["accuracy"] == np.mean(right) > 0.7
    positive, negative = scores[label == 1], scores[label == 0]
    auc = np.mean((positive[:, None] > negative) + 0.5 * (positive[:, None] == negative))
    assert found["metrics"]["auc"] == pytest.approx(auc, rel=1e-12)
    true = np.sum(right[label == 1])
    assert found["metrics"]["f1"] == 2 * true / (2 * true + np.sum(~right))
    again = evaluation(tmp_path / "t.onnx", "--data", tmp_path / "two.npz", "--metrics", "accuracy,f1,auc")
    assert again["metrics"] == found["metrics"] and again["accuracy"] == found["accuracy"]


def save(folder, x):
    np.save(folder / "x.npy", x)
    return folder / "x.npy"


def test_accuracy_is_the_default_of_binary(tmp_path):
    two_kinds(tmp_path)
    model = linear(tmp_path, "bce_with_logits")
    arguments = (model, "--data", tmp_path / "two.npz")
    assert "accuracy" in evaluation(*arguments) and "accuracy" not in evaluation(*arguments, "--metrics", "auc")
    # Labels between 0 and 1 are none of that, and no reason to stop where nobody asked.
    np.savez(tmp_path / "two.npz", x=np.ones((3, 4), np.float32), label=np.array([[0], [0.3], [1]], np.float32))
    found = evaluation(*arguments)
    assert "accuracy" not in found and "missing" not in found
    found = evaluation(*arguments, "--metrics", "accuracy,f1")
    assert found["missing"] == dict.fromkeys(["accuracy", "f1"], "not all labels are 0 or 1")


def test_regression_is_as_it_was(tmp_path):
    random = np.random.default_rng(0)
    x = random.normal(size=(40, 4)).astype(np.float32)
    label = x @ np.ones((4, 2), np.float32)
    np.savez(tmp_path / "d.npz", x=x, label=label)
    model = linear(tmp_path, "l1", 2)
    plain = evaluation(model, "--data", tmp_path / "d.npz")
    assert set(plain) == {"model", "data", "examples", "loss", "losses"}
    found = evaluation(model, "--data", tmp_path / "d.npz", "--metrics", "mae,r2,mse")["metrics"]
    assert list(found) == ["mae", "r2", "mse"]
    assert found["mae"] == pytest.approx(plain["loss"], rel=1e-6)
    assert found["mse"] == pytest.approx(np.mean(label.astype(float) ** 2), rel=1e-12)
    result = done("train", model, "--data", tmp_path / "d.npz", "--metrics", "mse", "-o", tmp_path / "t.onnx", "--json")
    assert events(result.stdout, "epoch")[0]["metrics"]["mse"] > 0  # a mean: of epochs too
    assert "mse" in events(result.stdout, "step")[0]["metrics"]


def test_confusion_with_names_of_classes(tmp_path):
    rows = "".join(f"{i % 5},{'cat' if i % 5 < 2 else 'dog'}\n" for i in range(20))
    (tmp_path / "t.csv").write_text("size,label\n" + rows)
    (tmp_path / "linear.onnxtxt").write_text("""
<ir_version: 8, opset_import: ["" : 17]>
linear (float[N,1] features) => (float[N,2] y) <float[1,2] w = {0, 0}, float[2] b = {0, 0}>
{
  z = MatMul(features, w)
  y = Add(z, b)
}
""")
    done("prepare", tmp_path / "linear.onnxtxt", "--loss", "softmax_cross_entropy", "--optimizer", "sgd", "--lr", 1,
         "-o", tmp_path / "m.onnx")
    done("train", tmp_path / "m.onnx", "--data", tmp_path / "t.csv", "--epochs", 40, "-o", tmp_path / "t.onnx")
    arguments = ("eval", tmp_path / "t.onnx", "--data", tmp_path / "t.csv", "--metrics", "confusion,recall-macro")
    text = done(*arguments).stdout
    assert "recall-macro 1" in text and "accuracy" not in text
    assert text.splitlines()[1:] == ["label \\ predicted  cat  dog", "cat                  8    0", "dog                  0   12"]
    found = json.loads(done(*arguments, "--json").stdout)
    assert found["confusion"] == [[8, 0], [0, 12]] and found["classes"] == ["cat", "dog"]


def test_many_classes_are_listed(tmp_path):
    (tmp_path / "m.onnxtxt").write_text("""
<ir_version: 8, opset_import: ["" : 17]>
same (float[N,30] x) => (float[N,30] y)
{
  y = Identity(x)
}
""")
    label = np.arange(30)
    np.savez(tmp_path / "d.npz", x=np.eye(30, dtype=np.float32)[np.minimum(label, 27)], label=label)
    text = done("eval", tmp_path / "m.onnxtxt", "--data", tmp_path / "d.npz", "--metrics", "confusion,top-3").stdout
    assert "of 2 pairs" in text and "1  '28' taken for '27'" in text


def test_early_stop_and_best_by_a_metric(tmp_path):
    """By f1, in parts, with the same model in the end; and the way of an error is down."""
    data = digits(tmp_path, 120)
    train = ["train", example(tmp_path, "logistic"), "--data", data, "--val-split", 0.3, "--batch-size", 10, "--json"]
    watched = ["--early-stop", "f1-macro:2", "--keep", "best", "--metrics", "top-3"]
    whole = done(*train, "--epochs", 8, *watched, "-o", tmp_path / "a.onnx")
    values = [event["evaluation"]["metrics"]["f1-macro"] for event in events(whole.stdout, "epoch")]
    assert all(list(event["evaluation"]["metrics"]) == ["top-3", "f1-macro"] for event in events(whole.stdout, "epoch"))
    [best] = events(whole.stdout, "best")
    assert best["epoch"] == int(np.argmax(values)) + 1
    kept = ["--checkpoint", tmp_path / "kept", "-o", tmp_path / "b.onnx"]
    done(*train, "--steps", 12, *watched, *kept)
    resume = ["train", tmp_path / "logistic.onnx", "--data", data, "--epochs", 8, *kept, "--resume", "--json"]
    refused = onward(*resume, "--metrics", "accuracy")  # half an epoch of it would be told as a whole one
    assert refused.returncode == 1 and "inside of an epoch, of which 'top-3' was added up" in refused.stderr
    refused = onward(*resume, "--early-stop", "loss:2")
    assert refused.returncode == 1 and "compared epochs by 'f1-macro', not by 'loss'" in refused.stderr
    resumed = done(*resume, "--early-stop", "f1-macro:2")
    assert equal_bits(tmp_path / "a.onnx", tmp_path / "b.onnx")
    assert events(resumed.stdout, "epoch") == events(whole.stdout, "epoch")[1:]  # totals of the epoch go on too


@pytest.mark.parametrize("options, message", [
    (["--metrics", "f2"], "unknown metric 'f2': did you mean 'f1'?"),
    (["--metrics", "f1,f1"], "metric 'f1' is named twice"),
    (["--metrics", "f1"], "metric 'f1' is computed of an evaluation: give --eval or --val-split"),
    (["--metrics", "mse"], "'mse' does not fit a model that scores classes of examples; these do: accuracy, top-K, "),
    (["--metrics", "mean-iou", "--val-split", 0.2], "'mean-iou' does not fit a model that scores classes of examples"),
    (["--metrics", "top-10"], "'top-10' of 10 classes is always 1"),
    (["--val-split", 0.2, "--early-stop", "r2:2"], "'r2' does not fit a model that scores classes of examples"),
    (["--val-split", 0.2, "--early-stop", "acuracy:2"], "unknown metric 'acuracy': did you mean 'accuracy'?"),
    (["--balance", "all"], "--balance"),
])
def test_refusals(tmp_path, options, message):
    result = onward("train", example(tmp_path, "logistic"), "--data", digits(tmp_path), *options, "--json",
                    "-o", tmp_path / "t.onnx")
    assert result.returncode == 1 and message in result.stderr, result.stderr
    assert not events(result.stdout, "step") and not (tmp_path / "t.onnx").exists()


def test_refusals_of_other_models(tmp_path):
    two_kinds(tmp_path)
    refused = onward("eval", linear(tmp_path, "mse"), "--data", tmp_path / "two.npz", "--metrics", "f1")
    assert "'f1' does not fit a model that predicts numbers; these do: mse, mae, r2" in refused.stderr
    refused = onward("eval", linear(tmp_path, "hinge"), "--data", tmp_path / "two.npz", "--metrics", "f1")
    assert "'f1' has nothing to compare" in refused.stderr


def test_balance(tmp_path):
    """Each class equally often, the same in parts; and a hint where they are not."""
    x, _ = two_kinds(tmp_path, 80, 0.1)
    data = tmp_path / "two.npz"
    rows = "".join(",".join(map(str, [*row, "rare" if y else "common"])) + "\n" for row, y in zip(x, np.load(data)["y"]))
    (tmp_path / "t.csv").write_text("a,b,c,d,label\n" + rows)
    (tmp_path / "linear.onnxtxt").write_text(
        LINEAR.format(outputs=2, zeros=", ".join("0" * 8), body="y = MatMul(x, w)"))
    done("prepare", tmp_path / "linear.onnxtxt", "--loss", "softmax_cross_entropy", "--optimizer", "sgd", "--lr", 0.1,
         "-o", tmp_path / "m.onnx")
    train = ["train", tmp_path / "m.onnx", "--data", tmp_path / "t.csv", "--feed", "x=features", "--json"]
    plain = done(*train, "-o", tmp_path / "p.onnx")
    assert "hint: classes are unbalanced, " in plain.stderr and "of 'rare': --balance sample" in plain.stderr
    whole = done(*train, "--epochs", 3, "--balance", "sample", "-o", tmp_path / "a.onnx")
    assert "hint" not in whole.stderr
    assert [e["steps_per_epoch"] for e in events(whole.stdout, "begin")] == [3]
    # Zero weights predict the first class: of the first step half of the examples.
    one = done(*train, "--steps", 1, "--batch-size", 80, "--balance", "sample", "-o", tmp_path / "c.onnx")
    assert events(one.stdout, "step")[0]["accuracy"] == 0.5
    kept = ["--checkpoint", tmp_path / "kept", "-o", tmp_path / "b.onnx"]
    done(*train, "--steps", 4, "--balance", "sample", *kept)
    refused = onward(*train, "--epochs", 3, *kept, "--resume", "--balance", "none")
    assert "made with --balance sample, not none: omit --balance" in refused.stderr
    done(*train, "--epochs", 3, *kept, "--resume")
    assert equal_bits(tmp_path / "a.onnx", tmp_path / "b.onnx")


def test_balance_needs_classes(tmp_path):
    x = np.ones((8, 4), np.float32)
    np.savez(tmp_path / "d.npz", x=x, label=np.arange(8, dtype=np.float32)[:, None] / 2)
    refused = onward("train", linear(tmp_path, "mse"), "--data", tmp_path / "d.npz", "--balance", "sample",
                     "-o", tmp_path / "t.onnx")
    assert refused.returncode == 1 and "--balance sample needs classes" in refused.stderr
    label = np.array([1, 0, 0, 0, 0, 0, 0, 0], np.float32)[:, None]  # as binary losses take them
    np.savez(tmp_path / "d.npz", x=x * label, label=label)
    model = linear(tmp_path, "bce_with_logits", lr=1)
    done("train", model, "--data", tmp_path / "d.npz", "--balance", "sample", "-o", tmp_path / "t.onnx")
    assert np.all(state(tmp_path / "t.onnx")["w"] == 0.25)  # the mean of x (label - 1/2), half of x being 1
