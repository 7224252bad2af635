"""`onward train --log`: event files and CSV files, also of trainings that go on, are killed, or have no room."""

import csv
import resource
import signal
import struct
import subprocess

import numpy as np
import pytest

from event_files import curves, events as logged, records
from program import command, digits, done, events, example, onward


def table(file):
    with open(file, newline="") as text:
        return list(csv.DictReader(text))


def float32(number):
    return struct.unpack("f", struct.pack("f", number))[0]


def columns(file, key, *names):
    return [(int(row[key]), *(float(row[name]) for name in names)) for row in table(file)]


def test_the_numbers_are_those_of_the_report(tmp_path):
    log = tmp_path / "runs/one"
    result = done("train", example(tmp_path, "logistic"), "--data", digits(tmp_path, 100), "--val-split", 0.2, "--epochs", 3,
                  "--batch-size", 16, "--log", log, "--json", "-o", tmp_path / "t.onnx")
    steps = [(each["step"], each["loss"], each["accuracy"]) for each in events(result.stdout, "step")]
    assert columns(log / "steps.csv", "step", "loss", "accuracy") == steps
    epochs = events(result.stdout, "epoch")
    assert columns(log / "epochs.csv", "epoch", "step", "train/loss", "train/accuracy", "evaluation/loss", "evaluation/accuracy") == [
        (each["epoch"], each["step"], each["loss"], each["accuracy"], each["evaluation"]["loss"], each["evaluation"]["accuracy"])
        for each in epochs]
    training, evaluation = curves(log / "train"), curves(log / "evaluation")
    assert training["step/loss"] == {step: float32(loss) for step, loss, _ in steps}
    assert training["step/accuracy"] == {step: float32(accuracy) for step, _, accuracy in steps}
    assert training["epoch/loss"] == {each["step"]: float32(each["loss"]) for each in epochs}
    # Of one name in both runs, so that they are drawn over each other.
    assert evaluation == {f"epoch/{name}": {each["step"]: float32(each["evaluation"][name]) for each in epochs}
                          for name in ("loss", "accuracy")}
    [file] = (log / "train").iterdir()
    assert logged(file)[0] == (0, "brain.Event:2")
    assert records(file.read_bytes())[1] == 0
    assert sum(int(row["examples"]) for row in table(log / "steps.csv")) == 3 * events(result.stdout, "begin")[0]["examples"]


def without_times(file):
    return [{name: value for name, value in row.items() if name != "time"} for row in table(file)]


def test_resumed(tmp_path):
    """In parts, of which the second begins in the middle of an epoch, and after more rows than the checkpoint knows of."""
    model, data = example(tmp_path, "logistic"), digits(tmp_path, 64)

    def train(log, *more):
        return ["train", model, "--data", data, "--eval", data, "--batch-size", 8, "--log", log, "-o", tmp_path / "t.onnx", *more]

    whole, parts = tmp_path / "whole", tmp_path / "parts"
    done(*train(whole, "--epochs", 3))
    done(*train(parts, "--steps", 11, "--checkpoint", tmp_path / "kept"))
    # What a killed training left: rows that no checkpoint knows of, and a torn one of each kind.
    with open(parts / "steps.csv", "a") as file:
        file.write("12,2,8,0.000,9,9\n13,2,8,0.0")
    [file] = (parts / "train").iterdir()
    with open(file, "ab") as events_file:
        events_file.write(b"\x18\0\0\0\0\0\0\0\1")
    done(*train(parts, "--epochs", 3, "--checkpoint", tmp_path / "kept", "--resume"))
    for name in ("steps.csv", "epochs.csv"):
        assert without_times(parts / name) == without_times(whole / name)
    first, second = sorted((parts / "train").iterdir())
    assert records(first.read_bytes())[1] == 9 and records(second.read_bytes())[1] == 0
    assert logged(second)[:2] == [(12, "brain.Event:2"), (12, "START")]
    expected = curves(whole / "train")
    found = curves(parts / "train")
    assert found["step/loss"] == expected["step/loss"]
    del found["epoch/loss"][11], found["epoch/accuracy"][11]  # of the part of the epoch after which it ended
    assert found == expected
    assert list(curves(parts / "evaluation")["epoch/loss"]) == [8, 11, 16, 24]


