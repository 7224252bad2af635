"""What every peer does alike: the first step, timed from the start of the process, then steps for some
seconds; one line of JSON."""

import json
import os
import resource
import statistics
import time


def measure(peer, step, seconds):
    step()
    # The harness says when it started the process, by the clock that all processes share.
    first = time.monotonic() - float(os.environ.get("BENCH_STARTED", time.monotonic()))
    for _ in range(2):
        step()
    times = []
    begun = time.perf_counter()
    while time.perf_counter() - begun < seconds or len(times) < 3:
        before = time.perf_counter()
        step()
        times.append(time.perf_counter() - before)
    print(json.dumps({
        "peer": peer,
        "step_ms": 1e3 * statistics.median(times),
        "min_ms": 1e3 * min(times),
        "first_step_s": first,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "steps": len(times),
    }))
