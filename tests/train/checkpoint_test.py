"""Checkpoints: what ends on the way goes on bit for bit, and nothing good is lost."""

import fcntl
import json
import os
import resource
import signal
import subprocess
import termios
import time

import numpy as np
import onnx
import pytest

from program import command, digits, done, equal_bits, events, example, onward, state


@pytest.fixture
def job(tmp_path):
    return example(tmp_path, "logistic"), digits(tmp_path)


def arguments(job, folder, *more, out="trained.onnx", epochs=5):
    model, data = job
    return ["train", model, "--data", data, "--batch-size", 10, "--epochs", epochs, "--seed", 3,
            "-o", folder / out, *more]


@pytest.fixture
def undisturbed(job, tmp_path):
    done(*arguments(job, tmp_path, out="undisturbed.onnx"))
    return tmp_path / "undisturbed.onnx"


def test_a_checkpoint_is_a_training_file(job, tmp_path):
    folder = tmp_path / "kept"
    result = done(*arguments(job, tmp_path, "--checkpoint", folder, "--json"))
    assert [e["epoch"] for e in events(result.stdout, "checkpoint")] == [2, 3, 4, 5, 6]
    checkpoint = folder / "checkpoint.onnx"
    assert done("check", checkpoint).stdout == f"{checkpoint}: valid\n"
    assert equal_bits(checkpoint, tmp_path / "trained.onnx")
    # One file of data beside it, and no leftovers.
    assert sorted(os.listdir(folder))[0] == "checkpoint.onnx" and len(os.listdir(folder)) == 2
    kept = {entry.key for entry in onnx.load(checkpoint).metadata_props}
    written = {entry.key for entry in onnx.load(tmp_path / "trained.onnx").metadata_props}
    assert kept - written == {"onward.training", "onward.checksum"}


@pytest.mark.parametrize("stop", [1, 7, 13, 14, 20])
def test_resume_is_exact(job, tmp_path, undisturbed, stop):
    folder = tmp_path / "kept"
    done(*arguments(job, tmp_path, "--checkpoint", folder, "--steps", stop))
    result = done(*arguments(job, tmp_path, "--checkpoint", folder, "--resume", "--json"))
    assert events(result.stdout, "begin")[0]["first_step"] == stop
    assert equal_bits(tmp_path / "trained.onnx", undisturbed)


def test_epochs_are_reported_as_if_undisturbed(job, tmp_path):
    folder = tmp_path / "kept"
    whole = done(*arguments(job, tmp_path, "--json"))
    done(*arguments(job, tmp_path, "--checkpoint", folder, "--steps", 10))
    rest = done(*arguments(job, tmp_path, "--checkpoint", folder, "--resume", "--json"))
    assert events(rest.stdout, "epoch") == events(whole.stdout, "epoch")[1:]


def test_resume_without_checkpoint_starts(job, tmp_path, undisturbed):
    result = done(*arguments(job, tmp_path, "--checkpoint", tmp_path / "new", "--resume"))
    assert "no checkpoint in" in result.stderr
    assert equal_bits(tmp_path / "trained.onnx", undisturbed)


def test_longer_training_goes_on(job, tmp_path, undisturbed):
    folder = tmp_path / "kept"
    done(*arguments(job, tmp_path, "--checkpoint", folder, epochs=2))
    done(*arguments(job, tmp_path, "--checkpoint", folder, "--resume", epochs=5))
    assert equal_bits(tmp_path / "trained.onnx", undisturbed)


