#!/usr/bin/env python3
"""Compares training steps of Onward with those of PyTorch, Keras and ONNX Runtime training, all in one run: rounds are
interleaved, so that what disturbs the machine disturbs all alike, and ratios of medians are what counts.

    run.py --release FOLDER --torch PYTHON --keras PYTHON --jax PYTHON --ort PYTHON [--work cnn,mlp] [--peers eager,jit]
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import plot

HERE = pathlib.Path(__file__).resolve().parent
WORKLOADS = ["linear", "mlp", "cnn", "cnn_bn", "block", "scan", "lstm", "transformer", "gpt", "resnet18_32", "resnet18",
             "resnet50", "mobilenetv2", "frozen_resnet18"]
OF_IMAGES = {"cnn", "cnn_bn", "resnet18_32", "resnet18", "resnet50", "mobilenetv2", "frozen_resnet18"}
# Its artifacts normalize by the running statistics, and know neither Gelu nor Scan; it reads no file of PyTorch's exporter.
IN_ORT = ["mlp", "cnn"]


def peers_of(options, folder, name):
    """How each peer is called for a workload, with what its environment needs."""
    timing = [str(options.seconds), str(options.threads)]
    torch = [options.torch, "-B", HERE / "peer_torch.py", name]
    peers = {
        "onward": ([options.release / "step_bench", folder / f"{name}-training.onnx", folder / f"{name}.npz", *timing], {}),
        "torch eager": ([*torch, "eager", *timing], {}),
        "torch compile": ([*torch, "compile", *timing], {}),
    }
    if name in OF_IMAGES:
        peers["torch channels_last"] = ([*torch, "channels_last", *timing], {})
    for backend, python in (("tensorflow", options.keras), ("jax", options.jax)):
        for mode in ["jit", "graph"] if backend == "tensorflow" else ["jit"]:
            peers[f"keras-{backend} {mode}"] = ([python, "-B", HERE / "peer_keras.py", folder, name, mode, *timing],
                                                {"KERAS_BACKEND": backend})
    if name in IN_ORT:
        peers["ort-training"] = ([options.ort, "-B", HERE / "peer_ort.py", folder, name, *timing], {})
    return {peer: call for peer, call in peers.items()
            if peer == "onward" or not options.peers or any(each in peer for each in options.peers)}


def prepare(options, folder):
    subprocess.run([options.torch, "-B", HERE / "export_networks.py", folder, *options.work], check=True,
                   stdout=subprocess.DEVNULL)
    recipes = json.loads((folder / "recipes.json").read_text())
    for name, recipe in recipes.items():
        freeze = [] if recipe["trained"] == "*" else ["--freeze", "*", "--train", recipe["trained"]]
        subprocess.run([options.release / "onward", "prepare", folder / f"{name}.onnx",
                        "-o", folder / f"{name}-training.onnx", "--loss", recipe["loss"],
                        "--optimizer", recipe["optimizer"], "--lr", str(recipe["lr"]),
                        "--bn", "frozen" if freeze else "batch", *freeze], check=True, stdout=subprocess.DEVNULL)
    return recipes


def run(call):
    command, more = call
    environment = os.environ | more | {"BENCH_STARTED": str(time.monotonic())}
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=environment)
    if done.returncode:
        return {"failed": (done.stderr or done.stdout).strip().splitlines()[-1:]}
    return json.loads(done.stdout.splitlines()[-1])


def median(rounds, what):
    return statistics.median(each[what] for each in rounds)


def summary(name, peers, recipe, gflops):
    """The row of a workload: ratios to the best peer of each, and the part of what the processor could do."""
    others = [rounds for peer, rounds in peers.items() if peer != "onward"]
    own = peers["onward"]
    limit = 1e3 * recipe["flops"] / (1e9 * gflops)
    row = {"work": name, "step_ms": median(own, "step_ms"), "limit_ms": limit, "part_of_limit": limit / median(own, "step_ms")}
    if others:
        best = min(peers.items(), key=lambda each: (each[0] == "onward", median(each[1], "step_ms")))
        row |= {"best_peer": best[0], "best_peer_ms": median(best[1], "step_ms"),
                "ratio": median(best[1], "step_ms") / median(own, "step_ms"),
                "ratio_of_minima": min(min(each["min_ms"] for each in rounds) for rounds in others)
                / min(each["min_ms"] for each in own),
                "first_step": min(median(rounds, "first_step_s") for rounds in others) / median(own, "first_step_s"),
                "memory": max(each["peak_mb"] for each in own)
                / min(max(each["peak_mb"] for each in rounds) for rounds in others)}
    return row


def table(results, rows):
    lines = [f"{'':16} {'peer':22} {'step ms':>9} {'least':>9} {'first step s':>13} {'peak MB':>9}"]
    for row in rows:
        for peer, rounds in results[row["work"]].items():
            lines.append(f"{row['work']:16} {peer:22} {median(rounds, 'step_ms'):9.2f} "
                         f"{min(each['min_ms'] for each in rounds):9.2f} {median(rounds, 'first_step_s'):13.2f} "
                         f"{max(each['peak_mb'] for each in rounds):9.0f}")
    lines.append(f"\n{'':16} {'step ms':>9} {'best peer / Onward':>19} {'of minima':>10} {'first step':>11} "
                 f"{'memory':>7} {'of the limit':>13}  best peer")
    for row in rows:
        if "ratio" in row:
            lines.append(f"{row['work']:16} {row['step_ms']:9.2f} {row['ratio']:19.2f} {row['ratio_of_minima']:10.2f} "
                         f"{row['first_step']:11.1f} {row['memory']:7.2f} {row['part_of_limit']:13.2f}  {row['best_peer']}")
    ratios = [row["ratio"] for row in rows if "ratio" in row]
    if ratios:
        lines.append(f"geometric mean of the ratios: {statistics.geometric_mean(ratios):.2f}")
    return "\n".join(lines)


def measure(options, folder):
    """All rounds of all workloads and peers; one that can't do a workload is left out, and said."""
    results = {name: {} for name in options.work}
    for number in range(options.rounds):
        for name in options.work:
            for peer, call in peers_of(options, folder, name).items():
                if number and peer not in results[name]:
                    continue
                got = run(call)
                if "failed" in got:
                    results[name].pop(peer, None)
                    print(f"bench: {name}: {peer} failed: {got['failed']}", file=sys.stderr, flush=True)
                    if peer == "onward":
                        sys.exit(1)
                    continue
                results[name].setdefault(peer, []).append(got)
        print(f"bench: round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--release", type=pathlib.Path, required=True, help="the folder of the release build")
    for name in ("torch", "keras", "jax", "ort"):
        parser.add_argument(f"--{name}", required=True, help="the Python of its environment")
    parser.add_argument("--work", type=lambda text: text.split(","), default=WORKLOADS, help=", ".join(WORKLOADS))
    parser.add_argument("--peers", type=lambda text: text.split(","), help="only those whose names have one of these")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--plot", type=pathlib.Path)
    options = parser.parse_args()
    if unknown := [name for name in options.work if name not in WORKLOADS]:
        parser.error(f"no workload {', '.join(unknown)}; there are {', '.join(WORKLOADS)}")
    with tempfile.TemporaryDirectory(prefix="onward-bench-") as name:
        folder = pathlib.Path(name)
        recipes = prepare(options, folder)
        peak = run(([options.release / "peak_bench", options.threads], {}))
        results = measure(options, folder)
    rows = [summary(name, peers, recipes[name], peak["gflops"]) for name, peers in results.items()]
    print(f"{peak['gflops']} GFLOPS at most ({peak['vectors']}, {options.threads} threads)\n{table(results, rows)}")
    if options.json:
        options.json.write_text(json.dumps({"peak": peak, "recipes": recipes, "rounds": results, "rows": rows}, indent=2))
    if options.plot:
        options.plot.write_text(plot.bars(rows))


main()
