"""What the program says of itself and of slips on the command line: one to three lines, with what to do."""

import os
import re
import subprocess

import pytest

ONWARD = os.environ["ONWARD"]
COMMANDS = ["check", "show", "prepare", "train", "eval", "run", "lower", "export", "take", "ops", "example", "help", "version"]


def run(*arguments):
    return subprocess.run([ONWARD, *arguments], capture_output=True, text=True)


SLIPS = {
    ("trian", "m.onnx"): "there is no command 'trian': did you mean 'train'?",
    ("xyzzy",): "there is no command 'xyzzy': the commands are ",
    ("train", "m.onnx", "--epoch", "3"): "there is no option --epoch: did you mean '--epochs'?",
    ("train", "m.onnx", "--epoch=3"): "there is no option --epoch: did you mean '--epochs'?",
    ("show", "m.onnx", "--xyzzy"): "there is no option --xyzzy\n",
    ("check",): "MODEL is required",
    ("prepare", "m.onnx", "-o", "t.onnx", "--loss", "mse", "--optimizer", "Adam"): "did you mean 'adam'?",
    ("export", "m.onnx", "--to", "pytorch", "-o", "x"): "'pytorch' is not one of torch, keras",
    ("help", "trian"): "there is no command 'trian': did you mean 'train'?",
}


@pytest.mark.parametrize("arguments", SLIPS, ids=" ".join)
def test_slips_are_refused_in_three_lines(arguments):
    done = run(*arguments)
    assert done.returncode == 1
    assert SLIPS[arguments] in done.stderr
    assert done.stdout == "" and len(done.stderr.splitlines()) <= 3


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command):
    done = run("help", command)
    assert done.returncode == 0 and done.stdout == run(command, "--help").stdout
    assert f"onward {command}" in done.stdout.split("Example", 1)[1]


def test_help_lists_all_commands():
    done = run("help")
    assert done.returncode == 0
    assert sorted(re.findall(r"^  (\w+) ", done.stdout.split("Subcommands:")[1], re.MULTILINE)) == sorted(COMMANDS)
    assert run().stdout == done.stdout and run().returncode == 1


def test_version_names_what_is_inside():
    done = run("version")
    assert done.returncode == 0
    first, libraries, processor = done.stdout.splitlines()
    assert re.fullmatch(r"onward \d+\.\d+\.\d+(, commit [0-9a-f]{12}(-dirty)?)?", first)
    assert re.fullmatch(r"libraries: ONNX [\d.]+, protobuf [\d.]+, oneDNN [\d.]+, BLIS [\d.]+", libraries)
    assert re.fullmatch(r"processor: \d+ threads, .+", processor)
    assert run("--version").stdout == first.split(",")[0] + "\n"
