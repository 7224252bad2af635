"""A Trainer and the memory that there is: plans are bounded, and a step that finds none changes nothing."""

import pathlib
import subprocess
import sys

import numpy as np
import onward

TESTS = pathlib.Path(__file__).resolve().parent.parent


def test_plans_of_many_shapes_do_not_fill_the_memory():
    trainer = onward.Trainer(onward.load(TESTS.parent / "examples/training/linear.onnxtxt"))

    def memory():
        return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096

    def step(rows):
        x = np.ones((rows, 1), np.float32)
        trainer.step({"x": x, "label": x})

    for rows in range(1, 1000):
        step(rows)
    before = memory()
    for rows in range(1000, 4000):
        step(rows)
    assert memory() - before < 32 << 20


def test_memory_that_is_not_there_leaves_no_trace():
    code = f"""
import resource, sys
sys.path.insert(0, {str(TESTS / "python")!r})
import numpy as np
from trainer_state_test import batches_of, everything, expect_same_future, normalized, onward
trainer, reference = (onward.Trainer(normalized(), threads=1) for _ in range(2))
first, *rest = batches_of(normalized)
for each in (trainer, reference):
    each.step(first)
x = np.zeros((1 << 22, 4), np.float32)
label = np.zeros((1 << 22, 3), np.float32)
used = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20),) * 2)
try:
    trainer.step({{"x": x, "label": label}})
    raise AssertionError("there was enough memory")
except MemoryError:
    pass
expect_same_future(trainer, reference, rest)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
