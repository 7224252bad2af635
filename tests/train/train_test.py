"""Training from the command line: exact losses, several infos, initialization, outputs, refusals."""

import json
import os
import subprocess

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from program import command, digits, done, equal_bits, events, example, losses, onward, state


def linear_data(folder):
    x = np.arange(1, 6, dtype=np.float32)[:, None]
    np.savez(folder / "linear.npz", x=x, label=2 * x)
    return folder / "linear.npz"


def linear_by_numpy(steps):
    """Adagrad on the mean squared error of y = x w + b in float64: the losses, w and b."""
    x = np.arange(1.0, 6.0)
    label, w, b, w_squares, b_squares = 2 * x, 0.0, 0.0, 0.0, 0.0
    rate, epsilon, found = np.float64(np.float32(0.2)), np.float64(np.float32(1e-6)), []
    for _ in range(steps):
        error = label - (x * w + b)
        found.append(np.mean(error**2))
        dw, db = np.mean(-2 * error * x), np.mean(-2 * error)
        w_squares += dw**2
        b_squares += db**2
        w -= rate * dw / (np.sqrt(w_squares) + epsilon)
        b -= rate * db / (np.sqrt(b_squares) + epsilon)
    return found, w, b


@pytest.mark.parametrize("form", [[], ["--draft"]])
def test_linear_model_equals_numpy(tmp_path, form):
    model = example(tmp_path, "linear", *form)
    data = linear_data(tmp_path)
    inputs = [value.name for value in onnx.load(model).graph.input]
    feeds = [] if inputs == ["x"] else ["--feed", f"{inputs[0]}=x"]
    result = done("train", model, "--data", data, "--steps", 10, "--batch-size", 5, "--json", *feeds,
                  "-o", tmp_path / "trained.onnx")
    expected, w, b = linear_by_numpy(10)
    found = [event["loss"] for event in events(result.stdout, "step")]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    after = state(tmp_path / "trained.onnx")
    values = [v.item() for v in after.values() if v.size == 1]
    for wanted in (w, b):
        assert any(abs(value - wanted) < 1e-5 for value in values)
    assert done("check", tmp_path / "trained.onnx").stdout.endswith("valid\n")


def test_gan_trains_both_networks(tmp_path):
    model = example(tmp_path, "gan")
    random = np.random.default_rng(0)
    noise = random.normal(size=(32, 8)).astype(np.float32)
    real = (random.normal(size=(32, 2)) * 0.1 + 1).astype(np.float32)
    np.savez(tmp_path / "gan.npz", noise=noise, real=real)

    def train(out, *more):
        return done("train", model, "--data", tmp_path / "gan.npz", "--batch-size", 16, "--epochs", 2,
                    "--json", "-o", tmp_path / out, *more)

    both = events(train("both.onnx").stdout, "step")
    assert len(both) == 4 and all(step["losses"].keys() == {"d_loss", "g_loss"} for step in both)
    before = state(model)

    def changed(out):
        return {name[:2] for name, value in state(tmp_path / out).items()
                if not np.array_equal(value, before[name])}

    assert changed("both.onnx") == {"d_", "g_"}
    # One info alone: the other network stays as it is.
    only = events(train("one.onnx", "--info", 0).stdout, "step")
    assert all(step["losses"].keys() == {"d_loss"} for step in only)
    assert changed("one.onnx") == {"d_"}
    train("two.onnx", "--info", 1)
    assert changed("two.onnx") == {"g_"}
    # In file order: the discriminator's first loss is that of the first step alone.
    assert both[0]["losses"]["d_loss"] == only[0]["losses"]["d_loss"]
    assert "there is no training info 2: the model has 2" in onward(
        "train", model, "--data", tmp_path / "gan.npz", "--info", 2, "-o", tmp_path / "x.onnx").stderr


def test_initialization_only_when_asked_for(tmp_path):
    model = example(tmp_path, "initialized")
    random = np.random.default_rng(0)
    np.savez(tmp_path / "data.npz", x=random.normal(size=(8, 20)).astype(np.float32),
             label=random.integers(0, 5, 8))

    def first_loss(*more):
        return losses(done("train", model, "--data", tmp_path / "data.npz", "--steps", 1, "--json",
                           "-o", tmp_path / "out.onnx", *more))[0]

    assert first_loss() == pytest.approx(np.log(5), rel=1e-6)  # all weights are 0
    drawn = first_loss("--initialize")
    assert abs(drawn - np.log(5)) > 0.01
    assert first_loss("--initialize") == drawn


