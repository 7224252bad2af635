"""What the tests of lowered steps share: tensors of the tools, the runtimes, and what these lack."""

import os
import pathlib
import subprocess

import numpy as np
import onnx
import onnxruntime
from exact_operators import EXACT_OPERATORS
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

ROOT = pathlib.Path(__file__).resolve().parents[2]
STANDARD_DOMAINS = {"", "ai.onnx.ml"}


def onward(*arguments):
    return subprocess.run([os.environ["ONWARD"], *map(str, arguments)], capture_output=True, text=True)


def tool(*arguments):
    path = pathlib.Path(os.environ["ONWARD_TOOLS"]) / "lower_tool"
    subprocess.run([path, *map(str, arguments)], check=True)


def read(path):
    return numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes()))


def write(path, array):
    path.write_bytes(numpy_helper.from_array(np.asarray(array)).SerializeToString())


def graphs_of(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for subgraph in [attribute.g, *attribute.graphs]:
                yield from graphs_of(subgraph)


def nodes_of(graph):
    for each in graphs_of(graph):
        yield from each.node


def run_by_reference(model, feeds):
    return ReferenceEvaluator(model, new_ops=EXACT_OPERATORS).run(None, feeds)


def session(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def in_float32(model):
    """The model with all of its float64 tensors in float32: ONNX Runtime has no float64 convolution."""
    model = onnx.ModelProto.FromString(model.SerializeToString())

    def narrow(tensor):
        if tensor.data_type == onnx.TensorProto.DOUBLE:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float32), tensor.name))

    def narrow_type(kind):
        for tensor in (kind.tensor_type, kind.sequence_type.elem_type.tensor_type, kind.optional_type.elem_type.tensor_type):
            if tensor.elem_type == onnx.TensorProto.DOUBLE:
                tensor.elem_type = onnx.TensorProto.FLOAT

    for graph in graphs_of(model.graph):
        for tensor in graph.initializer:
            narrow(tensor)
        for value in [*graph.input, *graph.output, *graph.value_info]:
            narrow_type(value.type)
    for node in nodes_of(model.graph):
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                narrow(attribute.t)
            if attribute.type == onnx.AttributeProto.TYPE_PROTO:
                narrow_type(attribute.tp)
            if attribute.name in ("to", "dtype", "output_datatype") and attribute.i == onnx.TensorProto.DOUBLE:
                attribute.i = onnx.TensorProto.FLOAT
    return model


def lower(model, out, *options):
    result = onward("lower", model, "-o", out, *options)
    assert result.returncode == 0, result.stderr
    return onnx.load(out)


def infos_of(file):
    if file.suffix == ".onnxtxt":
        return file.read_text().count("training_info {")
    return len(onnx.load(file).training_info)


def compare_steps(file, batches, folder, *options):
    """Trains on the batches, with Onward and with the lowered steps of each training info in ONNX
    Runtime: every output and every state of every step must be the same. Gives the last state."""
    for step, feeds in enumerate(batches):
        (folder / str(step)).mkdir()
        for key, value in feeds.items():
            write(folder / str(step) / f"{key}.input", value)
    tool("steps", file, folder, len(batches))

    sessions = []
    for info in range(infos_of(file)):
        model = lower(file, folder / f"step{info}.onnx", "--info", info, *options)
        onnx.checker.check_model(model, full_check=True)
        assert {node.domain for node in nodes_of(model.graph)} <= STANDARD_DOMAINS
        sessions.append((session(model), {value.name for value in model.graph.input}))

    state = {}  # at first what the file holds
    for step, feeds in enumerate(batches):
        for runtime, inputs in sessions:
            given = {key: value for key, value in {**state, **feeds}.items() if key in inputs}
            names = [output.name for output in runtime.get_outputs()]
            results = dict(zip(names, runtime.run(names, given)))
            state |= {key.removesuffix(".next"): value for key, value in results.items() if key.endswith(".next")}
            for key, value in results.items():
                kind = "state" if key.endswith(".next") else "output"
                expected = read(folder / str(step) / f"{key.removesuffix('.next')}.{kind}")
                assert value.shape == expected.shape and value.dtype == expected.dtype
                # By norms: where a gradient is next to nothing, Adam makes much of its rounding.
                error = np.linalg.norm(value - expected) / max(1, np.linalg.norm(expected))
                assert error <= 1e-5, f"step {step}: {key} is off by {error:.1e}"
    return state
