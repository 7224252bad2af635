"""A finding on disk: the model, its inputs, and the smallest part of it that still shows the finding."""

import re

import numpy as np
import onnx
from generate import generate
from minimise import minimised

MOST_OF_A_KIND = 8  # folders; more are counted alone


def save(finding, sides, out):
    kind = re.sub(r"[^A-Za-z]+", "-", finding.kind).strip("-")
    out.mkdir(parents=True, exist_ok=True)
    if len(list(out.glob(f"{kind}-*"))) >= MOST_OF_A_KIND:
        return
    folder = out / f"{kind}-{finding.seed}"
    folder.mkdir(exist_ok=True)
    subject = generate(finding.seed)
    small = minimised(subject, finding, sides)
    for name, each in (("model", subject), ("small", small)):
        onnx.save(each.model, folder / f"{name}.onnx")
        (folder / f"{name}.txt").write_text(onnx.printer.to_text(each.model))
        np.savez(folder / f"{name}.npz", **{key: array for key, array in each.inputs.items()})
    (folder / "finding.txt").write_text(f"{finding.kind}, seed {finding.seed}: {finding.detail}\n"
                                        f"make fuzz-differential FUZZ_SEED={finding.seed}\n")
