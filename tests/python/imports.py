"""Imports packages in every order, each order in a process of its own, and uses them all."""

import itertools
import subprocess
import sys

USES = {
    "onward": """
import numpy
model = onward.loads(onward.parse('<ir_version: 8, opset_import: ["" : 17]> m (float[8,8] x) => (float[8,8] y) '
                                  '<float[8,8] w = full(1)> { y = MatMul(x, w) }').to_bytes())
assert onward.Trainer(model).infer({"x": numpy.ones((8, 8), "float32")})["y"][0, 0] == 8
""",
    "onnx": "onnx.checker.check_model(onnx.parser.parse_model('<ir_version: 8, opset_import: [\"\" : 17]> "
            "m (float[2] x) => (float[2] y) { y = Neg(x) }'))",
    "torch": "assert (torch.ones(8, 8) @ torch.ones(8, 8))[0, 0] == 8",
    "tensorflow": "assert tensorflow.linalg.matmul(tensorflow.ones((8, 8)), tensorflow.ones((8, 8)))[0, 0] == 8",
}


def import_in_every_order(*packages):
    failed = []
    for order in itertools.permutations(packages):
        program = "\n".join([f"import {name}" for name in order] + [USES[name] for name in order] +
                            [USES[name] for name in reversed(order)])
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        if done.returncode != 0:
            failed.append(f"{order}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    assert not failed, "\n".join(failed)
