"""Runs the program for the tests of training."""

import json
import os
import subprocess

import numpy as np
import onnx
from onnx import numpy_helper


def command(*arguments):
    return [os.environ["ONWARD"], *map(str, arguments)]


def onward(*arguments, **options):
    return subprocess.run(command(*arguments), capture_output=True, text=True, **options)


def done(*arguments, **options):
    result = onward(*arguments, **options)
    assert result.returncode == 0, result.stdout + result.stderr
    return result


def example(folder, name, *more):
    file = folder / f"{name}.onnx"
    done("example", name, "-o", file, *more)
    return file


def events(text, kind=None):
    lines = [json.loads(line) for line in text.splitlines()]
    return [line for line in lines if kind in (None, line["event"])]


def losses(result, name="loss"):
    return [event["losses"][name] for event in events(result.stdout, "step")]


def state(file):
    """All initializers of a model, of the inference graph and of its algorithms."""
    model = onnx.load(file, load_external_data=False)
    graphs = [model.graph, *(info.algorithm for info in model.training_info)]
    folder = str(file.parent)  # onnx.load does not look for external data in training infos
    return {t.name: numpy_helper.to_array(t, folder) for graph in graphs for t in graph.initializer}


def equal_bits(a, b):
    first, second = state(a), state(b)
    return first.keys() == second.keys() and all(
        first[name].tobytes() == second[name].tobytes() for name in first)


def digits(folder, count=64):
    """A small classification task that `logistic` learns."""
    random = np.random.default_rng(0)
    label = random.integers(0, 10, count)
    x = random.random((count, 64), dtype=np.float32) + 2 * np.eye(10, 64, dtype=np.float32)[label]
    np.savez(folder / "digits.npz", x=x, label=label)
    return folder / "digits.npz"
