"""Training from Python."""

import pathlib
import subprocess
import sys
import threading

import numpy as np
import pytest

import onward

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/training"

X = np.arange(1, 6, dtype=np.float32).reshape(5, 1)
BATCH = {"x": X, "label": 2 * X}


def linear_losses(steps):
    """The linear example in NumPy, in float64."""
    x, label = X.astype(float), 2 * X.astype(float)
    w = b = w_squares = b_squares = 0.0
    losses = []
    for _ in range(steps):
        error = w * x + b - label
        losses.append((error**2).mean())
        dw, db = (2 * error * x).mean(), (2 * error).mean()
        w_squares, b_squares = w_squares + dw**2, b_squares + db**2
        w -= 0.2 * dw / (np.sqrt(w_squares) + 1e-6)
        b -= 0.2 * db / (np.sqrt(b_squares) + 1e-6)
    return losses


@pytest.fixture
def trainer():
    return onward.Trainer(onward.load(EXAMPLES / "linear.onnxtxt"))


def test_steps_follow_the_formula(trainer):
    losses = [float(trainer.step(BATCH)["loss"]) for _ in range(10)]
    assert np.allclose(losses, linear_losses(10), rtol=1e-5)
    assert trainer.steps == 10
    assert trainer.state()["T"] == 10


def test_inference_never_changes_state(trainer):
    before = trainer.state()
    result = trainer.infer({"x": X})
    assert list(result) == ["y"] and result["y"].shape == (5, 1)
    assert all(np.array_equal(before[name], array) for name, array in trainer.state().items())


def test_gradients_are_those_of_the_loss(trainer):
    gradients = trainer.gradients(BATCH)
    error = -2 * X
    assert set(gradients) == {"w", "b"}
    assert np.allclose(gradients["w"], (2 * error * X).mean())
    assert np.allclose(gradients["b"], (2 * error).mean())
    assert trainer.state()["T"] == 0


def test_two_gradients_by_one_tensor_are_told_apart():
    trainer = onward.Trainer(onward.parse("""
        <ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
        m (float[2] x) => (float[2] y) <float[2] w = {2, 3}> { y = Mul(x, w) }
        training_info {
          algorithm step () => (float first, float second) {
            first = ReduceSum<keepdims = 0>(y)
            squares = Mul(y, y)
            second = ReduceSum<keepdims = 0>(squares)
            d1 = ai.onnx.preview.training.Gradient<xs = ["w"], zs = ["x"], y = "first">(w, x)
            d2 = ai.onnx.preview.training.Gradient<xs = ["w"], zs = ["x"], y = "second">(w, x)
          }
        }"""))
    gradients = trainer.gradients({"x": np.array([1, 10], np.float32)})
    assert {name: array.tolist() for name, array in gradients.items()} == {"d1": [1, 10], "d2": [4, 600]}


def test_a_model_is_not_changed_by_training_it():
    model = onward.load(EXAMPLES / "linear.onnxtxt")
    trainer = onward.Trainer(model)
    trainer.step(BATCH)
    assert model.parameters["w"].item() == 0
    assert trainer.model.parameters["w"].item() != 0


def test_a_saved_training_goes_on(trainer, tmp_path):
    for _ in range(3):
        trainer.step(BATCH)
    trainer.save(tmp_path / "saved.onnx")
    resumed = onward.Trainer(onward.load(tmp_path / "saved.onnx"))
    again = onward.Trainer(trainer.model)
    expected = float(trainer.step(BATCH)["loss"])
    assert float(resumed.step(BATCH)["loss"]) == expected
    assert float(again.step(BATCH)["loss"]) == expected


def test_state_can_be_set(trainer):
    trainer.step(BATCH)
    kept = {name: array.copy() for name, array in trainer.state().items()}
    first = float(trainer.step(BATCH)["loss"])
    trainer.set_state(kept)
    assert float(trainer.step(BATCH)["loss"]) == first


@pytest.mark.parametrize("tensors, message", [
    ({"b": np.ones(1, np.float32), "nobody": np.zeros(1)}, "no state tensor 'nobody'"),
    ({"b": np.ones(1, np.float32), "w": np.zeros(3, np.float32)}, "'w' is f32"),
])
def test_a_wrong_tensor_leaves_the_state_as_it_was(trainer, tensors, message):
    with pytest.raises(onward.Error, match=message):
        trainer.set_state(tensors)
    assert trainer.state()["b"] == 0


