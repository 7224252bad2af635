"""What the tests of emitted source share: the cases, how a generated model.py is loaded, and how weights come back."""

import importlib.util
import json
import os
import pathlib
import shutil
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


# ---- weights that a framework has changed

FLOATS = {"f16", "f32", "f64"}
# Float inputs of cases that no source holds: an inference model that is not given them has only what follows from them.
_TO_ONE_NUMBER = ("Det", "Det of a matrix without an inverse", "Exp of a scalar", "ReduceLogSum of all", "ReduceMax of all",
                  "ReduceMean of all", "ReduceMin of all", "ReduceProd of all", "ReduceSum of all")
_TO_INTEGERS = ("ArgMax", "ArgMax axis", "ArgMin", "Shape", "Shape in part", "Size")
_OF_SCALES = ("DequantizeLinear", "DequantizeLinear output_dtype", "DequantizeLinear without a zero point", "QLinearConv",
              "QLinearConv same lower", "QLinearConv with all that there is", "QLinearMatMul",
              "QLinearMatMul by rows and columns", "QuantizeLinear precision")
_OF_BANDS = ("MelWeightMatrix", "MelWeightMatrix of more bands than frequencies", "MelWeightMatrix of wide bands")
NOT_HELD = {
    *((case, "x") for case in (*_TO_ONE_NUMBER, *_TO_INTEGERS)),
    ("CastLike", "like"), ("Resize of a given region", "region"),  # read for its type; a list of numbers of a call
    ("If else", "w"),  # read by the other branch, which is not written where the condition is known
    # Single numbers, which are written as such.
    *((case, limit) for case in ("Clip both", "Clip crossed") for limit in ("low", "high")), ("Clip low", "low"),
    ("Clip high", "high"), *((f"Dropout {when}", "ratio") for when in ("in training", "not in training")),
    ("Gemm both", "d"), ("Sum of three broadcast", "d"), ("Greater", "b"), ("GreaterOrEqual of floats", "b"),
    ("Mul broadcast", "b"), ("Where broadcast", "b"), ("Pad value", "value"), ("Pow broadcast", "e"),
    ("Pow of a negative base", "e"), *((case, limit) for case in _OF_BANDS for limit in ("lower", "upper")),
    *((case, "s") for case in _OF_SCALES), ("QLinearMatMul", "sa"), ("QLinearMatMul", "sb"),
    *((case, scale) for case in ("QLinearConv", "QLinearConv same lower") for scale in ("sx", "sw")),
    ("QLinearConv with all that there is", "sx"),
}


def turned(array):
    """A weight's numbers in reverse, which are in the range of the others; where that is no change, smaller ones."""
    reverse = array.reshape(-1)[::-1].reshape(array.shape)
    return smaller(array) if np.array_equal(reverse, array) else reverse.copy()


def smaller(array):
    return np.array(array * 0.9375 if array.any() else array - 0.0625, array.dtype)


def weights_of(folder):
    """The float tensors that a source holds, by its keys: what the model calls them."""
    entries = json.loads((folder / "onward.json").read_text())["weights"]
    return {entry["key"]: entry["tensor"] for entry in entries if entry["dtype"] in FLOATS}


def taken_back(cases, run_with_others, raised):
    """Every case whose source holds float tensors gets others in the framework, which `import-weights` reads back.

    `run_with_others(folder, feeds, others, back)` changes tensors, by keys, with the functions in `others`, saves the model
    to the folder `back`, and gives the results. Returns what is wrong, and each float input that a case held but its source
    did not."""
    results, held, brought = {}, set(), set()
    for case, folder in cases:
        if "refused" in case or (case["case"], case["variant"]) in raised:
            continue
        held |= {(case["case"], name) for name in case["held_floats"]}
        weights = weights_of(folder)
        if not weights:
            continue
        brought |= {(case["case"], name) for name in weights.values()}
        (folder / "back").mkdir()
        shutil.copy(folder / "onward.json", folder / "back")
        tensors = load_file(folder / "tensors.safetensors")
        # Regions of MaxRoiPool begin with the number of an image.
        others = dict.fromkeys(weights, smaller if case["case"].startswith("MaxRoiPool") else turned)
        results[folder] = run_with_others(folder, [tensors[name] for name in case["inputs"]], others, folder / "back")
    subprocess.run([TOOLS / "emit_tool", "take", cases[0][1].parent], check=True)
    wrong = []
    for case, folder in cases:
        if folder not in results:
            continue
        label = f"{folder.name} {case['case']}, {case['variant']}"
        if not (folder / "taken.safetensors").exists():
            wrong.append(f"{label}: {(folder / 'not-taken.txt').read_text()}")
            continue
        taken = load_file(folder / "taken.safetensors")
        weights = load_file(folder / "back" / "weights.safetensors")
        tensors = load_file(folder / "tensors.safetensors") | weights
        for name, result in zip(case["outputs"], results[folder], strict=True):
            if problem := difference(case, name, taken[name], np.asarray(result), tensors):
                wrong.append(f"{label}: {problem}")
    return wrong, held - brought


def refusals(cases):
    """What was refused: (case, variant) with the last line of the reason."""
    return {(case["case"], case["variant"]): case["refused"].splitlines()[-1].strip() for case, _ in cases if "refused" in case}


def onward(*arguments):
    """Runs the program; gives what it prints."""
    done = subprocess.run([ONWARD, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout
