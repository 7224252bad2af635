"""What the program says of itself and of slips on the command line: one to three lines, with what to do."""

import os
import re
import subprocess

import pytest

ONWARD = os.environ["ONWARD"]
COMMANDS = ["check", "show", "prepare", "train", "eval", "predict", "run", "lower", "upgrade", "export", "import-weights", "ops", "example", "testset", "help", "version"]


def run(*arguments):
    return subprocess.run([ONWARD, *arguments], capture_output=True, text=True)


SLIPS = {
    ("trian", "m.onnx"): "unknown command 'trian': did you mean 'train'?",
    ("xyzzy",): "unknown command 'xyzzy': the commands are ",
    ("train", "m.onnx", "--epoch", "3"): "unknown option --epoch: did you mean '--epochs'?",
    ("train", "m.onnx", "--epoch=3"): "unknown option --epoch: did you mean '--epochs'?",
    ("show", "m.onnx", "--xyzzy"): "unknown option --xyzzy\n",
    ("check",): "MODEL is required",
    ("prepare", "m.onnx", "-o", "t.onnx", "--loss", "mse", "--optimizer", "Adam"): "did you mean 'adam'?",
    ("export", "m.onnx", "--to", "pytorch", "-o", "x"): "'pytorch' is not one of torch, keras",
    ("prepare", "m.onnx", "-o", "t.onnx", "--loss", "mce"): "unknown loss 'mce': did you mean 'mse'?",
    ("example", "lineer"): "unknown example 'lineer': did you mean 'linear'?",
    ("testset",): "--output is required",
    ("testset", "-o", "set"): "then call `python -m onward testset -o DIR`",
    ("help", "trian"): "unknown command 'trian': did you mean 'train'?",
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
    assert sorted(re.findall(r"^  ([\w-]+) ", done.stdout.split("Commands:")[1], re.MULTILINE)) == sorted(COMMANDS)
    assert run().stdout == done.stdout and run().returncode == 1


def test_version_names_what_is_inside():
    done = run("version")
    assert done.returncode == 0
    first, libraries, cpu = done.stdout.splitlines()
    assert re.fullmatch(r"onward \d+\.\d+\.\d+(, commit [0-9a-f]{12}(-dirty)?)?", first)
    assert re.fullmatch(r"libraries: ONNX [\d.]+, protobuf [\d.]+, oneDNN [\d.]+, BLIS [\d.]+", libraries)
    assert re.fullmatch(r"CPU: \d+ threads, .+", cpu)
    assert run("--version").stdout == first.split(",")[0] + "\n"


FORMER = {  # spellings that are still taken, and today's
    ("train", "no.onnx", "--data", "d.npz", "-o", "t.onnx", "--batch", "0"): "--batch-size: must be at least 1, not 0",
    ("eval", "no.onnx", "--data", "d.npz", "--batch=0"): "--batch-size: must be at least 1, not 0",
    ("prepare", "no.onnx", "--out", "t.onnx", "--loss", "mse", "--rate-decay", "x"): "--lr-decay: 'x' is not a number",
    ("prepare", "no.onnx", "--out=t.onnx", "--loss", "mse", "--learning-rate=x"): "--lr: 'x' is not a number",
    ("lower", "no.onnx", "--out", "t.onnx", "--info=-1"): "--info: must be at least 0, not -1",
    ("take", "no", "no.onnx"): "onward import-weights: ",
}


@pytest.mark.parametrize("arguments", FORMER, ids=" ".join)
def test_former_spellings_are_taken(arguments):
    done = run(*arguments)
    assert done.returncode == 1 and FORMER[arguments] in done.stderr


def test_help_lists_only_the_spellings_of_today():
    assert run("help", "take").stdout == run("import-weights", "--help").stdout
    for command, former in {"train": "--batch ", "eval": "--batch ", "prepare": "--rate-decay", "lower": "--out "}.items():
        assert former not in run("help", command).stdout
    assert "take " not in run("help").stdout.split("Commands:")[1]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_readable(command):
    """No line is wider than 100 columns, and no default is a number that stands for something else."""
    text = run("help", command).stdout
    assert max(map(len, text.splitlines())) <= 100
    options = [block for block in re.split(r"\n(?=  -)", text) if "default: -1" in block or "default: 0" in block]
    assert {block.split()[0] for block in options} <= {"--seed", "--info", "--head-seed"}


def test_defaults_that_are_words():
    train = run("help", "train").stdout
    for words in ["default: one per core", "default: all, in order", "default: no limit", "default: one per epoch"]:
        assert words in re.sub(r"\s+", " ", train)
