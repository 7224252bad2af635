"""No name of a model makes PyTorch's source wrong."""

import numpy as np
import onnx
import onnx.reference
import pytest
import torch
from onnx import helper, numpy_helper

import named
from emitted import onward
from jobs import differing

X = np.array([[0.5, -1, 2], [3, 4, -5]], "float32")
NAMES = list(dict.fromkeys([*named.NAMES, *(name for name in dir(torch.nn.Module()) if not name.startswith("__"))]))


@pytest.mark.parametrize("kind", ["tensors", "layers", "values"])
def test_names(tmp_path, kind):
    expected = getattr(named, f"model_of_{kind}")(tmp_path / "model.onnx", NAMES)
    module = named.exported(tmp_path / "model.onnx", "torch", tmp_path / "torch")
    model = module.load()
    np.testing.assert_array_equal(model(torch.from_numpy(X)).detach().numpy(), expected(X))
    module.save(model)
    onward("import-weights", tmp_path / "torch", tmp_path / "model.onnx", "-o", tmp_path / "taken.onnx")
    onward("export", tmp_path / "taken.onnx", "--to", "torch", "-o", tmp_path / "again")
    assert differing(tmp_path / "torch/weights.safetensors", tmp_path / "again/weights.safetensors") == []


def test_numbered_layers_that_pad(tmp_path):
    """What pads for a layer lies beside it, whatever else its container holds."""
    names = ["convs.1.weight", "convs.2.weight", "blocks.3.0.weight"]
    weights = [numpy_helper.from_array(np.full((1, 1, 2, 2), i + 1, np.float32), name) for i, name in enumerate(names)]
    pads = [[0, 0, 1, 1], [0, 0, 0, 0], [1, 0, 0, 1]]
    nodes = [helper.make_node("Conv", [f"x{i}", name], [f"x{i + 1}"], pads=pads[i]) for i, name in enumerate(names)]
    x0, x3 = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["N", 1, None, None]) for name in ("x0", "x3"))
    graph = helper.make_graph(nodes, "g", [x0], [x3], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    expected = onnx.reference.ReferenceEvaluator(str(tmp_path / "m.onnx")).run(None, {"x0": x})[0]
    model = named.exported(tmp_path / "m.onnx", "torch", tmp_path / "torch").load()
    np.testing.assert_array_equal(model(torch.from_numpy(x)).detach().numpy(), expected)


def test_names_of_inputs(tmp_path):
    named.model_of_inputs(tmp_path / "model.onnx", NAMES)
    model = named.exported(tmp_path / "model.onnx", "torch", tmp_path / "torch").load()
    result = model(*(torch.from_numpy(i * X) for i in range(len(NAMES))))
    np.testing.assert_allclose(result.numpy(), sum(range(len(NAMES))) * X, rtol=1e-5)


def test_names_of_models(tmp_path):
    for i, name in enumerate(named.CAPITALS):
        named.model_named(tmp_path / "model.onnx", name)
        model = named.exported(tmp_path / "model.onnx", "torch", tmp_path / f"torch{i}").load()
        np.testing.assert_array_equal(model(torch.from_numpy(X)).numpy(), X + np.array([1, 2, 3], "float32"), err_msg=name)


def test_names_of_files(tmp_path):
    for i, name in enumerate(['a"""b', "a\\b", "a\nb", "\u00e9"]):
        named.model_named(tmp_path / f"{name}.onnx", "model")
        named.exported(tmp_path / f"{name}.onnx", "torch", tmp_path / f"torch{i}").load()
