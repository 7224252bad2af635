"""A file of external data that is cut or rewritten while a model of it is used: whoever reads on has its own copy
already, or says that the file was cut. Each case is a process of its own: touching what is gone would end it."""

import subprocess
import sys

import pytest

BEGIN = """
import os, sys
import numpy as np
import onward

def saved(name):
    model = onward.parse('''<ir_version: 8, opset_import: ["" : 17]>
        m (float[N,128] x) => (float[N,128] y)
        <float[128,128] w = normal(1, 0.1), float[128,128] k = normal(2, 0.1)> { p = MatMul(x, w)  y = MatMul(p, k) }''')
    model = onward.prepare(model, loss="mse", optimizer="adam", learning_rate=0.1, freeze=["k"])
    model.save(name, external_data=True)
    return onward.load(name)

def file_of(name):
    file = name + ".data"
    assert os.path.getsize(file) > 2 * 128 * 128 * 4
    return file

def cut(name):
    os.truncate(file_of(name), 0)

def rewrite(name):
    with open(file_of(name), "r+b") as file:
        file.write(np.full(os.path.getsize(file_of(name)) // 4, 7, np.float32).tobytes())

BATCH = {name: np.ones((4, 128), np.float32) for name in ("x", saved("names.onnx").training[0].inputs[0].name)}
"""

USES = {
    "Trainer": "onward.Trainer(model)",
    "save, data outside": "os.mkdir('other'); model.save('other/copy.onnx', external_data=True)",
    "to_bytes": "model.to_bytes()",
    "initializers": "model.initializers",
}


def run(code, folder):
    done = subprocess.run([sys.executable, "-B", "-c", BEGIN + code], capture_output=True, text=True, timeout=120,
                          cwd=folder)
    assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr}"


@pytest.mark.parametrize("use", USES)
def test_a_file_that_was_cut_is_named(use, tmp_path):
    run(f"""
model = saved("model.onnx")
cut("model.onnx")
try:
    {USES[use]}
    sys.exit("was not refused")
except onward.Error as error:
    assert "'model.onnx.data' was truncated while in use" in str(error), error
""", tmp_path)


@pytest.mark.parametrize("damage", ["cut", "rewrite"])
def test_a_trainer_has_read_all_that_it_needs(damage, tmp_path):
    run(f"""
one, other = (onward.Trainer(saved(name)) for name in ("one.onnx", "other.onnx"))
{damage}("one.onnx")
for _ in range(3):
    for each in (one, other):
        each.step(BATCH)
for name, tensor in other.state().items():
    np.testing.assert_array_equal(one.state()[name], tensor, err_msg=name)
np.testing.assert_array_equal(one.infer({{"x": BATCH["x"]}})["y"], other.infer({{"x": BATCH["x"]}})["y"])
os.mkdir("elsewhere")
for each, name in ((one, "one"), (other, "other")):
    each.model.save(f"elsewhere/{{name}}.onnx")
one, other = (onward.load(f"elsewhere/{{name}}.onnx").initializers for name in ("one", "other"))
for name, tensor in other.items():
    np.testing.assert_array_equal(one[name], tensor, err_msg=name)
""", tmp_path)


def test_arrays_live_on(tmp_path):
    run("""
arrays = saved("model.onnx").initializers
before = {name: array.copy() for name, array in arrays.items()}
cut("model.onnx")
for name, array in arrays.items():
    np.testing.assert_array_equal(array, before[name])
""", tmp_path)
