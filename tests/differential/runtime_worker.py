"""Runs models by ONNX Runtime ("run") and by ONNX's reference evaluator ("evaluate"), request by request on
the standard streams: either may crash, and takes nobody else along. See worker.py for the messages."""

import json
import os
import pathlib
import sys
import warnings

import numpy as np
import onnx
import onnxruntime
import values
from onnx import helper, version_converter
from onnx.reference import ReferenceEvaluator
from worker import arrays_from_bytes, tensors_as_bytes

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lower"))
from exact_operators import EXACT_OPERATORS  # noqa: E402


def convert_oldest(model):
    """ONNX Runtime has nothing for opset 6, whose broadcasting ONNX's converter says in that of opset 7."""
    if model.opset_import[0].version < 7:
        return version_converter.convert_version(model, 7)
    return model


def with_float_ports(model, arrays):
    """NumPy arrays of bfloat16 can't pass ONNX Runtime's interface: they go in and come out as float."""
    graph = model.graph
    wrapped = []
    for value in graph.input:
        if value.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16 and value.name in arrays:
            inner = value.name + ".given"
            wrapped.append(helper.make_node("Cast", [inner], [value.name], to=onnx.TensorProto.BFLOAT16))
            arrays[inner] = arrays.pop(value.name).astype(np.float32)
            value.name, value.type.tensor_type.elem_type = inner, onnx.TensorProto.FLOAT
    narrow = {}
    for value in graph.output:
        if value.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16:
            inner = value.name + ".result"
            graph.node.append(helper.make_node("Cast", [value.name], [inner], to=onnx.TensorProto.FLOAT))
            narrow[inner] = value.name
            value.name, value.type.tensor_type.elem_type = inner, onnx.TensorProto.FLOAT
    nodes = [*wrapped, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    return narrow


def run(model, arrays):
    model = convert_oldest(model)
    narrow = with_float_ports(model, arrays)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    results = dict(zip(names, session.run(names, arrays)))
    return {narrow.get(name, name): array.astype(values.NUMPY["bfloat16"]) if name in narrow else array
            for name, array in results.items()}


def with_all_outputs_named(model):
    """The evaluator keeps an output that is left out under its empty name, and gives it to inputs that are left out."""
    for at, node in enumerate(model.graph.node):
        for i, name in enumerate(node.output):
            node.output[i] = name or f"unnamed.{at}.{i}"
    return model


def evaluate(model, arrays):
    model = with_all_outputs_named(convert_oldest(model))
    defaults = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    given = {value.name: arrays.get(value.name, defaults.get(value.name)) for value in model.graph.input}
    names = [output.name for output in model.graph.output]
    results = ReferenceEvaluator(model, new_ops=EXACT_OPERATORS).run(names, given)
    # It computes bfloat16 and float16 in float now and then, and leaves the results so.
    types = [values.NUMPY[values.BY_ONNX[output.type.tensor_type.elem_type]] for output in model.graph.output]
    return {name: np.asarray(array).astype(type) for name, array, type in zip(names, results, types)}


def main():
    answers = os.fdopen(os.dup(1), "wb")  # whatever else is printed must not get between
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    onnxruntime.set_default_logger_severity(4)
    while line := sys.stdin.buffer.readline():
        header = json.loads(line)
        model = onnx.ModelProto.FromString(sys.stdin.buffer.read(header["model"]))
        arrays = arrays_from_bytes(sys.stdin.buffer.read(header["tensors"]))
        try:
            data = tensors_as_bytes({"run": run, "evaluate": evaluate}[header["verb"]](model, arrays))
            answer = {"bytes": len(data)}
        except Exception as failure:
            data, answer = b"", {"refused": f"{type(failure).__name__}: {failure}"}
        answers.write(json.dumps(answer).encode() + b"\n" + data)
        answers.flush()


if __name__ == "__main__":
    main()
