#!/usr/bin/env python3
"""Compares the time of inference in Onward and in ONNX Runtime, on a fixed list of real files (inference_models.py):
each model, input and number of threads the same for both, each run in a process of its own, and the two in turns, so
that what disturbs the machine disturbs both.

    inference.py --package FOLDER --cache FOLDER [--rounds 3] [--seconds 2] [--threads 2] [--only PART] [--json FILE]

--package is where Python finds the package `onward`. Fails where the outputs of the two differ.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
PEERS = ["onward", "onnxruntime"]
LIMIT = 1e-4  # of the largest element, or of this where all are smaller: ONNX Runtime's Sigmoid is 1e-7 off near zero
SMALL = 1e-2


def run(command, package):
    path = os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, "-B", *map(str, command)], capture_output=True, text=True,
                          env=os.environ | {"PYTHONPATH": path})
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}\nbench: failed: {' '.join(map(str, command))}")
    return json.loads(done.stdout.splitlines()[-1])


def difference(given, wanted):
    """The largest difference of two files of outputs, next to the largest element of each output."""
    given, wanted = np.load(given), np.load(wanted)
    worst = 0.0
    for name in wanted.files:
        if given[name].shape != wanted[name].shape:
            sys.exit(f"bench: an output has shape {given[name].shape}, not {wanted[name].shape}")
        apart = np.abs(given[name].astype(np.float64) - wanted[name]).max(initial=0)
        worst = max(worst, float(apart / np.abs(wanted[name]).max(initial=SMALL)))
    return worst


def measure(model, options):
    """All rounds of both peers, and how far their outputs are apart."""
    rounds = {peer: [] for peer in PEERS}
    with tempfile.TemporaryDirectory(prefix="onward-bench-") as folder:
        outputs = {peer: pathlib.Path(folder) / f"{peer}.npz" for peer in PEERS}
        for _ in range(options.rounds):
            for peer in PEERS:
                rounds[peer].append(run([HERE / "peer_infer.py", peer, model["model"], model["inputs"], outputs[peer],
                                         options.seconds, options.threads], options.package))
        apart = difference(outputs["onward"], outputs["onnxruntime"])
    if apart > LIMIT:
        sys.exit(f"bench: {model['name']}: the outputs differ by {apart:.1e} of the largest element")
    found = {"model": model["name"], "difference": apart}
    for peer in PEERS:
        found[peer] = {"median_ms": statistics.median(each["median_ms"] for each in rounds[peer]),
                       "min_ms": min(each["min_ms"] for each in rounds[peer]), "rounds": rounds[peer]}
    for what in ("median_ms", "min_ms"):
        found[f"ratio_of_{what[:-3]}s"] = found["onward"][what] / found["onnxruntime"][what]
    return found


def line(width, name, onward, onnxruntime, ratio, lowest):
    return f"{name:{width}} {onward:>12} {onnxruntime:>15} {ratio:>8} {lowest:>14}"


def row(width, found):
    ours, theirs = found["onward"]["median_ms"], found["onnxruntime"]["median_ms"]
    return line(width, found["model"], f"{ours:.3f}", f"{theirs:.3f}", f"{found['ratio_of_medians']:.2f}",
                f"{found['ratio_of_mins']:.2f}")


def geometric_mean(numbers):
    return math.exp(statistics.fmean(map(math.log, numbers)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", type=pathlib.Path, required=True)
    parser.add_argument("--cache", type=pathlib.Path, required=True, help="where the models are kept")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="", help="models whose name has this in it")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    listed = json.loads(subprocess.run([sys.executable, "-B", HERE / "inference_models.py", options.cache], check=True,
                                       stdout=subprocess.PIPE, text=True).stdout)
    models = [model for model in listed if options.only in model["name"]]
    width = max(len(model["name"]) for model in models)
    print(line(width, "", "Onward ms", "ONNX Runtime ms", "ratio", "ratio of least"), flush=True)
    results = []
    for model in models:
        results.append(measure(model, options))
        print(row(width, results[-1]), flush=True)
    ratios = {what: [found[f"ratio_of_{what}"] for found in results] for what in ("medians", "mins")}
    print(line(width, "geometric mean", "", "", *(f"{geometric_mean(each):.2f}" for each in ratios.values())))
    print(line(width, "largest", "", "", *(f"{max(each):.2f}" for each in ratios.values())))
    if options.json:
        options.json.write_text(json.dumps({"threads": options.threads, "models": results} | {
            f"geometric_mean_of_{what}": geometric_mean(each) for what, each in ratios.items()}, indent=1))


if __name__ == "__main__":
    main()
