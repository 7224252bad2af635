#!/usr/bin/env python3
"""Compares training steps of Onward, PyTorch (eager) and ONNX Runtime training, all in one run: rounds are
interleaved, so that what disturbs the machine disturbs all alike, and ratios of medians are what counts.

    run.py --onward PROGRAM --step-bench PROGRAM --torch PYTHON --ort PYTHON [--rounds 5] [--seconds 4] [--json FILE]
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

HERE = pathlib.Path(__file__).resolve().parent
WORKLOADS = ["mlp", "cnn", "cnn_bn", "block", "scan"]
IN_ORT = ["mlp", "cnn"]  # its artifacts normalize by the running statistics, and know neither Gelu nor Scan


def batch_of(workload):
    return "32" if workload == "scan" else "64"


def commands(options, folder, workload):
    """How each peer is called for a workload."""
    seconds, threads = str(options.seconds), str(options.threads)
    inference, training = folder / f"{workload}.onnx", folder / f"{workload}-training.onnx"
    peers = {
        "onward": [options.step_bench, training, batch_of(workload), seconds, threads],
        "torch": [options.torch, "-B", HERE / "peer_torch.py", workload, batch_of(workload), seconds, threads],
        "ort-training": [options.ort, "-B", HERE / "peer_ort.py", inference, seconds, threads],
    }
    if workload not in IN_ORT:
        del peers["ort-training"]
    return peers


def prepare(options, folder):
    subprocess.run([options.torch, "-B", HERE / "workloads.py", folder], check=True)
    for workload in options.workloads:
        subprocess.run([options.onward, "prepare", folder / f"{workload}.onnx",
                        "-o", folder / f"{workload}-training.onnx",
                        "--loss", "softmax_cross_entropy", "--optimizer", "adam", "--lr", "0.001", "--bn", "batch"],
                       check=True, stdout=subprocess.DEVNULL)


def run(command):
    environment = os.environ | {"BENCH_STARTED": str(time.monotonic())}
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}\nbench: failed: {' '.join(map(str, command))}")
    return json.loads(done.stdout.splitlines()[-1])


def table(results):
    lines = [f"{'':6} {'peer':14} {'step ms':>9} {'(all rounds)':32} {'first step s':>13} {'peak MB':>9}"]
    for workload, peers in results.items():
        for peer, rounds in peers.items():
            steps = [r["step_ms"] for r in rounds]
            lines.append(f"{workload:6} {peer:14} {statistics.median(steps):9.2f} "
                         f"{' '.join(f'{s:.2f}' for s in steps):32} "
                         f"{statistics.median(r['first_step_s'] for r in rounds):13.2f} "
                         f"{max(r['peak_mb'] for r in rounds):9.0f}")
        lines.append(f"{workload:6} {ratios(peers)}")
    return "\n".join(lines)


def ratios(peers):
    def median(peer, what):
        return statistics.median(r[what] for r in peers[peer])

    others = [peer for peer in peers if peer != "onward"]
    best, soonest, leanest = (min(median(peer, what) for peer in others)
                              for what in ("step_ms", "first_step_s", "peak_mb"))
    return (f"best peer / Onward: step {best / median('onward', 'step_ms'):.2f}, "
            f"first step {soonest / median('onward', 'first_step_s'):.1f}, "
            f"Onward / leanest peer: memory {median('onward', 'peak_mb') / leanest:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("onward", "step-bench", "torch", "ort"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=WORKLOADS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="onward-bench-") as name:
        folder = pathlib.Path(name)
        prepare(options, folder)
        results = {workload: {} for workload in options.workloads}
        for number in range(options.rounds):
            for workload in options.workloads:
                for peer, command in commands(options, folder, workload).items():
                    results[workload].setdefault(peer, []).append(run(command))
            print(f"bench: round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
    print(table(results))
    if options.json:
        options.json.write_text(json.dumps(results, indent=2))


main()