def test_initialization_runs_only_when_asked_for():
    model = onward.load(EXAMPLES / "initialized.onnxtxt")
    trainer = onward.Trainer(model, seed=3)
    assert all(np.array_equal(array, model.initializers[name]) for name, array in trainer.state().items())
    trainer.initialize()
    first = trainer.state()
    assert any(not np.array_equal(array, model.initializers[name]) for name, array in first.items())
    trainer.initialize()
    assert all(np.array_equal(array, first[name]) for name, array in trainer.state().items())  # the same seed


def test_each_info_can_be_stepped_alone():
    trainer = onward.Trainer(onward.load(EXAMPLES / "gan.onnxtxt"))
    random = np.random.default_rng(1)
    batch = {"noise": random.normal(size=(16, 8)).astype(np.float32),
             "real": random.normal(size=(16, 2)).astype(np.float32)}
    before = trainer.state()
    discriminator = trainer.step(batch, info=0)
    assert "d_loss" in discriminator and "g_loss" not in discriminator
    after = trainer.state()
    changed = {name for name in after if not np.array_equal(after[name], before[name])}
    assert {name for name in changed if name.startswith("g_")} == set() and "d_w1" in changed
    both = trainer.step(batch)
    assert {"d_loss", "g_loss"} <= set(both)
    assert set(trainer.gradients(batch, info=1)) == {"g_w1", "g_b1", "g_w2", "g_b2"}
    with pytest.raises(onward.Error, match="no training info 2"):
        trainer.step(batch, info=2)


def test_micro_batches_accumulate(trainer):
    """The mean of the gradients of two equal halves is that of the whole."""
    whole = onward.Trainer(onward.load(EXAMPLES / "linear.onnxtxt"))
    x = np.arange(1, 5, dtype=np.float32).reshape(4, 1)
    whole.step({"x": x, "label": 2 * x})
    trainer.step_accumulated([{"x": half, "label": 2 * half} for half in (x[:2], x[2:])])
    assert np.allclose(trainer.state()["w"], whole.state()["w"], rtol=1e-6)
    assert trainer.state()["T"] == 1


@pytest.mark.parametrize("batch, message", [
    ({"x": X}, "label"),
    ({"x": X, "label": X, "other": X}, "other"),
    ({"x": X.astype(complex), "label": X}, "c128"),
    ({"x": X[:, [0, 0]], "label": X}, "x"),
    ({"x": X, "label": np.full_like(X, np.nan)}, "loss"),
])
def test_wrong_batches_are_refused(trainer, batch, message):
    with pytest.raises(onward.Error, match=message):
        trainer.step(batch)
    assert trainer.state()["T"] == 0


def test_python_runs_while_a_step_does():
    text = ("<ir_version: 8, opset_import: [\"\" : 17]> m (float[512,512] x) => (float[512,512] y) {"
            + " ".join(f"y{i + 1} = MatMul(y{i}, y{i})" for i in range(1, 20)).replace("y1,", "x,").replace("y1)", "x)")
            + " y = Identity(y20) }")
    trainer = onward.Trainer(onward.parse(text))
    x = np.full((512, 512), 1 / 512, np.float32)
    trainer.infer({"x": x})
    counted = [0]
    done = threading.Event()

    def run():
        for _ in range(10):
            trainer.infer({"x": x})
        done.set()

    thread = threading.Thread(target=run)
    thread.start()
    while not done.is_set():
        counted[0] += 1
    thread.join()
    assert counted[0] > 1000


