"""MNIST by command line alone: 98.8 % of the test images within 3 epochs, and ONNX Runtime agrees. It
runs in the environment of the framework tests because that one has ONNX Runtime."""

import json
import pathlib
import subprocess

import numpy as np
import onnxruntime
import pytest

from program import done, example

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def mnist():
    found = subprocess.run([ROOT / "tools/setup.py", "mnist"], capture_output=True, text=True, check=True)
    return pathlib.Path(found.stdout.strip())


def test_mnist_reaches_its_accuracy(mnist, tmp_path):
    training, trained = tmp_path / "training.onnx", tmp_path / "trained.onnx"
    done("prepare", example(tmp_path, "mnist"), "--loss", "softmax_cross_entropy", "--optimizer", "adam",
         "-o", training)
    print(done("train", training, "--data", f"mnist:{mnist}", "--eval", f"mnist-test:{mnist}",
               "--epochs", 3, "--batch-size", 64, "--inference", "-o", trained).stdout)
    ours = json.loads(done("eval", trained, "--data", f"mnist-test:{mnist}", "--json").stdout)
    print(f"accuracy {ours['accuracy']}")
    assert ours["examples"] == 10_000 and ours["accuracy"] >= 0.988
    images = np.frombuffer((mnist / "t10k-images-idx3-ubyte").read_bytes(), np.uint8, offset=16)
    labels = np.frombuffer((mnist / "t10k-labels-idx1-ubyte").read_bytes(), np.uint8, offset=8)
    session = onnxruntime.InferenceSession(trained)
    scores = session.run(None, {"image": (images.reshape(-1, 1, 28, 28) / 255).astype(np.float32)})[0]
    assert np.mean(scores.argmax(1) == labels) == ours["accuracy"]
