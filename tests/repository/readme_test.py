"""The transcripts of README.md are true: each fenced block marked `console` is run, in one temporary
folder from the first block to the last, and must print what the README says.

A line `$ command` is a command, the lines below it are its output; a line `...` stands for any lines. What training
measures (losses, accuracies, times) varies with the machine: of these numbers only the form must be the same.
A block marked `python` is an example, and the same as its file.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def transcript(text):
    """The (command, expected output lines) pairs of all console blocks."""
    steps = []
    for block in BLOCK.findall(text):
        for line in block.splitlines():
            if line.startswith("$ "):
                steps.append((line[2:], []))
            else:
                steps[-1][1].append(line)
    return steps


def matches(expected, actual):
    if not expected:
        return not actual
    if expected[0] == "...":
        return any(matches(expected[1:], actual[skipped:]) for skipped in range(len(actual) + 1))
    return bool(actual) and expected[0] == actual[0] and matches(expected[1:], actual[1:])


MEASURED = re.compile(r"\d+\.\d+(e-\d+)?|\d+:\d+|\d+(?= examples/s)")


def without_measures(command, lines):
    trains = command.startswith(("onward train", "onward eval", "python "))
    if not trains:
        return lines
    # Between the epochs a slow machine tells how far it is.
    return [MEASURED.sub("#", line) for line in lines if " eta " not in line and not line.startswith("evaluating ")]


def run(command, folder):
    program = pathlib.Path(os.environ["ONWARD"]).resolve()
    python = pathlib.Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{program.parent}:{python}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
    return [line.rstrip() for line in done.stdout.splitlines()]


def test_readme_is_true(tmp_path):
    steps = transcript((ROOT / "README.md").read_text())
    assert steps, "README.md has no transcript"
    for file in [*(ROOT / "examples").glob("*.npz"), *(ROOT / "examples").glob("*.py"),
                 *(ROOT / "examples/python").glob("*.py")]:
        shutil.copy(file, tmp_path)
    for command, expected in steps:
        actual = run(command, tmp_path)
        assert matches(without_measures(command, expected), without_measures(command, actual)), "\n".join([f"$ {command}", *actual, "README.md says:",
                                                     *expected])


def test_examples_are_those_of_the_files():
    shown = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert shown == [(ROOT / "examples/python/train.py").read_text()]


@pytest.mark.parametrize("expected, actual, same", [
    (["a", "b"], ["a", "b"], True),
    (["a", "b"], ["a", "c"], False),
    (["a"], ["a", "b"], False),
    (["a", "b"], ["a"], False),
    (["a", "...", "d"], ["a", "b", "c", "d"], True),
    (["a", "...", "d"], ["a", "d"], True),
    (["a", "...", "d"], ["a", "b", "c"], False),
    (["..."], [], True),
    ([], ["a"], False),
])
def test_output_is_compared(expected, actual, same):
    assert matches(expected, actual) == same


def test_transcripts_are_found():
    text = "x\n```console\n$ one\n1\n$ two\n```\n```sh\n$ not run\n```\n```console\n$ three\n3\n```\n"
    assert transcript(text) == [("one", ["1"]), ("two", []), ("three", ["3"])]
