"""ONNX Runtime training 1.19.2: peer_ort.py FOLDER NAME SECONDS THREADS"""

import pathlib
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from measure import measure
from onnxruntime.training import artifacts
from onnxruntime.training.api import CheckpointState, Module, Optimizer


def main():
    folder, name, seconds, threads = pathlib.Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
    model, data = onnx.load(folder / f"{name}.onnx"), np.load(folder / f"{name}.npz")
    with tempfile.TemporaryDirectory() as made:
        artifacts.generate_artifacts(
            model, requires_grad=[weight.name for weight in model.graph.initializer],
            loss=artifacts.LossType.CrossEntropyLoss, optimizer=artifacts.OptimType.AdamW,
            artifact_directory=made)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        state = CheckpointState.load_checkpoint(f"{made}/checkpoint")
        module = Module(f"{made}/training_model.onnx", state, f"{made}/eval_model.onnx",
                        session_options=options)
        optimizer = Optimizer(f"{made}/optimizer_model.onnx", module)
    x, label = data["x"], data["label"]
    module.train()

    def step():
        loss = module(x, label)
        optimizer.step()
        module.lazy_reset_grad()
        return loss

    measure("ort-training", step, seconds)


main()