def test_it_learns_and_reports(tmp_path):
    model, data = example(tmp_path, "logistic"), digits(tmp_path)
    result = done("train", model, "--data", data, "--eval", data, "--epochs", 30, "--batch-size", 16,
                  "-o", tmp_path / "trained.onnx")
    lines = result.stdout.splitlines()
    assert lines[0] == "64 examples, 4 steps per epoch"
    assert lines[1].startswith("epoch 1/30: loss 2.") and "; evaluation: loss 2." in lines[1]
    assert lines[-1] == str(tmp_path / "trained.onnx") and lines[-2].startswith("120 steps in ")
    evaluated = json.loads(done("eval", tmp_path / "trained.onnx", "--data", data, "--json").stdout)
    assert evaluated["accuracy"] > 0.9 and evaluated["examples"] == 64
    assert f"accuracy {100 * evaluated['accuracy']:.2f} %" in lines[-3]
    # The reference evaluator of ONNX says the same of the inference model.
    done("train", model, "--data", data, "--epochs", 30, "--batch-size", 16, "--inference",
         "-o", tmp_path / "inference.onnx")
    inference = onnx.load(tmp_path / "inference.onnx")
    assert not inference.training_info
    assert [o.domain for o in inference.opset_import] == [""]
    with np.load(data) as arrays:
        scores = ReferenceEvaluator(inference).run(None, {"x": arrays["x"]})[0]
        accuracy = np.mean(scores.argmax(1) == arrays["label"])
    assert accuracy == evaluated["accuracy"]
    alone = json.loads(done("eval", tmp_path / "inference.onnx", "--data", data, "--json").stdout)
    assert alone["accuracy"] == accuracy and "loss" not in alone


def test_epoch_loss_is_the_mean_over_examples(tmp_path):
    model, data = example(tmp_path, "logistic"), digits(tmp_path, 50)
    result = done("train", model, "--data", data, "--batch-size", 32, "--json", "-o", tmp_path / "t.onnx")
    steps, (epoch,) = events(result.stdout, "step"), events(result.stdout, "epoch")
    assert [step["examples"] for step in steps] == [32, 18]
    assert epoch["loss"] == pytest.approx((32 * steps[0]["loss"] + 18 * steps[1]["loss"]) / 50)
    dropped = done("train", model, "--data", data, "--batch-size", 32, "--drop-last", "--json",
                   "-o", tmp_path / "t.onnx")
    assert [step["examples"] for step in events(dropped.stdout, "step")] == [32]


def test_the_seed_decides_on_the_order(tmp_path):
    model, data = example(tmp_path, "logistic"), digits(tmp_path)

    def run(seed):
        return losses(done("train", model, "--data", data, "--batch-size", 16, "--seed", seed, "--json",
                           "-o", tmp_path / "t.onnx"))

    assert run(1) == run(1) and run(1) != run(2)


