"""One file of tools/try_models.py: prints [column, result] as JSON, a line for each part."""

import json
import multiprocessing
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from double_copy import double_copy

import onward

# Sizes to try for dimensions that a file leaves open: the first of an input, its others, and those of later inputs,
# which are states more often than images.
OPEN_SIZES = [(2, 64, 64), (1, 64, 64), (2, 512, 2), (1, 512, 1), (1, 32, 32), (2, 96, 96), (1, 128, 128), (1, 480, 480),
              (1, 16000, 1), (1, 1, 1), (1, 256, 256), (1, 8, 8)]


def main():
    file, build = map(pathlib.Path, sys.argv[1:3])
    torch = sys.argv[3] if len(sys.argv) > 3 else None
    onnxruntime.set_default_logger_severity(4)
    parts = Parts(file, build, torch)
    for column in ("check", "forward", "prepare", "gradient", "step", "lowered", "torch"):
        if column == "torch" and not torch:
            continue
        try:
            result = getattr(parts, column)() if parts.can_try(column) else "left out"
        except Exception as error:  # whatever it is, it is what the table tells
            result = f"{type(error).__name__}: {error}"
        print(json.dumps([column, result]), flush=True)


class Parts:
    def __init__(self, file, build, torch):
        self.file, self.build, self.torch_python = file, build, torch
        self.inputs = self.expected = self.trained = self.label = None
        self.random = np.random.default_rng(0)

    def can_try(self, column):
        """Whether what it needs has come about."""
        if column in ("gradient", "step", "lowered"):
            return self.trained is not None
        return column not in ("prepare", "torch") or self.expected is not None

    def check(self):
        errors = [str(problem) for problem in onward.check_file(self.file) if problem.severity == "error"]
        return f"{len(errors)} errors: {errors[0]}" if errors else "ok"

    def forward(self):
        self.inputs, self.expected = first_that_runs(self.file)
        trainer = onward.Trainer(onward.load(self.file))
        given = trainer.infer(self.inputs)
        for name, wanted in self.expected.items():
            if difference := largest_difference(given[name], wanted):
                return f"output {name}: {difference}"
        return "ok"

    def prepare(self):
        self.model = onward.load(self.file)
        reasons = []
        for name, value in self.expected.items():
            if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or value.size == 0:
                continue
            try:
                self.trained = onward.prepare(self.model, loss="mse", output=name, optimizer="sgd", lr=1e-3,
                                              dropout=False)
                self.output = name
                # As far away as the value is large: next to a loss that is larger by far, a gradient is lost in rounding.
                scale = np.abs(value, dtype=np.float64).mean() or 1
                self.label = (value + self.random.normal(0, scale, value.shape)).astype(value.dtype)
                return "ok"
            except onward.Error as error:
                reasons.append(str(error))
        return reasons[0] if reasons else "it has no output of floats"

    def batch(self):
        return self.inputs | {self.trained.training[0].names["label"]: self.label}

    def gradient(self):
        """Where the model is flat, as saturated sigmoids are, there is nothing to measure: smaller inputs then."""
        reason = ""
        for scale in (1, 0.1, 0.01):
            found = self.gradient_at(scale)
            if found == "ok":
                return "ok"
            reason = reason or found
        return reason

    def gradient_at(self, scale):
        """<gradient, v> against (loss(p + h v) - loss(p - h v)) / 2 h, in double."""
        batch = {name: array.astype(np.float64) if array.dtype.kind == "f" else array
                 for name, array in self.batch().items()}
        copy = onward.loads(double_copy(onnx.load(self.file)).SerializeToString())
        names = list(self.trained.parameters)
        model = onward.prepare(copy, loss="mse", output=self.output, optimizer="sgd", lr=1e-3,
                               dropout=False, train=names, freeze=["*"])
        label = batch[model.training[0].names["label"]]
        inputs = {name: batch[name] * scale if batch[name].dtype.kind == "f" else batch[name] for name in self.inputs}
        trainer = onward.Trainer(model)
        gradients = trainer.gradients(batch | inputs)
        parameters = {name: np.asarray(value) for name, value in model.parameters.items()}
        direction = {name: self.random.normal(0, 1, value.shape) * (np.abs(value).mean() + 1e-3)
                     for name, value in parameters.items()}
        along = sum(float(np.sum(gradients[name] * direction[name])) for name in parameters)

        def output(h):
            trainer.set_state({name: value + h * direction[name] for name, value in parameters.items()})
            return trainer.infer(inputs)[self.output]

        found = []
        for h in (1e-6, 1e-7, 1e-5, 1e-8, 1e-9):  # a kink between the two points spoils one of them, not all
            more, less = output(h), output(-h)
            # The difference of the two losses, without that of two large numbers.
            difference = float(np.mean((more - less) * (more + less - 2 * label))) / (2 * h)
            error = abs(difference - along) / max(abs(difference), abs(along), 1e-300)
            if error < 1e-5:
                return "ok"
            found.append(f"{error:.1e}")
        return f"{along:.6g} along a direction, differences by step size are off by {', '.join(found)}"

    def step(self):
        loss = onward.Trainer(self.trained).step(self.batch())[self.trained.training[0].names["loss"]]
        return "ok" if np.isfinite(loss) else f"the loss is {loss}"

    def lowered(self):
        batch = self.batch()
        with tempfile.TemporaryDirectory() as folder:
            training, plain = pathlib.Path(folder) / "training.onnx", pathlib.Path(folder) / "step.onnx"
            self.trained.save(training)
            done = subprocess.run([self.build / "onward", "lower", training, "-o", plain], capture_output=True, text=True)
            if done.returncode:
                return done.stderr.strip()
            session = onnxruntime.InferenceSession(plain, providers=["CPUExecutionProvider"])
            names = [output.name for output in session.get_outputs()]
            results = dict(zip(names, session.run(names, batch)))
        trainer = onward.Trainer(self.trained)
        loss = self.trained.training[0].names["loss"]
        if difference := largest_difference(trainer.step(batch)[loss], results[loss]):
            return f"loss: {difference}"
        for name, value in trainer.state().items():
            if f"{name}.next" in results and (difference := largest_difference(value, results[f"{name}.next"])):
                return f"{name}: {difference}"
        return "ok"

    def torch(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            command = [self.build / "onward", "export", self.file, "--to", "torch", "--inference", "-o", folder / "m"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                return done.stderr.strip()
            np.savez(folder / "inputs.npz", **{f"i{i}": array for i, array in enumerate(self.inputs.values())})
            done = subprocess.run([self.torch_python, "-c", RUN_TORCH, folder], capture_output=True, text=True)
            if done.returncode:
                return f"the emitted source fails: {done.stderr.strip()[-300:]}"
            given = np.load(folder / "outputs.npz")
            for i, (output, wanted) in enumerate(self.expected.items()):
                if difference := largest_difference(given[f"o{i}"], wanted):
                    return f"output {output}: {difference}"
        return "ok"


RUN_TORCH = """
import sys, pathlib, numpy as np, torch
folder = pathlib.Path(sys.argv[1]); sys.path.insert(0, str(folder / "m"))
import model
inputs = np.load(folder / "inputs.npz")
with torch.no_grad():
    given = model.load()(*[torch.from_numpy(inputs[name]) for name in inputs])
given = given if isinstance(given, tuple) else (given,)
np.savez(folder / "outputs.npz", **{f"o{i}": each.numpy() for i, each in enumerate(given)})
"""


def first_that_runs(file):
    """Inputs, and what they give, in the first sizes that ONNX Runtime takes. It runs in processes of its own, since
    there are sizes that it dies of."""
    context, reason = multiprocessing.get_context("fork"), None
    for sizes in OPEN_SIZES:
        ours, theirs = context.Pipe()
        process = context.Process(target=run_with, args=(theirs, file, sizes))
        process.start()
        theirs.close()
        try:
            found = ours.recv()
        except EOFError:
            found = "it dies"
        process.join()
        if not isinstance(found, str):
            return found
        reason = reason or found
    raise ValueError(f"ONNX Runtime takes none of the sizes tried: {reason}")


def run_with(pipe, file, sizes):
    """Sends inputs and outputs, or what goes wrong."""
    try:
        session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
        random = np.random.default_rng(0)
        inputs = {given.name: random_array(given, sizes[:2] if i == 0 else (sizes[0], sizes[2]), random)
                  for i, given in enumerate(session.get_inputs())}
        names = [output.name for output in session.get_outputs()]
        pipe.send((inputs, dict(zip(names, session.run(names, inputs)))))
    except Exception as error:  # its exceptions have no common type
        pipe.send(f"{type(error).__name__}: {error}")


def random_array(given, sizes, random):
    dims = [dim if isinstance(dim, int) and dim > 0 else sizes[min(i, 1)] for i, dim in enumerate(given.shape)]
    if given.type == "tensor(string)":
        return np.full(dims, "a", object)
    if given.type == "tensor(bool)":
        return random.integers(0, 2, dims).astype(bool)
    dtype = {"float": np.float32, "double": np.float64, "float16": np.float16}.get(given.type[7:-1])
    if dtype is None:  # lengths, tokens, rates: small whole numbers; a scalar is most often a sampling rate
        return np.full(dims, 16000, given.type[7:-1]) if not dims else random.integers(1, 9, dims).astype(given.type[7:-1])
    return random.uniform(0, 1, dims).astype(dtype)


def largest_difference(given, wanted):
    """What is wrong, in words; empty where the two are equal but for rounding."""
    if isinstance(wanted, (list, dict)):
        return "" if len(given) == len(wanted) else f"{len(given)} entries, not {len(wanted)}"
    given, wanted = np.asarray(given), np.asarray(wanted)
    if given.shape != wanted.shape:
        return f"shape {given.shape}, not {wanted.shape}"
    if wanted.dtype.kind != "f":
        same = np.mean(given == wanted) if wanted.size else 1
        return "" if same == 1 else f"{1 - same:.2%} of the elements differ"
    if not np.array_equal(np.isfinite(given), np.isfinite(wanted)):
        return "one has an element that is not finite, the other has not"
    finite = np.isfinite(wanted)
    # Next to results that are all smaller than this, the 1e-7 by which ONNX Runtime's Sigmoid is off near zero is a lot.
    scale = np.abs(wanted[finite]).max(initial=1e-2)
    error = np.abs(given[finite].astype(np.float64) - wanted[finite]).max(initial=0) / scale
    limit = 1e-2 if wanted.dtype == np.float16 else 1e-4
    return "" if error <= limit else f"relative error {error:.2e}"


if __name__ == "__main__":
    main()
