"""Held-out examples, and what ends a training early: --val-split, --early-stop, --keep, --time-limit."""

import numpy as np
import pytest

from program import digits, done, equal_bits, events, example, onward


def steep(folder, rate):
    """A linear classifier with a learning rate at which its loss goes up and down, or not at all."""
    done("train", example(folder, "logistic"), "--data", digits(folder), "--steps", 1, "--inference",
         "-o", folder / "inference.onnx")
    done("prepare", folder / "inference.onnx", "--loss", "softmax_cross_entropy", "--optimizer", "sgd", "--lr", rate,
         "-o", folder / "steep.onnx")
    return ["train", folder / "steep.onnx", "--data", digits(folder, 100), "--batch-size", 10]


def evaluations(result):
    return [event["evaluation"]["loss"] for event in events(result.stdout, "epoch")]


def test_early_stop(tmp_path):
    train = [*steep(tmp_path, 1e-30), "--val-split", 0.2, "--json", "--epochs", 9, "-o", tmp_path / "t.onnx"]
    result = done(*train, "--early-stop", "loss:2")
    assert 76 <= events(result.stdout, "begin")[0]["examples"] <= 84  # 80, but for what is rounded label by label
    assert len(evaluations(result)) == 3 and len(set(evaluations(result))) == 1
    assert events(result.stdout, "stopped")[0]["reason"] == "loss was best in epoch 1, and not better in 2 epochs since"
    assert len(events(done(*train, "--early-stop", "accuracy:4").stdout, "epoch")) == 5


def test_keep_best(tmp_path):
    train = [*steep(tmp_path, 40), "--val-split", 0.3, "--json", "--seed", 4]
    last = tmp_path / "last.onnx"
    losses = evaluations(done(*train, "--epochs", 6, "-o", last))
    best = int(np.argmin(losses)) + 1
    assert best < 6, losses  # or there is nothing to see
    done(*train, "--epochs", best, "-o", tmp_path / "expected.onnx")
    done(*train, "--epochs", 6, "--keep", "best", "-o", tmp_path / "a.onnx")
    assert equal_bits(tmp_path / "a.onnx", tmp_path / "expected.onnx") and not (tmp_path / "a.best.onnx").exists()
    result = done(*train, "--epochs", 6, "--keep", "best,last", "-o", tmp_path / "b.onnx")
    assert equal_bits(tmp_path / "b.onnx", last) and equal_bits(tmp_path / "b.best.onnx", tmp_path / "expected.onnx")
    [event] = events(result.stdout, "best")
    assert event["epoch"] == best and event["file"] == str(tmp_path / "b.best.onnx")
    # In parts, of which only the first is told.
    kept = ["--checkpoint", tmp_path / "kept", "-o", tmp_path / "c.onnx"]
    done(*train, "--steps", 7 * best - 3, "--keep", "best", *kept)
    resume = ["train", tmp_path / "steep.onnx", "--data", tmp_path / "digits.npz", *kept, "--resume"]
    done(*resume, "--epochs", 6)
    assert equal_bits(tmp_path / "c.onnx", tmp_path / "expected.onnx")
    refused = onward(*resume, "--epochs", 7, "--val-split", 0.2)
    assert refused.returncode == 1 and "made with 0.3, not with 0.2: omit --val-split" in refused.stderr
    (tmp_path / "c.best.onnx").unlink()
    refused = onward(*resume, "--epochs", 7)
    assert refused.returncode == 1 and f"the best model so far, of epoch {best}, is no longer in" in refused.stderr
    done(*resume, "--epochs", 7, "--keep", "last")


def test_time_limit(tmp_path):
    result = done(*steep(tmp_path, 0.1), "--epochs", 10**9, "--time-limit", "1s", "--json", "-o", tmp_path / "t.onnx")
    steps = events(result.stdout, "done")[0]["step"]
    assert events(result.stdout, "stopped")[0]["reason"] == f"the time limit was reached after step {steps}"
    assert 0.9 < events(result.stdout, "step")[-1]["seconds"] < 30  # it is told of before the limit is looked at


@pytest.mark.parametrize("options, message", [
    (["--early-stop", "loss:3"], "--early-stop compares evaluations: give --eval or --val-split"),
    (["--keep", "best"], "--keep best compares evaluations: give --eval or --val-split"),
    (["--val-split", 0.2, "--early-stop", "loss"], "--early-stop expects METRIC:PATIENCE"),
    (["--val-split", 0.2, "--early-stop", "loss:0"], "--early-stop expects METRIC:PATIENCE"),
    (["--val-split", 0.2, "--early-stop", "los:2"], "unknown metric 'los': did you mean 'loss'?"),
    (["--val-split", 0.2, "--keep", "first"], "--keep"),
    (["--val-split", 1], "must be between 0 and 1"),
    (["--val-split", 0.001], "is none to hold out"),
    (["--val-split", 0.2, "--eval", "x.npz"], "both say what to evaluate on"),
    (["--time-limit", "1d"], "--time-limit expects a time such as"),
    (["--time-limit", "0s"], "--time-limit expects a time such as"),
])
def test_refusals(tmp_path, options, message):
    result = onward("train", example(tmp_path, "logistic"), "--data", digits(tmp_path), *options, "-o", tmp_path / "t.onnx")
    assert result.returncode == 1 and message in result.stderr, result.stderr
