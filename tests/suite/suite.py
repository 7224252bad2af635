"""The models of ONNX's own backend suite, and the tool that does something with all of them."""

import json
import os
import pathlib
import subprocess
import warnings

import onnx
from onnx.backend.test.loader import load_model_tests

KINDS = ("node", "simple", "real", "pytorch-converted", "pytorch-operator")


def read_model(case):
    if case.model is not None:
        return case.model
    if case.model_dir is not None:
        return onnx.load(os.path.join(case.model_dir, "model.onnx"))
    package = pathlib.Path(onnx.__file__).parent.parent  # "real" models: light copies in the wheel
    return onnx.load(package / case.url)


def models():
    """name -> ModelProto, of every test of the suite."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # making the node tests divides by zero on purpose
        cases = [(kind, case) for kind in KINDS for case in load_model_tests(kind=kind)]
    return {f"{kind}-{case.name}": read_model(case) for kind, case in cases}


def write(folder, models_by_name):
    folder.mkdir(parents=True, exist_ok=True)
    for name, model in models_by_name.items():
        (folder / f"{name}.onnx").write_bytes(model.SerializeToString())


def run_tool(*arguments):
    """Runs model_tool; returns file stem -> its line."""
    tool = pathlib.Path(os.environ["ONWARD_TOOLS"]) / "model_tool"
    done = subprocess.run([tool, *arguments], capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {line["file"].removesuffix(".onnx"): line for line in lines}
