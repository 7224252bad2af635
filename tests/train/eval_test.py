"""`onward eval`: the loss of the model as it is in inference."""

import json

import numpy as np
import pytest

from program import done, events, onward

# An algorithm with a forward of its own, in training mode.
NORMALIZED = """
<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
normalized (float[N,2] x) => (float[N,2] y) <
  float[2] scale = {1.5, 2}, float[2] bias = {0.5, 0}, float[2] mean = {1, 2}, float[2] variance = {4, 9}
>
{
  y = BatchNormalization<epsilon = 0.25>(x, scale, bias, mean, variance)
}
training_info {
  algorithm step (float[N,2] label) => (
      float loss, float[2] scale_new, float[2] mean_new, float[2] variance_new) <
    float ratio = {0.5}, bool training = {1}
  >
  {
    t, mean_new, variance_new = BatchNormalization<epsilon = 0.25, training_mode = 1>(
        x, scale, bias, mean, variance)
    dropped = Dropout(t, ratio, training)
    error = Sub(dropped, label)
    squared = Mul(error, error)
    loss = ReduceMean<keepdims = 0>(squared)
    scale_gradient = ai.onnx.preview.training.Gradient<xs = ["scale"], zs = ["x", "label"], y = "loss">(
        scale, x, label)
    scale_new = Sub(scale, scale_gradient)
  }
  update_binding {
    scale <- scale_new
    mean <- mean_new
    variance <- variance_new
  }
}
"""


def test_normalization_and_dropout_are_those_of_inference(tmp_path):
    (tmp_path / "m.onnxtxt").write_text(NORMALIZED)
    random = np.random.default_rng(0)
    x, label = random.normal(size=(2, 7, 2)).astype(np.float32)
    np.savez(tmp_path / "d.npz", x=x, label=label)
    y = (x - [1, 2]) / np.sqrt(np.array([4, 9]) + 0.25) * [1.5, 2] + [0.5, 0]
    for batch in (7, 3):  # no statistics of the batch: its size makes no difference
        result = done("eval", tmp_path / "m.onnxtxt", "--data", tmp_path / "d.npz", "--batch-size", batch, "--json")
        found = json.loads(result.stdout)
        assert found["loss"] == pytest.approx(np.mean((y - label) ** 2), rel=1e-5)
        assert "accuracy" not in found
    step = done("train", tmp_path / "m.onnxtxt", "--data", tmp_path / "d.npz", "--steps", 1, "--json",
                "-o", tmp_path / "t.onnx")
    assert events(step.stdout, "step")[0]["loss"] != pytest.approx(found["loss"], rel=1e-2)


def segmented(folder, ignore=""):
    (folder / "s.onnxtxt").write_text(f"""
<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
segments (float[N,3,4] x) => (float[N,3,4] scores) <float[3,1] b = {{0, 0, 0}}>
{{
  scores = Add(x, b)
}}
training_info {{
  algorithm step (int64[N,4] label) => (float loss, float[3,1] b_new)
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
    return folder / "s.onnxtxt"


def test_accuracy_of_labels_with_dimensions(tmp_path):
    random = np.random.default_rng(1)
    x = random.normal(size=(5, 3, 4)).astype(np.float32)
    label = random.integers(0, 3, (5, 4))
    np.savez(tmp_path / "d.npz", x=x, label=label)
    right = x.argmax(1) == label
    for ignore, counted in (("", np.full(label.shape, True)), ("<ignore_index = 2>", label != 2)):
        model = segmented(tmp_path, ignore)
        found = json.loads(done("eval", model, "--data", tmp_path / "d.npz", "--batch-size", 2, "--json").stdout)
        assert found["accuracy"] == np.mean(right[counted])


def test_refusals(tmp_path):
    (tmp_path / "plain.onnxtxt").write_text("""
<ir_version: 8, opset_import: ["" : 17]>
plain (float[N,2] x) => (float[N,2] y)
{
  y = Neg(x)
}
""")
    x = np.zeros((3, 2), np.float32)

    def refusal(**arrays):
        np.savez(tmp_path / "d.npz", **arrays)
        result = onward("eval", tmp_path / "plain.onnxtxt", "--data", tmp_path / "d.npz")
        assert result.returncode == 1
        return result.stderr

    assert "nothing to evaluate" in refusal(x=x)
    assert "could be the labels" in refusal(x=x, a=np.zeros(3, int), b=np.zeros(3, int))
    assert "no array 'x'" in refusal(z=x, a=np.zeros(3, int))