def test_what_would_lose_or_change_a_training_is_refused(job, tmp_path):
    folder = tmp_path / "kept"
    kept = ["--checkpoint", folder]
    done(*arguments(job, tmp_path, *kept, "--steps", 3))
    model, data = job
    train = ["train", model, "--data", data, "-o", tmp_path / "trained.onnx", *kept]
    assert "continue from it with --resume" in onward(*train).stderr
    assert "made with --batch-size 10" in onward(*train, "--resume", "--batch-size", 11).stderr
    assert "made with --seed 3" in onward(*train, "--resume", "--seed", 4).stderr
    assert "another --info" in onward(*train, "--resume", "--info", 1).stderr
    assert "made without --drop-last" in onward(*train, "--resume", "--drop-last").stderr
    assert "--initialize would reset" in onward(*train, "--resume", "--initialize").stderr
    assert "another --feed" in onward(*train, "--resume", "--feed", "x=other").stderr
    with np.load(data) as arrays:
        np.savez(data, x=arrays["x"] + 1, label=arrays["label"])
    assert "differs from the data" in onward(*train, "--resume").stderr
    example(tmp_path, "logistic")
    os.replace(tmp_path / "logistic.onnx", folder / "checkpoint.onnx")
    digits(tmp_path)
    assert "it is not a checkpoint" in onward("train", data, "--data", data, "-o", tmp_path / "t.onnx",
                                           "--resume", *kept).stderr
    (folder / "checkpoint.onnx").write_bytes(b"garbage")
    assert "checkpoint.onnx" in onward(*train, "--resume").stderr


DROPOUT = """<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
m (float[N,64] x) => (float[N,10] y) <float[64,10] w = normal(1, 0.1)> { y = MatMul(x, w) }
training_info {
  algorithm step (int64[N] label) => (float loss, float[64,10] w_new) <float half = {0.5}, bool on = {1}, float rate = {RATE}> {
    dropped = Dropout(y, half, on)
    loss = SoftmaxCrossEntropyLoss(dropped, label)
    dw = ai.onnx.preview.training.Gradient<xs = ["w"], zs = ["x", "label"], y = "loss">(w, x, label)
    change = Mul(rate, dw)
    w_new = Sub(w, change)
  }
  update_binding { w <- w_new }
}"""


def written(folder, name="dropout", rate=0.1):
    (folder / f"{name}.onnxtxt").write_text(DROPOUT.replace("RATE", str(rate)))
    return folder / f"{name}.onnxtxt"


def test_random_numbers_go_on_where_they_were(tmp_path):
    job = written(tmp_path), digits(tmp_path)
    done(*arguments(job, tmp_path, out="undisturbed.onnx"))
    kept = ["--checkpoint", tmp_path / "kept"]
    done(*arguments(job, tmp_path, *kept, "--steps", 9))
    done(*arguments(job, tmp_path, *kept, "--resume"))
    assert equal_bits(tmp_path / "trained.onnx", tmp_path / "undisturbed.onnx")


def test_the_output_of_a_training_that_went_on_has_the_same_form(tmp_path):
    job = written(tmp_path), digits(tmp_path)
    done(*arguments(job, tmp_path, out="undisturbed.onnx"))
    kept = ["--checkpoint", tmp_path / "kept"]
    done(*arguments(job, tmp_path, *kept, "--steps", 9))
    done(*arguments(job, tmp_path, *kept, "--resume"))
    assert (tmp_path / "trained.onnx").read_bytes() == (tmp_path / "undisturbed.onnx").read_bytes()


def test_another_model_is_not_trained_on(tmp_path):
    data = digits(tmp_path)
    kept = ["--checkpoint", tmp_path / "kept"]
    done(*arguments((written(tmp_path), data), tmp_path, *kept, "--steps", 9))
    for other in (written(tmp_path, "faster", 0.2), example(tmp_path, "logistic")):
        result = onward(*arguments((other, data), tmp_path, *kept, "--resume"))
        assert result.returncode == 1 and "belongs to another model than" in result.stderr


def flipped(file, position, bit=0):
    data = bytearray(file.read_bytes())
    data[position] ^= 1 << bit
    file.write_bytes(data)


