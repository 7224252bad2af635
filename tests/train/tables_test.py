"""A table is trained on as the arrays would be that one makes of it by hand, and the model keeps how it was read."""

import json

import numpy as np
import pytest

from program import done, equal_bits, onward, state

CITIES = ["Oslo", "Paris", "Rome"]


def table(folder, name="people.csv", rows=40, seed=0):
    """Numbers with gaps, texts, and a class; and what is to be made of them."""
    random = np.random.default_rng(seed)
    age, city = random.integers(18, 80, rows).astype(float), random.integers(0, 3, rows)
    gaps = random.random(rows) < 0.2
    label = (age > 45).astype(int)
    lines = [f"p{i},{'' if gaps[i] else age[i]},\"{CITIES[city[i]]}\",{['no', 'yes'][label[i]]}" for i in range(rows)]
    (folder / name).write_text("id,age,city,member\n" + "\n".join(lines) + "\n")
    return np.where(gaps, np.nan, age), city, label


def features(age, city, mean, std):
    return np.column_stack([(np.where(np.isnan(age), mean, age) - mean) / std, np.eye(3)[city]]).astype(np.float32)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    (folder / "net.onnxtxt").write_text("""
<ir_version: 8, opset_import: ["" : 17]>
net (float[N,4] x) => (float[N,2] scores) <float[4,2] w = {0.1, -0.2, 0.3, 0.4, -0.5, 0.6, 0.7, -0.8}, float[2] b = {0, 0}>
{
  scores = Gemm(x, w, b)
}
""")
    done("prepare", folder / "net.onnxtxt", "--loss", "softmax_cross_entropy", "--optimizer", "sgd", "--lr", 0.1,
         "-o", folder / "net.onnx")
    return folder / "net.onnx"


OPTIONS = ["--label", "member", "--ignore", "id", "--standardize"]


def test_tables_are_arrays(model, tmp_path):
    age, city, label = table(tmp_path)
    mean, std = np.nanmean(age), np.nanstd(age)
    np.savez(tmp_path / "d.npz", x=features(age, city, mean, std), label=label)
    result = done("train", model, "--data", tmp_path / "people.csv", *OPTIONS, "--epochs", 3, "-o", tmp_path / "t.onnx")
    assert f"40 examples of 2 classes (no {sum(label == 0)}, yes {sum(label == 1)})" in result.stdout
    done("train", model, "--data", tmp_path / "d.npz", "--epochs", 3, "-o", tmp_path / "same.onnx")
    found, same = state(tmp_path / "t.onnx"), state(tmp_path / "same.onnx")
    for name in found:
        np.testing.assert_allclose(found[name], same[name], rtol=1e-5)
    # Other rows get the constants of the training.
    age, city, label = table(tmp_path, "others.csv", 25, seed=1)
    np.savez(tmp_path / "others.npz", x=features(age, city, mean, std), label=label)
    losses = [json.loads(done("eval", tmp_path / "t.onnx", "--data", tmp_path / file, "--json").stdout)["loss"]
              for file in ("others.csv", "others.npz")]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    done("train", model, "--data", tmp_path / "d.npz", "-o", tmp_path / "unaware.onnx")
    refused = onward("eval", tmp_path / "unaware.onnx", "--data", tmp_path / "others.csv", *OPTIONS)
    assert refused.returncode == 1 and "does not keep what its training made of them" in refused.stderr
    refused = onward("eval", tmp_path / "t.onnx", "--data", tmp_path / "others.csv", *OPTIONS)
    assert refused.returncode == 1 and "the model keeps how the columns" in refused.stderr


def test_resuming_gives_the_same_bits(model, tmp_path):
    table(tmp_path)
    train = ["train", model, "--data", tmp_path / "people.csv", *OPTIONS, "--batch-size", 8]
    done(*train, "--epochs", 3, "-o", tmp_path / "whole.onnx")
    kept = ["--checkpoint", tmp_path / "kept", "-o", tmp_path / "parts.onnx"]
    done(*train, "--steps", 7, *kept)
    done(*train, "--epochs", 3, *kept, "--resume")
    assert equal_bits(tmp_path / "whole.onnx", tmp_path / "parts.onnx")


def test_columns_are_inputs_by_name(tmp_path):
    """A column whose name an input has is that input, and needs no place among the features."""
    random = np.random.default_rng(0)
    a, b = random.normal(size=(2, 16))
    (tmp_path / "m.onnxtxt").write_text("""
<ir_version: 8, opset_import: ["" : 17]>
net (float[N,1] a, float[N,1] b) => (float[N,1] y) <float[1] w = {0.5}>
{
  scaled = Mul(a, w)
  y = Add(scaled, b)
}
""")
    done("prepare", tmp_path / "m.onnxtxt", "--loss", "mse", "--optimizer", "sgd", "--lr", 0.1, "--train", "w",
         "-o", tmp_path / "m.onnx")
    (tmp_path / "d.csv").write_text("b,label,a\n" + "".join(f"{y},{2 * x + y},{x}\n" for x, y in zip(a, b)))
    np.savez(tmp_path / "d.npz", a=a, b=b, label=2 * a + b)
    for data in ("d.csv", "d.npz"):
        done("train", tmp_path / "m.onnx", "--data", tmp_path / data, "--epochs", 2, "-o", tmp_path / f"{data}.onnx")
    assert equal_bits(tmp_path / "d.csv.onnx", tmp_path / "d.npz.onnx")


@pytest.mark.parametrize("text, options, message", [
    ("age,city,member\n1,Oslo,no\n2,yes\n", ["--label", "member"], "line 3 has 2 fields, but the first line names 3 columns"),
    ("age,city,member\n1,Oslo,no\n2,Rome,yes\n", ["--label", "membre"], "did you mean 'member'?"),
    ("age,city,member\n1,Oslo,no\n2,Rome,yes\n", ["--label", "member"], "does not fit input 'x' f32[N,4]"),
    ("age,city,label\n1,a,u\n2,b,v\n2,c,w\n", [], "the data has 3 classes, but the model's output 'scores'"),
    ("", [], "the file is empty"),
])
def test_refusals(model, tmp_path, text, options, message):
    (tmp_path / "d.csv").write_text(text)
    result = onward("train", model, "--data", tmp_path / "d.csv", *options, "-o", tmp_path / "t.onnx")
    assert result.returncode == 1 and message in result.stderr, result.stderr
    assert "d.csv" in result.stderr or "the data has" in result.stderr
    assert not (tmp_path / "t.onnx").exists()
