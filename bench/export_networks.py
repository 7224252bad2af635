"""Writes what the benchmarks train, with PyTorch: export_networks.py FOLDER NAME... gives FOLDER/NAME.npz, one batch, for
each, FOLDER/NAME.onnx, and FOLDER/recipes.json, how each is trained."""

import json
import logging
import pathlib
import sys
import warnings

import networks
import numpy as np
import torch
import workloads


def export(job, file):
    batch = torch.export.Dim("N", min=1)
    # What training does otherwise, `onward prepare` decides.
    program = torch.onnx.export(job.network.eval(), (job.x, ), dynamo=True, optimize=False, verbose=False, input_names=["x"],
                                output_names=["y"], dynamic_shapes=({0: batch}, ))
    program.save(str(file))


def main():
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    folder, names = pathlib.Path(sys.argv[1]), sys.argv[2:]
    recipes = {}
    for name in names:
        job = networks.job(name)
        np.savez(folder / f"{name}.npz", x=job.x.numpy(), label=job.label.numpy())
        if name in workloads.WORKLOADS:
            workloads.WORKLOADS[name]().save(folder / f"{name}.onnx")
        else:
            export(job, folder / f"{name}.onnx")
        recipes[name] = {"loss": job.loss, "optimizer": job.optimizer, "lr": job.lr, "trained": job.trained,
                         "batch": len(job.x), "flops": networks.flops(name)}
    (folder / "recipes.json").write_text(json.dumps(recipes, indent=2))


main()