def test_types_are_converted(tmp_path):
    model = example(tmp_path, "logistic")
    x = np.random.default_rng(0).integers(0, 17, (20, 64), np.uint8)
    label = np.arange(20, dtype=np.uint8) % 10
    np.savez(tmp_path / "bytes.npz", x=x, label=label)
    np.savez(tmp_path / "wide.npz", x=x.astype(np.float32), label=label.astype(np.int64))
    np.savez(tmp_path / "doubles.npz", x=x.astype(float), label=label.astype(float)[:, None])
    found = [losses(done("train", model, "--data", tmp_path / name, "--json", "-o", tmp_path / "t.onnx"))
             for name in ("bytes.npz", "wide.npz", "doubles.npz")]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("arrays, more, message", [
    ({"x": np.full((4, 64), 1e39), "label": np.zeros(4, int)}, [], "element 0 is 1e+39, which f32 cannot represent"),
    ({"x": np.zeros((4, 64), np.float32), "label": np.array([0, 1, 0.5, 1])}, [], "element 2 is 0.5, which i64 cannot represent"),
    ({"image": np.zeros((4, 64), np.float32), "label": np.zeros(4, int)}, [],
     "there is no array 'x' for input 'x' f32[N,64]"),
    ({"image": np.zeros((4, 64), np.float32), "label": np.zeros(4, int)}, [],
     "the data has image f32[4,64], label i64[4]"),
    ({"x": np.zeros((4, 8, 8), np.float32), "label": np.zeros(4, int)}, [], "f32[4,8,8] does not fit"),
    ({"x": np.zeros((4, 64), np.float32), "label": np.zeros(5, int)}, [], "has 5 examples"),
    ({"x": np.zeros((4, 64), np.float32), "label": np.full(4, 10)}, [], "10"),
    ({"x": np.zeros((4, 64), np.float32), "label": np.zeros(4, int)},
     ["--batch-size", 8, "--drop-last"], "a step takes 8 examples"),
    ({"x": np.zeros((4, 64), np.float32), "label": np.zeros(4, int)}, ["--feed", "x"], "INPUT=ARRAY"),
    ({"x": np.zeros((4, 64), np.float32), "label": np.zeros(4, int)}, ["--batch-size", 0], "--batch-size"),
    ({"x": np.zeros((4, 64), np.float32), "label": np.zeros(4, int)}, ["--eval", "none.npz"],
     "there is no file or folder 'none.npz'"),
])
def test_refusals(tmp_path, arrays, more, message):
    model = example(tmp_path, "logistic")
    np.savez(tmp_path / "data.npz", **arrays)
    result = onward("train", model, "--data", tmp_path / "data.npz", "-o", tmp_path / "out.onnx", *more)
    assert result.returncode == 1 and message in result.stderr
    assert not (tmp_path / "out.onnx").exists()


def test_an_inference_model_is_refused(tmp_path):
    model, data = example(tmp_path, "logistic"), digits(tmp_path)
    done("train", model, "--data", data, "--inference", "-o", tmp_path / "inference.onnx")
    result = onward("train", tmp_path / "inference.onnx", "--data", data, "-o", tmp_path / "out.onnx")
    assert result.returncode == 1 and "is an inference model: it has no training info (loss, gradients, optimizer)" in result.stderr


def test_a_folder_that_is_missing_is_noticed_before_training(tmp_path):
    model, data = example(tmp_path, "logistic"), digits(tmp_path)
    result = onward("train", model, "--data", data, "-o", tmp_path / "no" / "out.onnx")
    assert result.returncode == 1 and "does not exist" in result.stderr and not result.stdout


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_loss_that_is_not_finite_names_step_and_tensor(tmp_path, value):
    model = example(tmp_path, "logistic")
    x = np.ones((8, 64), np.float32)
    x[5, 3] = value
    np.savez(tmp_path / "data.npz", x=x, label=np.zeros(8, int))
    out = tmp_path / "out.onnx"
    out.write_bytes(b"precious")
    result = onward("train", model, "--data", tmp_path / "data.npz", "--batch-size", 1, "--epochs", 2,
                    "--checkpoint", tmp_path / "kept", "--checkpoint-every", 1, "--json", "-o", out)
    assert result.returncode == 1
    steps = len(events(result.stdout, "step"))
    assert f"in step {steps + 1} (epoch 1)" in result.stderr
    assert "'loss' became" in result.stderr
    assert f"input 'x' holds {value} in example 5" in result.stderr
    assert out.read_bytes() == b"precious"
    if steps:
        kept = state(tmp_path / "kept" / "checkpoint.onnx")
        assert all(np.isfinite(value).all() for value in kept.values())


