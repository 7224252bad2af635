"""10,000 damaged files through `check`: no crash, no sanitizer report, each under 2 s and 1 GB."""

import os
import pathlib
import random
import subprocess

import mutate
import suite

COUNT = 10_000
LARGEST = 50_000  # bytes; a larger file only takes longer to damage


def originals(tmp_path):
    """Real models, and all example training files as often as it takes to make a third of the whole."""
    subprocess.run([os.environ["ONWARD"], "example", "--all", "-o", tmp_path], check=True,
                   stdout=subprocess.DEVNULL)
    training = [path.read_bytes() for path in sorted(pathlib.Path(tmp_path).glob("*.onnx"))]
    training = [data for data in training if len(data) < LARGEST]
    inference = [model.SerializeToString() for model in suite.models().values()]
    inference = [data for data in inference if len(data) < LARGEST]
    return inference, training


def test_damaged_files_are_survived(tmp_path):
    rng = random.Random(20)
    inference, training = originals(tmp_path / "examples")
    assert len(inference) > 1500 and len(training) >= 6
    folder = tmp_path / "damaged"
    folder.mkdir()
    for i in range(COUNT):
        data = rng.choice(training if i % 3 == 0 else inference)
        (folder / f"{i:05}.onnx").write_bytes(mutate.mutate(data, rng))

    lines = suite.run_tool("check", folder)  # raises where the tool dies of one
    assert len(lines) == COUNT
    # A file that is no model is an Error, anything else that was thrown is ours.
    assert [line for line in lines.values() if line.get("bug")] == []
    slow = [line for line in lines.values() if line["seconds"] > 2]
    large = [line for line in lines.values() if line["peak_mb"] > 1000]
    assert slow == [] and large == []
    refused = sum(1 for line in lines.values()
                  if "error" in line or any(p["severity"] == "error" for p in line["problems"]))
    assert refused > COUNT / 2  # the damage is real
