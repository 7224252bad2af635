"""Small networks whose losses the tests against PyTorch and Keras compare: y = x w + b, then nothing, a Sigmoid or a
LogSoftmax, of rows [N,3] or of places [N,5,3]."""

import json
import os
import pathlib
import subprocess

import numpy as np

import training_job as job

STEPS = 20
TOLERANCE = 1e-7
WEIGHTS = [0.5, 1.5, 2.0]


def first_weights():
    random = np.random.default_rng(5)
    return {"w": random.normal(size=(4, 3)), "b": random.normal(size=3)}


def batches(label, places=()):
    """`label` is what it is compared with: classes, numbers, probabilities, shares of classes, signs."""
    random = np.random.default_rng(6)
    make = {
        "classes": lambda: random.integers(0, 3, (6, *places)),
        "numbers": lambda: random.normal(size=(6, *places, 3)),
        "probabilities": lambda: random.uniform(size=(6, *places, 3)),
        "shares": lambda: random.dirichlet(np.ones(3), size=(6, *places)),
        "signs": lambda: random.choice([-1.0, 1.0], size=(6, *places, 3)),
        "bits": lambda: random.choice([0.0, 1.0], size=(6, *places, 3)),
    }[label]
    return [{"x": random.normal(size=(6, *places, 4)), "label": make()} for _ in range(STEPS)]


def train(folder, weights, data, options, last=None):
    """Trains by gradient descent, or the optimizer of the options, with a rate of 0.1. Gives the losses and the tensors after the last step."""
    folder = pathlib.Path(folder)
    between = "".join(f"{size}," for size in data[0]["x"].shape[1:-1])
    numbers = {name: ", ".join(map(repr, array.ravel().tolist())) for name, array in weights.items()}
    end = f"y = {last}(s)" if last else "y = Identity(s)"
    (folder / "model.onnxtxt").write_text(
        f'<ir_version: 8, opset_import: ["" : 17]> g (double[N,{between}4] x) => (double[N,{between}3] y) '
        f"<double[4,3] w = {{{numbers['w']}}}, double[3] b = {{{numbers['b']}}}> "
        f"{{ p = MatMul(x, w) s = Add(p, b) {end} }}")
    optimizer = [] if "--optimizer" in options else ["--optimizer", "sgd"]
    job.onward("prepare", folder / "model.onnxtxt", "-o", folder / "training.onnx", "--lr", "0.1", *optimizer, *options)
    job.onward("check", folder / "training.onnx")
    job.write_batches(folder / "batches.onnx", data)
    tool = pathlib.Path(os.environ["ONWARD_TOOLS"]) / "step_tool"
    done = subprocess.run([tool, folder / "training.onnx", folder / "batches.onnx", folder / "trained.onnx"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), job.initializers(job.onnx.load(folder / "trained.onnx"))


def assert_same_change(first, ours, theirs):
    """Every tensor moved, as it did in the other framework."""
    for name, start in first.items():
        change = theirs[name] - start
        assert np.linalg.norm(change) > 1e-3, f"{name} was never changed"
        assert np.linalg.norm(ours[name] - start - change) <= TOLERANCE * np.linalg.norm(change), name
