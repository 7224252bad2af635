"""What the tests of emitted source share: the cases, and how a generated model.py is loaded."""

import importlib.util
import json
import os
import pathlib
import re
import subprocess

import numpy as np
from safetensors.numpy import load_file

TOOLS = pathlib.Path(os.environ["ONWARD_TOOLS"])
ONWARD = os.environ["ONWARD"]

# Random numbers are each framework's own.
RANDOM = {"Bernoulli", "Multinomial", "RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike"}
DROPPING = {"Dropout in training", "Dropout of the default ratio"}


def module_of(folder):
    """The generated model.py as a module."""
    specification = importlib.util.spec_from_file_location(f"model_{folder.name}", folder / "model.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def written_cases(target, folder, *family):
    """Every operator case, or those of one family, in every variant: its description and folder."""
    subprocess.run([TOOLS / "emit_tool", "cases", target, folder, *family], check=True)
    return [(json.loads((each / "case.json").read_text()), each) for each in sorted(folder.iterdir())]


def difference(case, name, expected, result, tensors):
    """What is wrong with a result, or None."""
    if result.shape != expected.shape or result.dtype != expected.dtype:
        return f"{name} is {result.dtype}{result.shape}, expected {expected.dtype}{expected.shape}"
    if case["case"] in RANDOM:
        return None
    if case["case"] in DROPPING:
        ratio = 0.25 if case["case"] == "Dropout in training" else 0.5
        kept = tensors["x"] / (1 - ratio)
        fits = np.isclose(result, kept, rtol=1e-12) | (result == 0)
        return None if fits.all() else f"{name} is neither dropped nor scaled"
    roundings = 1e-5 if expected.dtype == np.float32 else 1e-12  # of operators that know no float64
    if not np.allclose(result, expected, rtol=roundings, atol=roundings):
        return f"{name} differs by {np.abs(result - expected).max()}"
    return None


def wrong_values(cases, run, raised):
    """Runs every case; `run(folder, feeds)` gives its results as a list of arrays, or raises what `raised` says."""
    wrong = []
    for case, folder in cases:
        if "refused" in case:
            continue
        label = f"{folder.name} {case['case']}, {case['variant']}"
        tensors = load_file(folder / "tensors.safetensors")
        expected = load_file(folder / "results.safetensors")
        try:
            results = run(folder, [tensors[name] for name in case["inputs"]])
        except Exception as error:  # whatever the source does wrong is a finding
            expected = raised.get((case["case"], case["variant"]))
            if expected is None or expected not in str(error):
                wrong.append(f"{label}: {type(error).__name__}: {error}")
            continue
        if (case["case"], case["variant"]) in raised:
            wrong.append(f"{label}: raised nothing")
        for name, result in zip(case["outputs"], results, strict=True):
            if problem := difference(case, name, expected[name], np.asarray(result), tensors):
                wrong.append(f"{label}: {problem}")
    return wrong


# Cases of operators that Keras refuses as such, by how their names begin.
NOT_EXPORTED = ("If ", "Loop ", "Scan", "Sequence", "ConcatFromSequence", "SplitToSequence", "Optional",
                "Identity of a sequence")
WHY_NOT = re.compile("control flow is not exported yet|values that are no tensors are not exported yet")
# Cases that are written with an operator that has no call yet, by how their names begin.
WITHOUT_CALLS = ("RNN", "GRU", "LSTM", "Attention", "LinearAttention", "TensorScatter", "DequantizeLinear in blocks")
NO_CALL = re.compile("control flow is not exported yet|no case of the tests covers it yet")


def refusals(cases, has_control_flow=False):
    """What was refused: (case, variant) with the last line of the reason; where control flow and containers
    are refused as such, only what is not."""
    refused = {}
    if has_control_flow:
        return {(case["case"], case["variant"]): case["refused"].splitlines()[-1].strip() for case, _ in cases
                if "refused" in case}
    for case, _ in cases:
        said = case.get("refused")
        if case["case"].startswith(NOT_EXPORTED):
            if not said or not WHY_NOT.search(said):
                refused[case["case"], case["variant"]] = said
        elif said and case["case"].startswith(WITHOUT_CALLS) and NO_CALL.search(said):
            continue
        elif said:
            refused[case["case"], case["variant"]] = said.splitlines()[-1].strip()
    return refused


def onward(*arguments):
    """Runs the program; gives what it prints."""
    done = subprocess.run([ONWARD, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout
