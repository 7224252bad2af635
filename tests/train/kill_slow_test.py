"""Killed at random moments, a training ends with the same bits as one that was left alone."""

import random
import subprocess
import time

import numpy as np

from program import command, done, equal_bits, events, example, onward

KILLS = 30


def test_kill_at_random_moments(tmp_path):
    model, data = example(tmp_path, "cnn"), tmp_path / "images.npz"
    numbers = np.random.default_rng(0)
    np.savez(data, image=numbers.random((16, 1, 28, 28), dtype=np.float32), label=np.arange(16) % 10)
    folder = tmp_path / "kept"

    def arguments(out, *more):
        return ["train", model, "--data", data, "--batch-size", 2, "--epochs", 4, "--seed", 1,
                "-o", tmp_path / out, *more]

    resume = arguments("trained.onnx", "--checkpoint", folder, "--checkpoint-every", 1, "--resume", "--json")
    done(*arguments("undisturbed.onnx"))
    begin = time.monotonic()
    done(*arguments("one.onnx", "--steps", 1))
    one_step = time.monotonic() - begin

    moments = random.Random(0)
    kills = whole = 0
    while kills < KILLS:
        process = subprocess.Popen(command(*resume), stdout=subprocess.PIPE, text=True,
                                   stderr=subprocess.DEVNULL)
        # Some lines later, and then any time later: while it loads, computes, writes or renames.
        for _ in range(moments.randrange(8)):
            process.stdout.readline()
        time.sleep(moments.uniform(0, one_step / 4))
        process.kill()
        process.communicate()
        if process.returncode == 0:  # it was faster: begin anew, and go on killing
            whole += 1
            assert equal_bits(tmp_path / "trained.onnx", tmp_path / "undisturbed.onnx")
            for file in folder.iterdir():
                file.unlink()
        else:
            kills += 1
        if (folder / "checkpoint.onnx").exists():
            result = onward("check", folder / "checkpoint.onnx")
            assert result.returncode == 0, result.stdout
    result = done(*resume)
    first = events(result.stdout, "begin")[0]["first_step"]
    print(f"{kills} kills, {whole} trainings came to their end, the last went on after step {first}")
    assert equal_bits(tmp_path / "trained.onnx", tmp_path / "undisturbed.onnx")
    assert len(list(folder.iterdir())) == 2