BAD_STEP = """<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
m (float[N] x) => (float[N] y) <float[1] w = {1}> { y = Mul(x, w) }
training_info {
  algorithm step () => (float loss, float[1] w_new, float T_new) <float T = {0}, float one = {1}, float last = {LAST}, float rate = {0.1}> {
    loss = ReduceMean<keepdims = 0>(y)
    dw = ai.onnx.preview.training.Gradient<xs = ["w"], zs = ["x"], y = "loss">(w, x)
    T_new = Add(T, one)
    left = Sub(last, T_new)
    root = Sqrt(left)
    scaled = Mul(dw, root)
    change = Mul(rate, scaled)
    w_new = Sub(w, change)
  }
  update_binding { w <- w_new  T <- T_new }
}"""


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("kept", [False, True])
def test_a_training_that_ends_badly_keeps_its_last_good_step(tmp_path, kept, older):
    """Step 6 would take the root of -1."""
    (tmp_path / "bad.onnxtxt").write_text(BAD_STEP.replace("LAST", "5"))
    np.savez(tmp_path / "data.npz", x=np.ones(20, np.float32))
    train = ["train", tmp_path / "bad.onnxtxt", "--data", tmp_path / "data.npz", "--batch-size", 2]
    done(*train, "--steps", 5, "-o", tmp_path / "five.onnx")
    out, folder = tmp_path / "out.onnx", tmp_path / ("kept" if kept else "out.onnx.checkpoint")
    if older:
        out.write_bytes(b"precious")
    result = onward(*train, "--epochs", 2, "-o", out, *(["--checkpoint", folder] if kept else []))
    assert result.returncode == 1 and "'w' became" in result.stderr
    assert "in step 6 (epoch 1)" in result.stderr and "the model after step 5 is in" in result.stderr
    if older:
        assert out.read_bytes() == b"precious"
    else:
        assert equal_bits(out, tmp_path / "five.onnx")
    assert (folder / "checkpoint.onnx").exists() == (kept or older)
    if kept or older:
        assert equal_bits(folder / "checkpoint.onnx", tmp_path / "five.onnx")


OVERFLOWING = """<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
m (float[N,32] x) => (float[N,32] y) <float[32] w = full(1)> { y = Mul(x, w) }
training_info {
  algorithm step () => (float loss, float[32] w_new, float T_new) <float T = {0}, float one = {1}, float[32] last = full(5)> {
    loss = ReduceMean<keepdims = 0>(y)
    dw = ai.onnx.preview.training.Gradient<xs = ["w"], zs = ["x"], y = "loss">(w, x)
    T_new = Add(T, one)
    left = Sub(last, T_new)
    change = Div(dw, left)
    w_new = Sub(w, change)
  }
  update_binding { w <- w_new  T <- T_new }
}"""


@pytest.mark.parametrize("more", [[], ["--steps", 5]])
def test_an_update_that_overflows_is_refused(tmp_path, more):
    """Step 5 divides by 0: the model is that of step 4."""
    (tmp_path / "bad.onnxtxt").write_text(OVERFLOWING)
    np.savez(tmp_path / "data.npz", x=np.ones((4, 32), np.float32))
    train = ["train", tmp_path / "bad.onnxtxt", "--data", tmp_path / "data.npz", "--batch-size", 2]
    done(*train, "--epochs", 2, "-o", tmp_path / "four.onnx")
    out = tmp_path / "out.onnx"
    result = onward(*train, "--epochs", 4, *more, "-o", out)
    assert result.returncode == 1 and "'w' became -inf" in result.stderr and "in step 5" in result.stderr
    assert f"the model after step 4 is in '{out}'" in result.stderr
    assert equal_bits(out, tmp_path / "four.onnx")


def test_every_epoch_has_an_order_of_its_own(tmp_path):
    (tmp_path / "still.onnxtxt").write_text(BAD_STEP.replace("LAST", "1e6").replace("{0.1}", "{0}"))
    np.savez(tmp_path / "data.npz", x=np.arange(10, dtype=np.float32))
    result = done("train", tmp_path / "still.onnxtxt", "--data", tmp_path / "data.npz", "--batch-size", 1, "--epochs", 3,
                  "--json", "-o", tmp_path / "out.onnx")
    seen = np.reshape(losses(result), (3, 10))  # of one example each
    assert all(sorted(epoch) == list(range(10)) for epoch in seen)
    assert len({tuple(epoch) for epoch in seen}) == 3


@pytest.mark.parametrize("count", [100000, 257])
def test_threads_are_bounded(tmp_path, count):
    result = onward("train", example(tmp_path, "logistic"), "--data", digits(tmp_path), "--threads", count,
                    "-o", tmp_path / "out.onnx")
    assert result.returncode == 1 and f"{count} threads are not supported" in result.stderr


