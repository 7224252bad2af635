"""Models whose tensors, values, layers, inputs and graphs have names that Python or a framework has a use for."""

import builtins
import keyword

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from emitted import module_of, onward

NAMES = [*keyword.kwlist, *keyword.softkwlist, *(name for name in dir(builtins) if not name.startswith("_")),
         # what the source imports, defines and calls by
         "torch", "nn", "F", "np", "keras", "ops", "layers", "math", "os", "itertools", "pathlib", "uuid", "json", "HERE",
         "SLOTS", "load", "save", "read", "write", "load_file", "save_file", "loss", "Loss", "loss_function", "update",
         "self", "cls", "training", "inputs", "results", "tensors", "step", "in_step", "label", "optimizer", "model",
         "reshape", "unsqueeze", "pad", "one_hot", "take_slices", "max_pool", "batch_norm", "layer_norm", "dropout",
         # what no identifier is, or becomes the same one
         "0", "1x", "a.b", "a/b", "a_b", "a b", "a-b", "a:b", "a..b", "/a", "a/", "\u00e9", "\u65e5\u672c", "_", "_x", "__x",
         "__init__", "__dict__", "__metadata__", "__metadata___", "None.x", "None/y", "def.x", "x.None", "x.0", "0.x", "count/params", "train.step", "a\"b",
         "a\\b", "a\nb", "a{b}c", "%s", "#", "'", "x" * 300]

# What a class may not be called.
CAPITALS = ["none", "True", "f", "F", "HERE", "SLOTS", "loss", "runtimeError", "3 layers", "--", "\u00e9", 'a"b', "a\\b"]


def _saved(file, nodes, inputs, initializers, name="model"):
    graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info(each, TensorProto.FLOAT, ["N", 3]) for each in inputs],
                              [helper.make_tensor_value_info("result", TensorProto.FLOAT, ["N", 3])],
                              [numpy_helper.from_array(np.asarray(array, "float32"), each) for each, array in initializers])
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), file)


def _chain(names, op, more):
    """Nodes in a row: `more(i, name)` are the other inputs of each."""
    nodes, last = [], "x_of_all"
    for i, name in enumerate(names):
        result = "result" if i + 1 == len(names) else f"value_{i}_of_all"
        nodes.append(helper.make_node(op, [last, *more(name)], [result], name=f"{op}_{i}"))
        last = result
    return nodes


def model_of_tensors(file, names):
    _saved(file, _chain(names, "Add", lambda name: [name]), ["x_of_all"], [(name, [i, 0, 1]) for i, name in enumerate(names)])
    return lambda x: x + np.array([sum(range(len(names))), 0, len(names)], "float32")


def model_of_layers(file, names):
    initializers = []
    for i, name in enumerate(names):
        initializers += [(f"{name}.weight", np.eye(3)), (f"{name}.bias", [i, 0, 1])]
    _saved(file, _chain(names, "Gemm", lambda name: [f"{name}.weight", f"{name}.bias"]), ["x_of_all"], initializers)
    return lambda x: x + np.array([sum(range(len(names))), 0, len(names)], "float32")


def model_of_values(file, names):
    """Every value is read twice, the second time after all have been made; operators that need functions of ours follow."""
    nodes = [helper.make_node("Add", ["x_of_all", "one of all"], [name]) for name in names]
    nodes += [helper.make_node("Sum", names, ["sum of all"]),
              helper.make_node("Reshape", ["sum of all", "shape of all"], ["result"])]
    _saved(file, nodes, ["x_of_all"], [("one of all", [1, 2, 3])])
    model = onnx.load(file)
    model.graph.initializer.append(numpy_helper.from_array(np.array([0, 3], "int64"), "shape of all"))
    onnx.save(model, file)
    return lambda x: len(names) * (x + np.array([1, 2, 3], "float32"))


def model_of_inputs(file, names):
    _saved(file, [helper.make_node("Sum", names, ["result"])], names, [])
    return None


def model_named(file, name):
    _saved(file, [helper.make_node("Add", ["x", "b"], ["result"])], ["x"], [("b", [1, 2, 3])], name)


def exported(model, target, folder):
    onward("export", model, "--to", target, "-o", folder)
    return module_of(folder)
