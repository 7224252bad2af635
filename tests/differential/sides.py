"""Those whose results are compared: Onward's fast path and its reference interpreter, ONNX Runtime and
ONNX's reference evaluator, each in a process of its own."""

import os
import pathlib
import sys

from worker import Worker

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 10


class Sides:
    def __init__(self, tools=None):
        tools = pathlib.Path(tools or os.environ["ONWARD_TOOLS"])
        self.onward = Worker([str(tools / "differential_tool")], SECONDS)
        self.others = Worker([sys.executable, "-B", str(HERE / "runtime_worker.py")], 6 * SECONDS)

    def close(self):
        self.onward.stop()
        self.others.stop()

    def fast(self, model, inputs, **options):
        return self.onward.ask("infer", model, inputs, **options)

    def reference(self, model, inputs):
        return self.onward.ask("reference", model, inputs)

    def step(self, model, inputs, **options):
        return self.onward.ask("step", model, inputs, **options)

    def reference_step(self, model, inputs):
        return self.onward.ask("reference-step", model, inputs)

    def lower(self, model, opset):
        return self.onward.ask("lower", model, {}, opset=opset)

    def runtime(self, model, inputs):
        return self.others.ask("run", model, inputs)

    def evaluator(self, model, inputs):
        return self.others.ask("evaluate", model, inputs)