def test_data_that_is_cut_while_it_is_used_is_an_error(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    count = 40000
    np.save(folder / "x.npy", np.ones((count, 64), np.float32))
    np.save(folder / "label.npy", np.zeros(count, int))
    out = tmp_path / "out.onnx"
    process = subprocess.Popen(command("train", example(tmp_path, "logistic"), "--data", folder, "--epochs", 1000,
                                       "--batch-size", 10, "--json", "-o", out),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while '"step"' not in process.stdout.readline():
        pass
    os.truncate(folder / "x.npy", 5000)
    errors = process.communicate(timeout=120)[1]
    assert process.returncode == 1 and "x.npy' was truncated while in use" in errors
    assert "the model after step" in errors and out.exists()


def test_fixed_batches(tmp_path):
    model = example(tmp_path, "logistic")
    fixed = onnx.load(model)
    for value in (fixed.graph.input[0], fixed.graph.output[0], fixed.training_info[0].algorithm.input[0]):
        value.type.tensor_type.shape.dim[0].dim_value = 8
    onnx.save(fixed, model)
    data = digits(tmp_path, 20)
    out = tmp_path / "t.onnx"
    assert "--drop-last" in onward("train", model, "--data", data, "-o", out).stderr
    assert "batch size is fixed at 8: --batch-size 4 does not fit" in onward("train", model, "--data", data, "--batch-size", 4, "-o", out).stderr
    result = done("train", model, "--data", data, "--drop-last", "--json", "-o", out)
    assert [step["examples"] for step in events(result.stdout, "step")] == [8, 8]
    assert "a fixed batch size of 8, which does not divide the 20 examples" in onward("eval", model, "--data", data).stderr
    assert "batch size is fixed at 8: 4 does not fit" in onward("eval", model, "--data", data, "--batch-size", 4).stderr


def test_help_has_an_example():
    for name in ("train", "eval", "run"):
        result = done(name, "--help")
        assert f"Example: onward {name}" in result.stdout


def test_training_anew_gives_the_same_bits(tmp_path):
    model, data = example(tmp_path, "logistic"), digits(tmp_path)
    for name in ("a.onnx", "b.onnx"):
        done("train", model, "--data", data, "--epochs", 3, "-o", tmp_path / name)
    assert equal_bits(tmp_path / "a.onnx", tmp_path / "b.onnx")


def test_a_loss_that_is_also_state_is_reported(tmp_path):
    text = done("example", "linear").stdout
    text = text.replace("int64 T = {0},", "int64 T = {0},\n    float last_loss = {0},")
    text = text.replace("T <- T_new\n", "T <- T_new\n    last_loss <- loss\n")
    (tmp_path / "m.onnxtxt").write_text(text)
    result = done("train", tmp_path / "m.onnxtxt", "--data", linear_data(tmp_path), "--steps", 3,
                  "--batch-size", 5, "--json", "-o", tmp_path / "t.onnx")
    found = losses(result)
    np.testing.assert_allclose(found, linear_by_numpy(3)[0], rtol=1e-5)
    assert state(tmp_path / "t.onnx")["last_loss"] == np.float32(found[-1])


@pytest.mark.parametrize("more", [[], ["--drop-last"]])
def test_accumulated_gradients_are_those_of_the_whole(tmp_path, more):
    model, data = example(tmp_path, "logistic"), digits(tmp_path, 64)

    def run(out, *split):
        return done("train", model, "--data", data, "--epochs", 3, "--json", *split, *more,
                    "-o", tmp_path / out)

    whole = run("whole.onnx", "--batch-size", 32)
    parts = run("parts.onnx", "--batch-size", 8, "--accumulate", 4)
    np.testing.assert_allclose(losses(parts), losses(whole), rtol=1e-5)
    assert [e["examples"] for e in events(parts.stdout, "step")] == [32] * 6
    first, second = state(tmp_path / "whole.onnx"), state(tmp_path / "parts.onnx")
    for name in first:
        np.testing.assert_allclose(second[name], first[name], rtol=1e-3, atol=1e-5)


def test_threads(tmp_path):
    model, data = example(tmp_path, "logistic"), digits(tmp_path)
    for threads in (1, 2):
        found = losses(done("train", model, "--data", data, "--threads", threads, "--json",
                            "-o", tmp_path / "t.onnx"))
        assert len(found) == 2
