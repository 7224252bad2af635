"""The lowered step of the MNIST network, on MNIST's images: 50 steps in stock ONNX Runtime equal Onward's.
It runs in the environment of the framework tests because those fetch MNIST."""

import pathlib
import subprocess

import lowered
import numpy as np
import pytest

STEPS, BATCH = 50, 64


@pytest.fixture(scope="module")
def batches():
    found = subprocess.run([lowered.ROOT / "tools/setup.py", "mnist"], capture_output=True, text=True, check=True)
    folder = pathlib.Path(found.stdout.strip())
    count = STEPS * BATCH
    images = np.frombuffer((folder / "train-images-idx3-ubyte").read_bytes(), np.uint8, count * 784, 16)
    labels = np.frombuffer((folder / "train-labels-idx1-ubyte").read_bytes(), np.uint8, count, 8)
    images = (images.reshape(STEPS, BATCH, 1, 28, 28) / 255).astype(np.float32)
    return [{"image": image, "label": label} for image, label in zip(images, labels.reshape(STEPS, BATCH).astype(np.int64))]


# Not momentum: in its fifth step two taps of a pooling are equal but for rounding, each program takes
# another one, and the buffer remembers it (2.5e-4).
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_steps_equal_onwards(optimizer, batches, tmp_path):
    file = tmp_path / "training.onnx"
    prepared = lowered.onward("prepare", lowered.ROOT / "examples/inference/mnist.onnxtxt", "--loss",
                              "softmax_cross_entropy", "--optimizer", optimizer, "-o", file)
    assert prepared.returncode == 0, prepared.stderr
    lowered.compare_steps(file, batches, tmp_path)
