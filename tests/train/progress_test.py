"""Progress: a bar on a terminal, and nothing of it elsewhere."""

import os
import pty
import re
import subprocess

from program import command, digits, done, example


def test_a_bar_on_a_terminal(tmp_path):
    model, data = example(tmp_path, "logistic"), digits(tmp_path)
    ours, theirs = pty.openpty()
    train = command("train", model, "--data", data, "--batch", 2, "--epochs", 4000, "-o", tmp_path / "t.onnx")
    with open(tmp_path / "said", "w") as said:  # a pipe that nobody reads would fill up
        process = subprocess.Popen(train, stdout=said, stderr=theirs)
    os.close(theirs)
    drawn = b""
    while True:
        try:
            drawn += os.read(ours, 4096)
        except OSError:  # the other side is closed
            break
    assert process.wait(timeout=60) == 0
    lines = (tmp_path / "said").read_text().splitlines()
    bars = drawn.decode().split("\r")
    form = re.compile(r"epoch \d+/4000 \[=* *\] +\d+ %  \d+ examples/s  loss [\d.e+-]+, accuracy [\d.]+ %  "
                      r"eta \d+:\d\d\x1b\[K")
    assert any(form.fullmatch(bar) for bar in bars), bars
    assert bars[-1] == "\x1b[K"  # wiped away in the end
    assert not any("\r" in line for line in lines) and len(lines) == 4003


def test_no_bar_elsewhere(tmp_path):
    model, data = example(tmp_path, "logistic"), digits(tmp_path)
    result = done("train", model, "--data", data, "--epochs", 20, "-o", tmp_path / "t.onnx")
    assert result.stderr == "" and "\r" not in result.stdout