def test_a_killed_training_leaves_whole_rows(tmp_path):
    model, data = example(tmp_path, "logistic"), digits(tmp_path, 64)
    log = tmp_path / "log"
    train = ["train", model, "--data", data, "--batch-size", 4, "--log", log, "--checkpoint", tmp_path / "kept",
             "--checkpoint-every", 100, "--json", "-o", tmp_path / "t.onnx"]
    process = subprocess.Popen(command(*train, "--epochs", 10**6), stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if '"step":250' in line:
            break
    process.kill()
    process.communicate()
    steps = [step for step, in columns(log / "steps.csv", "step")]
    assert steps[:249] == list(range(1, 250))  # standard output comes first
    result = done(*train, "--epochs", 400, "--resume")
    first = events(result.stdout, "begin")[0]["first_step"]
    assert first >= 200 and first % 100 == 0
    assert [step for step, in columns(log / "steps.csv", "step")] == list(range(1, 6401))
    assert list(curves(log / "train")["step/loss"]) == list(range(1, 6401))
    assert [epoch for epoch, in columns(log / "epochs.csv", "epoch")] == list(range(1, 401))


def test_no_room_for_the_log(tmp_path):
    """A training is worth more than its log."""
    model, data = example(tmp_path, "logistic"), digits(tmp_path, 64)
    limit = 40_000  # bytes that a file may have: enough for the model, and for a part of the log

    def prepare():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    log = tmp_path / "log"
    train = ["train", model, "--data", data, "--batch-size", 4, "--epochs", 100, "-o"]
    result = done(*train, tmp_path / "t.onnx", "--log", log, preexec_fn=prepare, restore_signals=False)
    warning = result.stderr.splitlines()[0]
    assert warning.startswith(f"warning: the log in '{log}' ends after step ") and "File too large" in result.stderr
    last = int(warning.split("ends after step ")[1].split(",")[0])
    assert 100 < last < 1600
    steps = [step for step, in columns(log / "steps.csv", "step")]
    assert steps in (list(range(1, last + 1)), list(range(1, last + 2)))
    [file] = (log / "train").iterdir()
    assert records(file.read_bytes())[1] == 0 and max(step for step, _ in logged(file)) == last
    done(*train, tmp_path / "u.onnx")
    assert (tmp_path / "t.onnx").read_bytes() == (tmp_path / "u.onnx").read_bytes()


def test_the_log_of_another_training(tmp_path):
    model, data = example(tmp_path, "logistic"), digits(tmp_path)
    train = ["train", model, "--data", data, "-o", tmp_path / "t.onnx", "--log", tmp_path / "log"]
    done(*train)
    before = (tmp_path / "log/steps.csv").read_bytes()
    result = onward(*train)
    assert result.returncode == 1 and "holds the log of another training: remove it, or choose another folder" in result.stderr
    assert (tmp_path / "log/steps.csv").read_bytes() == before
    (tmp_path / "other").mkdir()
    (tmp_path / "other/steps.csv").write_text("a,b\n1,2\n")
    result = onward(*train[:-1], tmp_path / "other")
    assert result.returncode == 1 and "is not the log of a training" in result.stderr
    (tmp_path / "file").write_text("")
    result = onward(*train[:-1], tmp_path / "file/log")
    assert result.returncode == 1 and "can't be made" in result.stderr


def test_a_training_that_never_began_leaves_no_log_behind(tmp_path):
    model, data = example(tmp_path, "logistic"), digits(tmp_path)
    train = ["train", model, "--data", data, "-o", tmp_path / "t.onnx", "--log", tmp_path / "log"]
    good = data.read_bytes()
    np.savez(data, x=np.full((64, 64), np.nan, np.float32), label=np.arange(64) % 10)
    assert "in step 1 (epoch 1)" in onward(*train).stderr
    data.write_bytes(good)
    done(*train)


@pytest.mark.parametrize("more", [[], ["--resume"]])
def test_resume_without_a_checkpoint_starts_over(tmp_path, more):
    model, data = example(tmp_path, "logistic"), digits(tmp_path)
    train = ["train", model, "--data", data, "--batch-size", 16, "-o", tmp_path / "t.onnx", "--log", tmp_path / "log"]
    if more:
        done(*train, "--epochs", 3)
    done(*train, *more)
    assert [step for step, in columns(tmp_path / "log/steps.csv", "step")] == [1, 2, 3, 4]
    assert list(curves(tmp_path / "log/train")["step/loss"]) == [1, 2, 3, 4]
