"""How convolutions are computed: by choice, kept in checkpoints, and said where it changes."""

import pathlib

import numpy as np
import pytest

from program import done, equal_bits, onward

MODEL = """<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
m (float[N,64,16,16] x) => (float[N,64,16,16] y) <float[64,64,3,3] w = normal(1, 0.05)> {
  h = Conv<pads = [1, 1, 1, 1]>(x, w)
  y = Relu(h)
}
training_info {
  algorithm step () => (float loss, float[64,64,3,3] w_new) <float rate = {0.1}> {
    q = Mul(y, y)
    loss = ReduceMean<keepdims = 0>(q)
    dw = ai.onnx.preview.training.Gradient<xs = ["w"], zs = ["x"], y = "loss">(w, x)
    change = Mul(rate, dw)
    w_new = Sub(w, change)
  }
  update_binding { w <- w_new }
}"""

WARNING = "warning: the checkpoint was made with --conv {}; with {} the last digits may differ"
needs_avx2 = pytest.mark.skipif(" avx2 " not in pathlib.Path("/proc/cpuinfo").read_text(), reason="oneDNN computes all")


@pytest.fixture
def job(tmp_path):
    (tmp_path / "conv.onnxtxt").write_text(MODEL)
    x = np.random.default_rng(0).random((32, 64, 16, 16), dtype=np.float32)
    np.savez(tmp_path / "data.npz", x=x)
    return ["train", tmp_path / "conv.onnxtxt", "--data", tmp_path / "data.npz", "--batch-size", 16, "--threads", 1]


@needs_avx2
@pytest.mark.parametrize("choice, is_winograd", [([], True), (["--conv", "fastest"], True), (["--conv", "direct"], False)])
def test_the_kernel_is_explained(job, tmp_path, choice, is_winograd):
    result = done(*job, *choice, "--steps", 1, "--explain", "-o", tmp_path / "out.onnx")
    assert ("% winograd" in result.stderr) == is_winograd


def test_another_name_is_refused(job, tmp_path):
    result = onward(*job, "--conv", "winograd 4x4", "--steps", 1, "-o", tmp_path / "out.onnx")
    assert result.returncode != 0 and "--conv" in result.stderr


@pytest.mark.parametrize("first, then", [("direct", None), ("direct", "direct"), ("direct", "fastest"), ("fastest", None),
                                         ("fastest", "direct")])
def test_a_checkpoint_keeps_it(job, tmp_path, first, then):
    done(*job, "--conv", first, "--steps", 4, "-o", tmp_path / "whole.onnx")
    kept = [*job, "--checkpoint", tmp_path / "kept"]
    done(*kept, "--conv", first, "--steps", 2, "-o", tmp_path / "half.onnx")
    result = done(*kept, *(["--conv", then] if then else []), "--resume", "--steps", 4, "-o", tmp_path / "rest.onnx")
    if then in (None, first):
        assert equal_bits(tmp_path / "rest.onnx", tmp_path / "whole.onnx") and "warning" not in result.stderr
    else:
        assert WARNING.format(first, then) in result.stderr
