"""Whole training steps, lowered by the command line and run by stock ONNX Runtime, equal Onward's own."""

import re
import subprocess
import sys

import lowered
import numpy as np
import onnx
import pytest

RANDOM = np.random.default_rng(7)


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def labels(count, classes):
    return RANDOM.integers(0, classes, count)


# The example, the number of steps, and what each step is fed.
EXAMPLES = [
    ("linear", 10, lambda: {"x": floats(5, 1), "label": floats(5, 1)}),
    ("logistic", 20, lambda: {"x": floats(16, 64), "label": labels(16, 10)}),
    ("initialized", 20, lambda: {"x": floats(8, 20), "label": labels(8, 5)}),
    ("cnn", 50, lambda: {"image": floats(8, 1, 28, 28), "label": labels(8, 10)}),
    ("loss-subgraph", 10, lambda: {"x": floats(5, 8), "label": floats(5, 1), "robust": np.array(RANDOM.random() < 0.5)}),
    ("gan", 20, lambda: {"noise": floats(16, 8), "real": floats(16, 2)}),
    ("bound-input", 5, lambda: {}),
]


@pytest.mark.parametrize("name, count, batch", EXAMPLES, ids=[row[0] for row in EXAMPLES])
def test_steps_equal_onwards(name, count, batch, tmp_path):
    file = tmp_path / "model.onnx"
    assert lowered.onward("example", name, "-o", file).returncode == 0
    batches = [batch() for _ in range(count)]
    state = lowered.compare_steps(file, batches, tmp_path)
    training = onnx.load(file)
    bound = {entry.key for info in training.training_info for entry in info.update_binding}
    assert set(state) == bound


def test_tangled_graphs(tmp_path):
    """Few values used in many ways, in any order of nodes: valid files that give the same numbers."""
    lowered.tool("tangles", tmp_path, 40)
    for seed in range(40):
        folder = tmp_path / str(seed)
        folder.mkdir()
        batches = [{"x": floats(4, 6), "image": floats(2, 2, 5, 5)} for _ in range(2)]
        lowered.compare_steps(tmp_path / f"{seed}.onnx", batches, folder)


@pytest.mark.parametrize("opset", [13, 14, 17, 18, 21, 22, 25, 26])
def test_opset_can_be_chosen(opset, tmp_path):
    file = tmp_path / "model.onnx"
    lowered.onward("example", "logistic", "-o", file)
    model = lowered.lower(file, tmp_path / "step.onnx", "--opset", opset)
    assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", opset)]
    assert model.ir_version <= 13
    onnx.checker.check_model(model, full_check=True)
    feeds = {"x": np.ones((4, 64), np.float32), "label": np.array([0, 1, 2, 3])}
    loss = lowered.session(model).run(["loss"], feeds)[0]
    reference = lowered.session(lowered.lower(file, tmp_path / "default.onnx")).run(["loss"], feeds)[0]
    assert abs(loss - reference) <= 1e-6


def test_refusals(tmp_path):
    file = tmp_path / "model.onnx"
    lowered.onward("example", "linear", "-o", file)
    for options, words in [
        (["--opset", 12], "opset 12 is not supported: choose 13 to 28"),
        (["--opset", 99], "opset 99 is not supported: choose 13 to 28"),
        (["--info", 1], "there is no training info 1: the model has 1"),
    ]:
        result = lowered.onward("lower", file, "-o", tmp_path / "out.onnx", *options)
        assert result.returncode == 1
        assert words in result.stderr
        assert not (tmp_path / "out.onnx").exists()
    text = (lowered.ROOT / "examples/training/linear.onnxtxt").read_text()
    unknown = text.replace("y = Add(xw, b)", "sum = Add(xw, b)\n  y = com.example.Pool(sum)")
    assert '"" : 17' in text
    (tmp_path / "unknown.onnxtxt").write_text(unknown.replace('"" : 17', '"" : 17, "com.example" : 1'))
    result = lowered.onward("lower", tmp_path / "unknown.onnxtxt", "-o", tmp_path / "out.onnx")
    assert result.returncode == 1 and "no gradient is known for com.example.Pool (node 'y')" in result.stderr


def test_documented_loop(tmp_path):
    text = (lowered.ROOT / "docs/lowering.md").read_text()
    [program] = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    lowered.onward("example", "linear", "-o", tmp_path / "linear.onnx")
    lowered.lower(tmp_path / "linear.onnx", tmp_path / "step.onnx")
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    losses = [float(line) for line in done.stdout.split()]
    assert done.returncode == 0, done.stderr
    assert len(losses) == 100 and losses[0] == 44 and losses[-1] < 0.5
