"""What is printed as text is read again as the same, on every model of ONNX's backend suite."""

import json
import os
import pathlib
import subprocess

import suite


def test_printed_models_are_read_again(tmp_path):
    models = suite.models()
    suite.write(tmp_path, models)
    tool = pathlib.Path(os.environ["ONWARD_TOOLS"]) / "text_tool"
    done = subprocess.run([tool, tmp_path], capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == len(models)
    assert [line for line in lines if not line.get("equal")] == []
