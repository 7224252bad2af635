"""One peer of bench/inference.py: peer_infer.py onward|onnxruntime MODEL INPUTS.npz OUTPUTS.npz SECONDS THREADS prints
how long a run takes, and leaves the outputs of one."""

import json
import statistics
import sys
import time

import numpy as np


def onnxruntime_run(model, threads):
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda inputs: dict(zip(names, session.run(names, inputs)))


def onward_run(model, threads):
    import onward

    trainer = onward.Trainer(onward.load(model), threads=threads)
    return trainer.infer


def main():
    peer, model, inputs, outputs, seconds, threads = sys.argv[1:]
    inputs = dict(np.load(inputs))
    run = {"onward": onward_run, "onnxruntime": onnxruntime_run}[peer](model, int(threads))
    np.savez(outputs, **{str(i): value for i, (_, value) in enumerate(sorted(run(inputs).items()))})
    for _ in range(2):
        run(inputs)
    times = []
    begun = time.perf_counter()
    while time.perf_counter() - begun < float(seconds) or len(times) < 5:
        before = time.perf_counter()
        run(inputs)
        times.append(time.perf_counter() - before)
    print(json.dumps({"median_ms": 1e3 * statistics.median(times), "min_ms": 1e3 * min(times), "runs": len(times)}))


main()
