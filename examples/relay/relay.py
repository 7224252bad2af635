"""One training on MNIST that goes from hand to hand: PyTorch, Onward, Keras, Onward, PyTorch.

    relay.py FOLDER [--float32]

Each runner trains for 20 steps, hands the job over (network, loss, optimizer and its state), and then, to have
something to compare with, goes on for another 20 steps as if nothing had been handed over. The next runner's
20 losses must be those. PyTorch also runs the whole distance alone.

Every runner is a process of its own, in the environment of its framework (tools/setup.py). This one needs the
program `onward` as $ONWARD, and the Python package on $PYTHONPATH.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
SETUP = HERE.parents[1] / "tools/setup.py"
LEG, BATCH = 20, 32
RUNNERS = {"PyTorch": ("torch", "torch_leg.py"), "Onward": ("torch", "onward_leg.py"), "Keras": ("tensorflow", "keras_leg.py")}
TOLERANCE = {"float64": 1e-8, "float32": 1e-3}  # in float32 rounding differs, and training lets it grow


def output_of(*command):
    done = subprocess.run([str(each) for each in command], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"relay: failed: {' '.join(map(str, command))}")
    return done.stdout


def write_batches(file, count, dtype):
    """Batches of MNIST's training images, in the order of the files."""
    folder = pathlib.Path(output_of(SETUP, "mnist").strip())
    size = count * BATCH
    images = np.frombuffer((folder / "train-images-idx3-ubyte").read_bytes(), np.uint8, size * 784, 16)
    labels = np.frombuffer((folder / "train-labels-idx1-ubyte").read_bytes(), np.uint8, size, 8)
    np.savez(file, image=(images.reshape(count, BATCH, 1, 28, 28) / 255).astype(dtype),
             label=labels.reshape(count, BATCH).astype(np.int64))


class Relay:
    def __init__(self, folder, dtype):
        self.folder, self.dtype = folder, dtype
        self.legs = []
        write_batches(folder / "batches.npz", 6 * LEG, dtype)

    def run(self, name, source, target):
        """One leg, and as many steps after it; the job goes from `source` to `target`."""
        first = len(self.legs) * LEG
        losses = self.losses(name, first, LEG, source, target)
        print(f"steps {first + 1:2} to {first + LEG:3}  {name:7}  loss {losses[0]:.6f} to {losses[LEG - 1]:.6f}", end="")
        if self.legs:
            self.compare("those of not having moved", losses[:LEG], self.legs[-1][LEG:], TOLERANCE[self.dtype])
        else:
            print(flush=True)
        self.legs.append(losses)

    def finish(self):
        """PyTorch alone, over the whole distance: in float32 rounding had time to grow, and is only shown."""
        steps = len(self.legs) * LEG
        alone = self.losses("PyTorch", 0, steps, "new", "none")
        print(f"steps  1 to {steps}  PyTorch alone", end="")
        self.compare("the losses of the relay", [loss for leg in self.legs for loss in leg[:LEG]], alone,
                     TOLERANCE[self.dtype] if self.dtype == "float64" else np.inf)

    def losses(self, name, *arguments):
        framework, runner = RUNNERS[name]
        printed = output_of(SETUP, framework, "python", HERE / runner, self.folder / "batches.npz", self.dtype, *arguments)
        return json.loads(printed.splitlines()[-1])

    @staticmethod
    def compare(what, losses, expected, tolerance):
        errors = np.abs(np.array(losses) / np.array(expected) - 1)
        print(f",  {what} but for {errors.max():.0e}", flush=True)
        if not errors.max() <= tolerance:
            step = int(np.argmax(~(errors <= tolerance)))
            sys.exit(f"relay: the loss of its step {step + 1} is {losses[step]!r} instead of {expected[step]!r}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--float32", action="store_const", dest="dtype", const="float32", default="float64")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve() / arguments.dtype
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    onward = os.environ["ONWARD"]
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # TensorFlow greets its user at length

    relay = Relay(folder, arguments.dtype)
    relay.run("PyTorch", "new", folder / "1-torch.onnx")  # by onward.torch.export
    relay.run("Onward", folder / "1-torch.onnx", folder / "2-onward.onnx")
    output_of(onward, "export", folder / "2-onward.onnx", "--to", "keras", "-o", folder / "3-keras")
    relay.run("Keras", folder / "3-keras", "saved")
    output_of(onward, "import-weights", folder / "3-keras", folder / "2-onward.onnx", "-o", folder / "3-keras.onnx")
    relay.run("Onward", folder / "3-keras.onnx", folder / "4-onward.onnx")
    output_of(onward, "export", folder / "4-onward.onnx", "--to", "torch", "-o", folder / "5-torch")
    relay.run("PyTorch", folder / "5-torch", "saved")
    relay.finish()


main()