def test_several_threads_share_a_trainer(trainer):
    threads = [threading.Thread(target=lambda: [trainer.step(BATCH) for _ in range(20)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert trainer.state()["T"] == 80


def test_explain(trainer):
    trainer.step(BATCH)
    assert "MatMul" in trainer.explain() or "Gemm" in trainer.explain()
    assert trainer.explain().endswith("\n0.0 % of the time in kernel 'reference'\n")


def test_explain_tells_of_inference_where_there_was_no_step():
    """CumSum has no fast kernel."""
    trainer = onward.Trainer(onward.parse("""<ir_version: 8, opset_import: ["" : 17]>
        m (float[N,3] x) => (float[N,3] y) <int64 axis = {1}> { y = CumSum(x, axis) }"""))
    assert trainer.explain() == ""
    trainer.infer({"x": np.ones((2, 3), np.float32)})
    assert "CumSum" in trainer.explain()
    assert trainer.explain().endswith("100.0 % of the time in kernel 'reference'\n")


WIDE = onward.parse("""<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
    m (float[N,512] x) => (float[N,256] y) <float[512,256] w = normal(1, 0.05)> { y = MatMul(x, w) }
    training_info {
      algorithm a () => (float loss, float[512,256] w_new) <float rate = {0.1}> {
        q = Mul(y, y)  loss = ReduceMean<keepdims = 0>(q)
        dw = ai.onnx.preview.training.Gradient<xs = ["w"], zs = ["x"], y = "loss">(w, x)
        c = Mul(rate, dw)  w_new = Sub(w, c) }
      update_binding { w <- w_new } }""")
WIDE_BATCH = {"x": np.random.default_rng(0).normal(size=(300, 512)).astype(np.float32)}


def trained_bits(threads, others=()):
    trainer = onward.Trainer(WIDE, threads=threads)
    rest = [onward.Trainer(WIDE, threads=count) for count in others]
    for _ in range(3):
        loss = trainer.step(WIDE_BATCH)["loss"]
        for other in rest:
            other.step(WIDE_BATCH)
    return loss.tobytes(), trainer.state()["w"].tobytes()


@pytest.mark.parametrize("threads, others", [(1, [2]), (2, [1]), (1, [2, 3]), (3, [1, 2])])
def test_each_trainer_has_its_own_threads(threads, others):
    assert trained_bits(threads, others) == trained_bits(threads)


CONV = onward.parse("""<ir_version: 8, opset_import: ["" : 17]>
    m (float[N,64,16,16] x) => (float[N,64,16,16] y) <float[64,64,3,3] w = normal(1, 0.05)> {
      y = Conv<pads = [1, 1, 1, 1]>(x, w) }""")


@pytest.mark.parametrize("conv, may_be_winograd", [("fastest", True), ("direct", False)])
def test_convolutions_are_computed_as_asked_for(conv, may_be_winograd):
    trainer = onward.Trainer(CONV, conv=conv)
    trainer.infer({"x": np.ones((16, 64, 16, 16), np.float32)})
    has_avx2 = " avx2 " in pathlib.Path("/proc/cpuinfo").read_text()
    assert ("% winograd" in trainer.explain()) == (may_be_winograd and has_avx2)


def test_another_way_to_compute_convolutions_is_refused():
    with pytest.raises(onward.Error, match="'fast' is no way to compute convolutions: give 'fastest' or 'direct'"):
        onward.Trainer(CONV, conv="fast")


@pytest.mark.parametrize("threads", [-1, 257, 100000, 2**40])
def test_threads_are_bounded(threads):
    with pytest.raises(onward.Error, match=f"{threads} threads are not supported"):
        onward.Trainer(WIDE, threads=threads)


@pytest.mark.parametrize("info", [1, 10**12, 2**63 - 1])
def test_an_info_that_is_not_there_is_refused(trainer, info):
    for use in (trainer.step, trainer.gradients, lambda batch, info: trainer.step_accumulated([batch], info)):
        with pytest.raises(onward.Error, match=f"no training info {info}"):
            use(BATCH, info=info)


@pytest.mark.parametrize("threads, works", [(1, True), (2, False)])
def test_a_forked_child_does_not_wait_for_threads_that_are_gone(threads, works):
    code = f"""
import os, sys
sys.path.insert(0, {str(pathlib.Path(__file__).resolve().parent)!r})
from trainer_test import WIDE, WIDE_BATCH, onward
trainer = onward.Trainer(WIDE, threads={threads})
trainer.step(WIDE_BATCH)
child = os.fork()
if child == 0:
    try:
        trainer.step(WIDE_BATCH)
        os._exit(0)
    except onward.Error as error:
        os._exit(1 if "forked" in str(error) else 2)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == {0 if works else 1}
trainer.step(WIDE_BATCH)
assert trainer.steps == 2
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
