"""Progress: a bar on a terminal, and nothing of it elsewhere."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

import pytest

from program import command, digits, done, example


def test_a_bar_on_a_terminal(tmp_path):
    model, data = example(tmp_path, "logistic"), digits(tmp_path)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
    train = command("train", model, "--data", data, "--batch-size", 2, "--epochs", 4000, "-o", tmp_path / "t.onnx")
    with open(tmp_path / "said", "w") as said:  # a pipe that nobody reads would fill up
        process = subprocess.Popen(train, stdout=said, stderr=theirs, env=os.environ | {"TERM": "xterm"})
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


def drawn_on_a_terminal(tmp_path, columns, environment):
    """What a training writes to a terminal of that many columns on stderr, line by line or drawing by drawing."""
    model, data = example(tmp_path, "logistic"), digits(tmp_path)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    train = command("train", model, "--data", data, "--batch-size", 2, "--epochs", 1500, "-o", tmp_path / "t.onnx")
    with open(tmp_path / "said", "w") as said:
        process = subprocess.Popen(train, stdout=said, stderr=theirs, env=os.environ | environment)
    os.close(theirs)
    drawn = b""
    while True:
        try:
            drawn += os.read(ours, 4096)
        except OSError:
            break
    assert process.wait(timeout=60) == 0
    return drawn.decode()


@pytest.mark.parametrize("columns, bar", [(20, False), (60, False), (100, True), (200, True)])
def test_a_bar_fits_the_terminal(tmp_path, columns, bar):
    drawn = drawn_on_a_terminal(tmp_path, columns, {"TERM": "xterm", "NO_COLOR": "1"})
    bars = [each.removesuffix("\x1b[K") for each in drawn.split("\r") if "epoch" in each]
    assert bars and all(len(each) < columns and "\x1b" not in each for each in bars)
    assert all(("[=" in each or "[ " in each) == bar for each in bars)


def test_a_dumb_terminal_gets_no_escape_sequences(tmp_path):
    drawn = drawn_on_a_terminal(tmp_path, 80, {"TERM": "dumb"})
    assert "\x1b" not in drawn and "\r" not in drawn.replace("\r\n", "\n")


def test_no_bar_elsewhere(tmp_path):
    model, data = example(tmp_path, "logistic"), digits(tmp_path)
    result = done("train", model, "--data", data, "--epochs", 20, "-o", tmp_path / "t.onnx")
    assert result.stderr == "" and "\r" not in result.stdout
