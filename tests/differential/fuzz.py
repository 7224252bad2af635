"""Compares Onward with others, and with itself, on random graphs: the differential fuzzer.

    fuzz.py --minutes 10                 as many graphs as there is time for
    fuzz.py --graphs 5000 --first 100    a number of graphs, from seed 100 on
    fuzz.py --seed 17                    the graph of one seed, with what is found

$ONWARD is the program and $ONWARD_TOOLS the folder of differential_tool. Ends with 1 where anything is found:
a death, a difference that nothing explains, a refusal that is not listed, or a covered operator never hit.
Each finding's model and inputs are in OUT/<kind>-<seed>/."""

import argparse
import multiprocessing
import os
import pathlib
import sys
import time

from covered import covered_operators
from findings import save
from generate import generate
from inference import Inference
from report import report
from sides import Sides
from tally import Tally
from training import Training

ENOUGH_TO_HIT_ALL = 1000  # graphs


def check(seed, sides, tally):
    """Compares all there is to compare of one seed's graph."""
    subject = generate(seed)
    tally.graph(subject)
    (Training if subject.smooth else Inference)(sides, tally).check(subject)


def work(options, number, queue):
    """One of the processes that share the seeds; gives None where it fails."""
    tally = None
    try:
        tally = tally_of(options, number)
    finally:
        queue.put(tally)


def tally_of(options, number):
    sides, tally = Sides(), Tally()
    end = time.monotonic() + 60 * options.minutes if options.minutes else float("inf")
    seed = options.first + number
    while time.monotonic() < end and (not options.graphs or seed < options.first + options.graphs):
        before = len(tally.findings)
        check(seed, sides, tally)
        for finding in tally.findings[before:]:
            save(finding, sides, options.out)
        seed += options.jobs
    sides.close()
    return tally


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--graphs", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="only this one")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/fuzz-differential"))
    options = parser.parse_args()
    if options.seed is not None:
        options.first, options.graphs, options.jobs = options.seed, 1, 1
    if not options.minutes and not options.graphs:
        parser.error("how long? give --minutes, --graphs or --seed")
    return options


def main():
    options = arguments()
    queue = multiprocessing.Queue()
    processes = [multiprocessing.Process(target=work, args=(options, number, queue), daemon=True)
                 for number in range(options.jobs)]
    for process in processes:
        process.start()
    total = Tally()
    for _ in processes:
        if (tally := queue.get()) is None:
            sys.exit("the fuzzer itself failed")
        total += tally
    for process in processes:
        process.join()
    hit = {op for op, _, _ in total.hits}
    never_hit = [op for op in covered_operators() if op not in hit]
    print(report(total, never_hit))
    for finding in sorted(total.findings, key=lambda each: (each.kind, each.seed))[:50]:
        print(f"\n{finding.kind}, seed {finding.seed}: {finding.detail[:1000]}")
    if total.findings:
        print(f"\nModels and inputs are in {options.out}; to see one again: make fuzz-differential FUZZ_SEED=...")
    sys.exit(1 if total.findings or (never_hit and total.graphs >= ENOUGH_TO_HIT_ALL) else 0)


if __name__ == "__main__":
    main()
