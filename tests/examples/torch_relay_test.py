"""examples/relay arrives, in both types: it compares every hand-over itself."""

import pathlib
import re
import subprocess
import sys

import pytest

RELAY = pathlib.Path(__file__).resolve().parents[2] / "examples/relay/relay.py"


@pytest.mark.parametrize("options", [[], ["--float32"]], ids=["float64", "float32"])
def test_relay(options, tmp_path):
    done = subprocess.run([sys.executable, RELAY, tmp_path, *options], capture_output=True, text=True)
    print(done.stdout)
    assert done.returncode == 0, done.stderr
    names = re.findall(r"^steps +\d+ to +\d+  (\w+) ", done.stdout, re.MULTILINE)
    assert names == ["PyTorch", "Onward", "Keras", "Onward", "PyTorch", "PyTorch"]
    assert done.stdout.count("those of not having moved") == 4
