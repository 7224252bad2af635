"""ONNX Runtime training 1.19.2: peer_ort.py MODEL SECONDS THREADS"""

import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from measure import measure
from onnxruntime.training import artifacts
from onnxruntime.training.api import CheckpointState, Module, Optimizer

BATCH = 64


def main():
    path, seconds, threads = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    model = onnx.load(path)
    with tempfile.TemporaryDirectory() as folder:
        artifacts.generate_artifacts(
            model, requires_grad=[weight.name for weight in model.graph.initializer],
            loss=artifacts.LossType.CrossEntropyLoss, optimizer=artifacts.OptimType.AdamW,
            artifact_directory=folder)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        state = CheckpointState.load_checkpoint(f"{folder}/checkpoint")
        module = Module(f"{folder}/training_model.onnx", state, f"{folder}/eval_model.onnx",
                        session_options=options)
        optimizer = Optimizer(f"{folder}/optimizer_model.onnx", module)
    random = np.random.default_rng(0)
    dims = [d.dim_value or BATCH for d in model.graph.input[0].type.tensor_type.shape.dim]
    x = random.normal(size=dims).astype(np.float32)
    label = random.integers(0, 10, BATCH)
    module.train()

    def step():
        loss = module(x, label)
        optimizer.step()
        module.lazy_reset_grad()
        return loss

    measure("ort-training", step, seconds)


main()
