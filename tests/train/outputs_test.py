"""Outputs: what can't be written is found before the first step, and no work is lost where a disk is full."""

import signal
import subprocess

import pytest

from program import command, digits, done, equal_bits, example, onward


@pytest.fixture
def job(tmp_path):
    return ["train", example(tmp_path, "logistic"), "--data", digits(tmp_path), "--batch-size", 8, "--json"]


def files(folder):
    return {path: path.read_bytes() if path.is_file() else path.is_symlink() for path in folder.rglob("*")}


NO_PLACE = ["", "/proc/x.onnx", "digits.npz/x.onnx", "digits.npz/", "link", "/dev/null/x.onnx"]
NO_FILE = ["no/x.onnx", "folder", "folder/", "new/", "x" * 250 + ".onnx"]
NO_FOLDER = ["digits.npz", "loop", "/dev/null", "x" * 300]


@pytest.mark.parametrize("option, where", [
    *(("-o", where) for where in NO_PLACE + NO_FILE), *(("--checkpoint", where) for where in NO_PLACE + NO_FOLDER)])
def test_an_output_that_can_not_be_written_is_found_at_once(job, tmp_path, option, where):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("no/x.onnx")
    (tmp_path / "loop").symlink_to("loop")
    before = files(tmp_path)
    others = ["-o", "out.onnx"] if option == "--checkpoint" else []
    result = onward(*job, *others, option, where, cwd=tmp_path)
    assert result.returncode == 1 and '"event"' not in result.stdout and "in step" not in result.stderr, result
    assert files(tmp_path) == before


@pytest.mark.parametrize("arguments", [
    ["prepare", "logistic.onnx", "--loss", "mse", "-o"], ["lower", "logistic.onnx", "-o"],
    ["import-weights", "folder", "logistic.onnx", "-o"], ["run", "logistic.onnx", "-o"], ["example", "linear", "-o"],
    ["export", "logistic.onnx", "--to", "torch", "-o"], ["train", "logistic.onnx", "-o", "x.onnx", "--data"],
    ["train", "logistic.onnx", "--data", "digits.npz", "-o", "x.onnx", "--eval"],
    ["train", "logistic.onnx", "--data", "digits.npz", "-o", "x.onnx", "--feed"], ["check"], ["show"]])
def test_an_empty_text_is_no_value(job, tmp_path, arguments):
    before = files(tmp_path)
    result = onward(*arguments, "", cwd=tmp_path)
    assert result.returncode == 1 and "the value is empty" in result.stderr
    assert files(tmp_path) == before


@pytest.mark.parametrize("existing", [False, True])
def test_what_is_tried_out_leaves_no_trace(job, tmp_path, existing):
    """The data is refused after the outputs were found to be writable."""
    if existing:
        (tmp_path / "out.onnx").write_bytes(b"precious")
    before = files(tmp_path)
    result = onward(*job, "--eval", "none.npz", "-o", "out.onnx", "--checkpoint", "a/b/c", cwd=tmp_path)
    assert result.returncode == 1 and "there is no file or folder 'none.npz'" in result.stderr
    assert files(tmp_path) == before


def begun(arguments, kind):
    """A training that has said that. It waits for its output to be read before it goes on for long."""
    process = subprocess.Popen(command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in process.stdout:
        if f'"event":"{kind}"' in line:
            return process
    raise AssertionError(process.communicate())


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("more", [[], ["--inference"]])
def test_a_checkpoint_that_can_not_be_written_any_more(job, tmp_path, older, more):
    """The model so far goes to -o, or beside it where that would cost an older file."""
    out, folder = tmp_path / "out.onnx", tmp_path / "kept"
    if older:
        out.write_bytes(b"precious")
    process = begun([*job, "--epochs", 1000000, "--checkpoint", folder, "-o", out, *more], "checkpoint")
    folder.rename(tmp_path / "moved")
    folder.write_text("in the way")
    _, errors = process.communicate(timeout=120)
    written = tmp_path / "out.rescued.onnx" if older else out
    assert process.returncode == 1 and f"is in '{written}'" in errors and str(folder) in errors, errors
    assert not older or out.read_bytes() == b"precious"
    assert done("check", written).stdout.endswith("valid\n")
    steps = int(errors.split("the model after step ")[1].split()[0])
    done(*job, "--steps", steps, *more, "-o", tmp_path / "undisturbed.onnx")
    assert equal_bits(written, tmp_path / "undisturbed.onnx")


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("more", [[], ["--inference"]])
def test_an_output_that_can_not_be_written_any_more(job, tmp_path, kept, more):
    """The whole training is in a checkpoint, from which it can be had."""
    (tmp_path / "sub").mkdir()
    out = tmp_path / "sub" / "out.onnx"
    checkpoint = tmp_path / "kept" if kept else tmp_path / "sub" / "out.onnx.checkpoint"
    train = [*job, "--epochs", 500, *(["--checkpoint", checkpoint] if kept else []), *more]
    process = begun([*train, "-o", out], "step")
    process.send_signal(signal.SIGSTOP)
    (tmp_path / "sub").rename(tmp_path / "moved")
    process.send_signal(signal.SIGCONT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1 and f"the model after step 4000 is in '{checkpoint / 'checkpoint.onnx'}'" in errors, errors
    done(*train, "--resume", "-o", tmp_path / "out.onnx", *([] if kept else ["--checkpoint", checkpoint]))
    done(*job, "--epochs", 500, *more, "-o", tmp_path / "undisturbed.onnx")
    assert equal_bits(tmp_path / "out.onnx", tmp_path / "undisturbed.onnx")