@pytest.mark.parametrize("name", ["checkpoint.onnx", "checkpoint.onnx.data"])
def test_a_damaged_checkpoint_is_refused(tmp_path, name):
    job = written(tmp_path), digits(tmp_path)
    kept = ["--checkpoint", tmp_path / "kept"]
    done(*arguments(job, tmp_path, *kept, "--steps", 3))
    (data,) = (file for file in (tmp_path / "kept").iterdir() if file.name.endswith("data"))
    file = data if name.endswith("data") else tmp_path / "kept" / name
    good = file.read_bytes()
    for position in range(0, len(good), max(1, len(good) // 40)):
        flipped(file, position, position % 8)
        result = onward(*arguments(job, tmp_path, *kept, "--resume"))
        assert result.returncode == 1 and "checkpoint" in result.stderr, position
        assert "remove it to start over" in result.stderr
        file.write_bytes(good)
    for length in (0, 1, len(good) // 2, len(good) - 1):
        file.write_bytes(good[:length])
        assert onward(*arguments(job, tmp_path, *kept, "--resume")).returncode == 1, length
    file.write_bytes(good)
    done(*arguments(job, tmp_path, *kept, "--resume"))


def test_a_checkpoint_without_checksums_is_read(tmp_path):
    job = written(tmp_path), digits(tmp_path)
    done(*arguments(job, tmp_path, out="undisturbed.onnx"))
    kept = ["--checkpoint", tmp_path / "kept"]
    done(*arguments(job, tmp_path, *kept, "--steps", 9))
    file = tmp_path / "kept" / "checkpoint.onnx"
    older = onnx.load(file, load_external_data=False)
    entries = {entry.key: entry.value for entry in older.metadata_props}
    stand = json.loads(entries["onward.training"])
    for new in ("model", "arrays", "tensors"):
        del stand[new]
    onnx.helper.set_model_props(older, {"onward.training": json.dumps(stand)})
    file.write_bytes(older.SerializeToString())
    done(*arguments(job, tmp_path, *kept, "--resume"))
    assert equal_bits(tmp_path / "trained.onnx", tmp_path / "undisturbed.onnx")


def test_two_trainings_do_not_share_a_folder(job, tmp_path):
    kept = ["--checkpoint", tmp_path / "kept"]
    process = start(arguments(job, tmp_path, *kept, "--json", epochs=100000), text=True)
    wait_for(process, "checkpoint")
    result = onward(*arguments(job, tmp_path, *kept, "--resume"))
    assert result.returncode == 1 and "another training is using the checkpoint folder" in result.stderr
    process.kill()  # which also unlocks
    process.communicate()
    result = onward(*arguments(job, tmp_path, *kept, "--resume", "--steps", 1))
    assert "another training" not in result.stderr and "is at step" in result.stderr


def test_a_folder_that_can_not_be_written_is_found_at_once(job, tmp_path):
    (tmp_path / "file").write_text("")
    result = onward(*arguments(job, tmp_path, "--checkpoint", tmp_path / "file" / "kept"))
    assert result.returncode == 1 and "can't be made" in result.stderr and result.stdout == ""


def start(arguments, **options):
    """Starts the program with Ctrl-C as in a terminal: what runs in the background may ignore it."""
    return subprocess.Popen(command(*arguments), stdout=subprocess.PIPE,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), **options)


def wait_for(process, kind):
    for line in process.stdout:
        if f'"event":"{kind}"' in line:
            return
    raise AssertionError("the program ended")


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("folder", [None, "kept"])
def test_ctrl_c_saves_and_says_how_to_go_on(job, tmp_path, kind, folder):
    more = ["--checkpoint", tmp_path / folder, "--checkpoint-every", 1000] if folder else []
    many = arguments(job, tmp_path, "--json", *more, epochs=150)
    process = start(many, text=True)
    wait_for(process, "step")
    process.send_signal(kind)
    rest = process.communicate(timeout=60)[0]
    assert process.returncode == 130
    (interrupted,) = events("\n".join(line for line in rest.splitlines() if "interrupted" in line))
    assert not (tmp_path / "trained.onnx").exists()
    checkpoint = tmp_path / (folder or "trained.onnx.checkpoint") / "checkpoint.onnx"
    assert checkpoint.exists()
    # What it says to do does go on, and ends as if nothing had happened.
    line = interrupted["resume"].replace("onward", os.environ["ONWARD"], 1)
    resumed = subprocess.run(line, shell=True, capture_output=True, text=True)
    assert resumed.returncode == 0, resumed.stderr
    assert events(resumed.stdout, "begin")[0]["first_step"] == interrupted["step"]
    done(*arguments(job, tmp_path, out="undisturbed.onnx", epochs=150))
    assert equal_bits(tmp_path / "trained.onnx", tmp_path / "undisturbed.onnx")
    assert checkpoint.exists() == (folder is not None)  # ours is gone, the user's folder stays


def test_text_says_how_to_go_on(job, tmp_path):
    many = arguments(job, tmp_path, "--checkpoint", tmp_path / "my folder", epochs=100000)
    process = start(many, text=True)
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    before, last = process.communicate(timeout=60)[0].splitlines()[-2:]
    assert before.startswith("interrupted after step ") and last.startswith("  onward train ") and last.endswith(" --resume")
    assert f"--checkpoint '{tmp_path}/my folder'" in last


def limited(size):
    """Lets files grow to `size` bytes only, which a writer sees as it sees a full disk."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return limit


@pytest.mark.parametrize("size", [0, 1000, 3000])
def test_a_full_disk_leaves_the_checkpoint_before(job, tmp_path, undisturbed, size):
    folder = tmp_path / "kept"
    done(*arguments(job, tmp_path, "--checkpoint", folder, "--steps", 7))
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    result = onward(*arguments(job, tmp_path, "--checkpoint", folder, "--resume"), preexec_fn=limited(size))
    assert result.returncode == 1 and "File too large" in result.stderr
    assert str(folder) in result.stderr
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    done(*arguments(job, tmp_path, "--checkpoint", folder, "--resume"))
    assert equal_bits(tmp_path / "trained.onnx", undisturbed)


def test_a_full_disk_keeps_an_older_output(job, tmp_path):
    out = tmp_path / "trained.onnx"
    out.write_bytes(b"precious")
    result = onward(*arguments(job, tmp_path), preexec_fn=limited(100))
    assert result.returncode == 1 and "File too large" in result.stderr
    assert out.read_bytes() == b"precious"
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def test_a_full_device_is_an_error(job):
    model, data = job
    result = onward("train", model, "--data", data, "-o", "/dev/full")
    assert result.returncode == 1 and "No space left on device" in result.stderr


def test_leftovers_of_a_crash_are_removed(job, tmp_path):
    folder = tmp_path / "kept"
    done(*arguments(job, tmp_path, "--checkpoint", folder, "--steps", 2))
    (folder / ".checkpoint.onnx.Ab12Cd").write_bytes(b"unfinished")
    (folder / "checkpoint.onnx.77.data").write_bytes(b"unfinished")
    (folder / "my notes.txt").write_text("stay")
    done(*arguments(job, tmp_path, "--checkpoint", folder, "--resume"))
    names = os.listdir(folder)
    assert "my notes.txt" in names and len(names) == 3
    assert all(np.isfinite(value).all() for value in state(folder / "checkpoint.onnx").values())


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_a_second_ctrl_c_ends_at_once(job, tmp_path, second):
    many = arguments(job, tmp_path, "--json", epochs=100000)
    process = start(many)
    # Nobody reads what it prints, so that it soon waits in the middle of a step: once the pipe holds no more.
    waiting = lambda: int.from_bytes(fcntl.ioctl(process.stdout, termios.FIONREAD, bytes(4)), "little")
    printed = -1
    while printed < 60000 or printed != waiting():
        printed = waiting()
        time.sleep(1)
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    assert process.poll() is None
    process.send_signal(second)
    assert process.wait(timeout=60) == -second
    assert not (tmp_path / "trained.onnx").exists()
