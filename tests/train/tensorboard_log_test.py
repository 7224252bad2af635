"""TensorBoard's own reader of what `onward train --log` writes."""

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_multiplexer import EventMultiplexer

from program import digits, done, events, example


def scalars(run, tag):
    return [(each.step, each.value) for each in run.Scalars(tag)]


def read(folder):
    return EventAccumulator(str(folder), size_guidance={"scalars": 0}).Reload()


def test_curves(tmp_path):
    log = tmp_path / "log"
    result = done("train", example(tmp_path, "logistic"), "--data", digits(tmp_path, 100), "--val-split", 0.2, "--epochs", 3,
                  "--batch-size", 16, "--log", log, "--json", "-o", tmp_path / "t.onnx")
    run = read(log / "train")
    assert sorted(run.Tags()["scalars"]) == ["epoch/accuracy", "epoch/loss", "step/accuracy", "step/loss"]
    expected = [(each["step"], pytest.approx(each["loss"], rel=1e-6)) for each in events(result.stdout, "step")]
    assert scalars(run, "step/loss") == expected
    evaluations = [(each["step"], pytest.approx(each["evaluation"]["accuracy"], rel=1e-6))
                   for each in events(result.stdout, "epoch")]
    assert scalars(read(log / "evaluation"), "epoch/accuracy") == evaluations
    # The runs of the folder, which TensorBoard draws over each other.
    runs = EventMultiplexer().AddRunsFromDirectory(str(log)).Reload().Runs()
    assert sorted(runs) == ["evaluation", "train"] and "epoch/loss" in runs["evaluation"]["scalars"]


def test_resumed_trainings_are_one_curve(tmp_path):
    model, data, log = example(tmp_path, "logistic"), digits(tmp_path, 64), tmp_path / "log"

    def train(*more):
        done("train", model, "--data", data, "--eval", data, "--batch-size", 8, "--log", log, "-o", tmp_path / "t.onnx",
             "--checkpoint", tmp_path / "kept", *more)

    train("--steps", 11)
    [file] = (log / "train").iterdir()
    # As if it had gone on after the checkpoint, and was killed while it wrote.
    done("train", model, "--data", data, "--batch-size", 8, "--log", tmp_path / "more", "-o", tmp_path / "u.onnx", "--steps", 15)
    [longer] = (tmp_path / "more/train").iterdir()
    file.write_bytes(longer.read_bytes()[:-7])
    assert len(scalars(read(log / "train"), "step/loss")) == 15
    train("--epochs", 3, "--resume")
    run = read(log / "train")
    assert [step for step, _ in scalars(run, "step/loss")] == list(range(1, 25))
    assert [step for step, _ in scalars(run, "epoch/loss")] == [8, 16, 24]
