"""Imports packages in every order, each order in a process of its own, and uses them all."""

import itertools
import subprocess
import sys

# Each large enough to be shared by threads: several pools of them live side by side.
USES = {
    "onward": """
import numpy
model = onward.loads(onward.parse('<ir_version: 8, opset_import: ["" : 17]> m (float[N,256] x) => (float[N,256] y) '
                                  '<float[256,256] w = full(1)> { y = MatMul(x, w) }').to_bytes())
trainer = onward.Trainer(onward.prepare(model, loss="mse", optimizer="sgd", learning_rate=0.5))
x = numpy.ones((512, 256), "float32")
assert trainer.infer({"x": x})["y"][3, 5] == 256
assert trainer.step({"x": x, "label": 255 * x})["loss"] == 1
assert trainer.state()["w"][0, 0] < 1
try:
    onward.loads(b"no model")
    raise AssertionError
except onward.Error:
    pass
""",
    "onnx": "onnx.checker.check_model(onnx.parser.parse_model('<ir_version: 8, opset_import: [\"\" : 17]> "
            "m (float[2] x) => (float[2] y) { y = Neg(x) }'))",
    "torch": """
layer = torch.nn.Conv2d(8, 8, 3)
layer(torch.ones(32, 8, 32, 32)).sum().backward()
assert layer.bias.grad[0] == 32 * 30 * 30
""",
    "tensorflow": """
ones = tensorflow.ones((32, 32, 32, 8))
assert tensorflow.nn.conv2d(ones, tensorflow.ones((3, 3, 8, 8)), 1, "VALID")[0, 0, 0, 0] == 72
""",
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
