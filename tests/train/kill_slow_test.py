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

    def arguments(out):
        return ["train", model, "--data", data, "--batch", 2, "--epochs", 4, "--seed", 1,
                "-o", tmp_path / out]

    begin = time.monotonic()
    done(*arguments("undisturbed.onnx"))
    duration = time.monotonic() - begin

    moments = random.Random(0)
    kills, survived = 0, 0
    while kills < KILLS:
        resume = [*arguments("trained.onnx"), "--checkpoint", folder, "--checkpoint-every", 1,
                  "--resume", "--json"]
        process = subprocess.Popen(command(*resume), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            process.wait(timeout=moments.uniform(0, duration / 3))
            survived += 1
            if process.returncode == 0:  # it came to its end: begin anew, and go on killing
                assert equal_bits(tmp_path / "trained.onnx", tmp_path / "undisturbed.onnx")
                for file in folder.iterdir():
                    file.unlink()
            else:
                raise AssertionError("the program failed by itself")
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            kills += 1
        checkpoint = folder / "checkpoint.onnx"
        if checkpoint.exists():
            result = onward("check", checkpoint)
            assert result.returncode == 0, result.stdout
    result = done(*arguments("trained.onnx"), "--checkpoint", folder, "--resume", "--json")
    first = events(result.stdout, "begin")[0]["first_step"]
    print(f"{kills} kills, {survived} runs came to their end, the last began after step {first}")
    assert equal_bits(tmp_path / "trained.onnx", tmp_path / "undisturbed.onnx")
    assert len(list(folder.iterdir())) == 2
