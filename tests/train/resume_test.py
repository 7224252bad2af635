"""What a checkpoint and the command line do not agree on is refused, and nothing was written."""

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from program import digits, done, equal_bits, example, onward, state


@pytest.fixture
def job(tmp_path):
    """A training of 3 epochs of 8 steps each, and one more step, which keeps its checkpoint."""
    train = ["train", example(tmp_path, "logistic"), "--data", digits(tmp_path), "--batch-size", 8,
             "--checkpoint", tmp_path / "kept", "-o", tmp_path / "out.onnx"]
    done(*train, "--steps", 25)
    return train


@pytest.mark.parametrize("less, message", [
    (["--epochs", 3], "beyond --epochs 3; give at least --epochs 4"),
    (["--epochs", 1], "beyond --epochs 1"),
    ([], "beyond --epochs 1"),
    (["--steps", 24], "beyond --steps 24; give at least --steps 25"),
    (["--epochs", 9, "--steps", 24], "beyond --steps 24"),
    (["--epochs", 3, "--steps", 50], "beyond --epochs 3"),
])
def test_less_than_is_done(job, tmp_path, less, message):
    before = (tmp_path / "out.onnx").read_bytes()
    result = onward(*job, "--resume", *less)
    assert result.returncode == 1 and message in result.stderr and "is at step 25, in epoch 4" in result.stderr
    assert (tmp_path / "out.onnx").read_bytes() == before


@pytest.mark.parametrize("as_much", [["--steps", 25], ["--epochs", 9, "--steps", 25]])
def test_as_much_as_is_done(job, tmp_path, as_much):
    (tmp_path / "out.onnx").rename(tmp_path / "first.onnx")
    done(*job, "--resume", *as_much)
    assert equal_bits(tmp_path / "out.onnx", tmp_path / "first.onnx")


def test_whole_epochs_as_many_as_are_done(job, tmp_path):
    done(*job, "--resume", "--epochs", 4)
    (tmp_path / "out.onnx").rename(tmp_path / "first.onnx")
    done(*job, "--resume", "--epochs", 4)
    assert equal_bits(tmp_path / "out.onnx", tmp_path / "first.onnx")
    assert "beyond --epochs 3; give at least --epochs 4" in onward(*job, "--resume", "--epochs", 3).stderr


OPTIMIZERS = [(kind, formula) for kind in ("sgd", "momentum", "nesterov", "adam", "adamw", "adagrad")
              for formula in ("torch", "keras", "onnx")]


@pytest.mark.parametrize("kind, formula", OPTIMIZERS)
def test_another_learning_rate(tmp_path, kind, formula):
    """It is state, but one that the user set."""
    done("train", example(tmp_path, "logistic"), "--data", digits(tmp_path), "--steps", 1, "--inference",
         "-o", tmp_path / "inference.onnx")
    for rate in (0.1, 0.5):
        done("prepare", tmp_path / "inference.onnx", "--loss", "softmax_cross_entropy", "--optimizer", kind,
             "--formula", formula, "--lr", rate, "-o", tmp_path / f"{rate}.onnx")
    train = ["--data", digits(tmp_path), "--batch-size", 8, "--checkpoint", tmp_path / "kept", "-o", tmp_path / "out.onnx"]
    done("train", tmp_path / "0.1.onnx", *train, "--epochs", 1)
    before = (tmp_path / "out.onnx").read_bytes()
    result = onward("train", tmp_path / "0.5.onnx", *train, "--epochs", 2, "--resume")
    assert result.returncode == 1 and "'learning_rate' is 0.5 in" in result.stderr and "0.1" in result.stderr
    assert (tmp_path / "out.onnx").read_bytes() == before
    # The model that it began with, and what has become of it, do go on.
    done("train", tmp_path / "0.1.onnx", *train, "--epochs", 2, "--resume")
    done("train", tmp_path / "out.onnx", *train, "--epochs", 3, "--resume")


INITIALIZED = """<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
m (float[N,2] x) => (float[N,2] y) <float[2] w = {1, 2}> { y = Mul(x, w) }
training_info {
  initialization init () => (float first) { first = Constant<value = float {0.25}>() }
  algorithm step () => (float loss, float[2] w_new, float rate_new) <float rate = {RATE}> {
    loss = ReduceMean<keepdims = 0>(y)
    dw = ai.onnx.preview.training.Gradient<xs = ["w"], zs = ["x"], y = "loss">(w, x)
    change = Mul(rate, dw)
    w_new = Sub(w, change)
    rate_new = Identity(rate)
  }
  initialization_binding { rate <- first }
  update_binding { w <- w_new  rate <- rate_new }
}"""


def test_a_rate_that_the_initialization_sets(tmp_path):
    """What counts is the model that the training began with, not what its initialization made of it."""
    np.savez(tmp_path / "data.npz", x=np.ones((4, 2), np.float32))
    train = ["--data", tmp_path / "data.npz", "--batch-size", 2, "--checkpoint", tmp_path / "kept", "-o", tmp_path / "out.onnx"]
    for rate in (0.5, 0.75):
        (tmp_path / f"{rate}.onnxtxt").write_text(INITIALIZED.replace("RATE", str(rate)))
    done("train", tmp_path / "0.5.onnxtxt", *train, "--initialize")
    assert state(tmp_path / "out.onnx")["rate"] == 0.25
    done("train", tmp_path / "0.5.onnxtxt", *train, "--epochs", 2, "--resume")
    result = onward("train", tmp_path / "0.75.onnxtxt", *train, "--epochs", 3, "--resume")
    assert result.returncode == 1 and "'rate' is 0.75 in" in result.stderr


@pytest.mark.parametrize("value", ["inf", "-inf", "nan"])
def test_an_initialization_that_is_not_finite(tmp_path, value):
    text = INITIALIZED.replace("RATE", "0.5").replace("float {0.25}", "float {1}")
    (tmp_path / "bad.onnxtxt").write_text(text)
    np.savez(tmp_path / "data.npz", x=np.ones((4, 2), np.float32))
    done("train", tmp_path / "bad.onnxtxt", "--data", tmp_path / "data.npz", "-o", tmp_path / "good.onnx")
    model = onnx.load(tmp_path / "good.onnx")
    constant = model.training_info[0].initialization.node[0].attribute[0].t
    constant.CopyFrom(numpy_helper.from_array(np.array(float(value), np.float32)))
    onnx.save(model, tmp_path / "bad.onnx")
    result = onward("train", tmp_path / "bad.onnx", "--data", tmp_path / "data.npz", "--initialize",
                    "-o", tmp_path / "out.onnx")
    assert result.returncode == 1 and f"'rate' became {value}" in result.stderr
    assert not (tmp_path / "out.onnx").exists()
