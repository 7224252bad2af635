"""Numbers of the command line: out of range is refused before anything is read, and products are counted."""


import pytest

from program import digits, done, equal_bits, events, example, onward

WHOLE = {  # the options of each command that take a whole number, and the least that it may be
    "train": {"--epochs": 1, "--steps": 0, "--batch-size": 1, "--accumulate": 1, "--checkpoint-every": 0, "--seed": 0,
              "--threads": 0, "--info": -1},
    "eval": {"--batch-size": 1, "--threads": 0, "--info": -1},
    "run": {"--info": -1, "--seed": 0},
    "lower": {"--info": 0, "--opset": 0},
    "export": {"--info": 0},
}
FLOATS = ["--lr", "--weight-decay", "--momentum", "--dampening", "--beta1", "--beta2", "--epsilon", "--lr-decay",
          "--initial-accumulator", "--bn-momentum"]


@pytest.mark.parametrize("command, option, least",
                         [(command, *row) for command, options in WHOLE.items() for row in options.items()])
def test_whole_numbers(command, option, least):
    for value, message in [(2**63, "out of range"), (10**20, "out of range"), (-(2**63) - 1, "out of range"),
                           (least - 1, f"must be at least {least}"), ("1.5", "is not an integer"),
                           ("1e3", "is not an integer"), ("0x10", "is not an integer"),
                           ("one", "is not an integer"), ("", "is not an integer")]:
        result = onward(command, "no.onnx", f"{option}={value}")
        # `--option=` alone takes the next argument, of which there is none
        expected = message if value != "" else option
        assert result.returncode == 1 and option in result.stderr and expected in result.stderr, (value, result.stderr)


@pytest.mark.parametrize("option", FLOATS)
def test_floats(option):
    for value, message in [("1e999", "out of range"), ("-1e999", "out of range"), ("1e-999", "out of range"),
                           ("a", "is not a number"), ("0x1p3", "is not a number"), ("1,5", "is not a number")]:
        result = onward("prepare", "no.onnx", "-o", "out.onnx", "--loss", "mse", f"{option}={value}")
        assert result.returncode == 1 and option in result.stderr and message in result.stderr, (value, result.stderr)


def test_a_leading_zero_is_no_octal_number(tmp_path):
    model, data = example(tmp_path, "logistic"), digits(tmp_path)
    result = done("train", model, "--data", data, "--epochs", "010", "--json", "-o", tmp_path / "out.onnx")
    assert events(result.stdout, "begin")[0]["epochs"] == 10


HUGE = 2**63 - 1


@pytest.mark.parametrize("batch, accumulate", [(32, 2**62), (2**62, 2), (HUGE, HUGE), (2**32, 2**31)])
@pytest.mark.parametrize("more", [[], ["--drop-last"]])
def test_a_step_of_more_examples_than_can_be_counted(tmp_path, batch, accumulate, more):
    model, data = example(tmp_path, "logistic"), digits(tmp_path)
    result = onward("train", model, "--data", data, "--batch-size", batch, "--accumulate", accumulate, *more,
                    "-o", tmp_path / "out.onnx")
    assert result.returncode == 1 and "more examples than 64 bits count" in result.stderr
    assert not (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize("numbers", [["--batch-size", HUGE], ["--batch-size", 1, "--accumulate", HUGE], ["--batch-size", 2**62],
                                     ["--batch-size", 64, "--epochs", HUGE, "--steps", 1]])
def test_a_step_takes_what_there_is(tmp_path, numbers):
    model, data = example(tmp_path, "logistic"), digits(tmp_path)
    out = ["-o", tmp_path / "out.onnx"]
    result = done("train", model, "--data", data, *numbers, "--json", *out)
    assert events(result.stdout, "begin")[0]["steps_per_epoch"] == 1
    assert [event["step"] for event in events(result.stdout, "step")] == [1]
    assert "1 step per epoch" in done("train", model, "--data", data, *numbers, *out).stdout
    result = onward("train", model, "--data", data, *numbers, "--drop-last", *out)
    assert (result.returncode == 1) == ("--steps" not in numbers)
    if result.returncode:
        assert ", the data has 64" in result.stderr


def test_the_largest_seed_is_kept(tmp_path):
    model, data = example(tmp_path, "logistic"), digits(tmp_path)
    train = ["train", model, "--data", data, "--batch-size", 8, "--seed", HUGE]
    done(*train, "--epochs", 2, "-o", tmp_path / "whole.onnx")
    kept = ["--checkpoint", tmp_path / "kept", "-o", tmp_path / "out.onnx"]
    done(*train, "--epochs", 1, *kept)
    done(*train, "--epochs", 2, "--resume", *kept)
    assert equal_bits(tmp_path / "out.onnx", tmp_path / "whole.onnx")
