"""A model with a gigabyte of external data is described without reading it."""

import os
import subprocess
import sys

from onnx import TensorProto, helper

TENSORS = 16
ELEMENTS = 1 << 24  # of each: 64 MB


def large_model(folder):
    """16 tensors in one file with a hole in it: a gigabyte to read, nothing on the disk."""
    nodes, initializers = [], []
    for i in range(TENSORS):
        tensor = TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=[4096, ELEMENTS // 4096],
                             data_location=TensorProto.EXTERNAL)
        for key, value in (("location", "large.data"), ("offset", str(4 * ELEMENTS * i)),
                           ("length", str(4 * ELEMENTS))):
            tensor.external_data.add(key=key, value=value)
        initializers.append(tensor)
        nodes.append(helper.make_node("MatMul", [f"x{i}" if i else "x", f"w{i}"], [f"x{i + 1}"]))
    graph = helper.make_graph(
        nodes, "large", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4096])],
        [helper.make_tensor_value_info(f"x{TENSORS}", TensorProto.FLOAT, ["N", 4096])], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (folder / "large.onnx").write_bytes(model.SerializeToString())
    with open(folder / "large.data", "wb") as data:
        data.truncate(4 * ELEMENTS * TENSORS)
    return folder / "large.onnx"


# A small process in between: the kernel counts a child's peak from before it becomes another program,
# when it still is a copy of the one that started it.
MEASURE = """
import resource, subprocess, sys, time
begin = time.monotonic()
code = subprocess.run(sys.argv[1:]).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
print(f"{time.monotonic() - begin:.2f} s, {peak:.0f} MB", file=sys.stderr)
sys.exit(code or int(peak > 100))
"""


def test_memory_stays_small(tmp_path):
    model = large_model(tmp_path)
    for command in ("check", "show"):
        done = subprocess.run([sys.executable, "-c", MEASURE, os.environ["ONWARD"], command, model],
                              capture_output=True, text=True)
        print(f"{command}: {done.stderr.strip()}")
        assert done.returncode == 0, done.stdout + done.stderr
    assert "16 tensors, 1.1 GB" in done.stdout
