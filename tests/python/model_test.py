"""Models as Python sees them."""

import pathlib

import numpy as np
import onnx
import pytest

import onward

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/training"


@pytest.fixture
def linear():
    return onward.load(EXAMPLES / "linear.onnxtxt")


def test_inputs_and_outputs(linear):
    [x], [y] = linear.inputs, linear.outputs
    assert (x.name, x.dtype, x.shape, x.type) == ("x", "float32", ("N", 1), "f32[N,1]")
    assert (y.name, y.dtype, y.shape) == ("y", "float32", ("N", 1))
    assert repr(x) == "x: f32[N,1]"


def test_tensors_by_role(linear):
    assert {name: array.shape for name, array in linear.parameters.items()} == {"w": (1, 1), "b": (1,)}
    assert set(linear.state) == {"w_squares", "b_squares", "T"}
    assert set(linear.initializers) == {"w", "b", "w_squares", "b_squares", "T", "R", "one"}


def test_training_infos(linear):
    [info] = linear.training
    assert [value.name for value in info.inputs] == ["label"]
    assert [value.name for value in info.outputs][0] == "loss"
    assert info.update_bindings["w"] == "w_new"
    assert info.initialization_bindings == {}
    assert info.names == {"label": "label", "loss": "loss", "learning_rate": "R", "step": "T"}
    assert info.slots == {"w": {"H": "w_squares"}, "b": {"H": "b_squares"}}


def test_opsets(linear):
    assert linear.opsets == {"": 17, "ai.onnx.preview.training": 1}


def test_bytes_are_those_of_the_file(linear, tmp_path):
    onward.save(linear, tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").read_bytes() == linear.to_bytes()
    assert onward.load(tmp_path / "model.onnx").to_text() == linear.to_text()
    proto = onnx.load(tmp_path / "model.onnx")
    assert len(proto.training_info) == 1
    assert onward.loads(proto).to_text() == linear.to_text()


def test_what_is_not_understood_survives(linear):
    proto = onnx.ModelProto.FromString(linear.to_bytes())
    proto.graph.node[0].doc_string = "kept"
    tensor = proto.graph.initializer[0]
    tensor.CopyFrom(onnx.TensorProto(name=tensor.name, dims=[1, 1], data_type=onnx.TensorProto.FLOAT, float_data=[2]))
    model = onward.loads(proto.SerializeToString())
    assert model.to_bytes() == proto.SerializeToString()
    changed = onnx.ModelProto.FromString(model.with_tensors({"b": np.ones(1, np.float32)}).to_bytes())
    assert changed.graph.node[0].doc_string == "kept"
    assert list(changed.graph.initializer[0].float_data) == [2]


def test_external_data(tmp_path):
    model = onward.parse("<ir_version: 8, opset_import: [\"\" : 17]>"
                         "m (float[1000] x) => (float[1000] y) <float[1000] w = full(3)> { y = Add(x, w) }")
    model.save(tmp_path / "m.onnx", external_data=True)
    assert (tmp_path / "m.onnx").stat().st_size < 1000
    assert onward.load(tmp_path / "m.onnx").initializers["w"][999] == 3
    with pytest.raises(onward.Error):  # not without a folder to look in
        onward.loads((tmp_path / "m.onnx").read_bytes())
    assert onward.loads((tmp_path / "m.onnx").read_bytes(), folder=tmp_path).initializers["w"][0] == 3


def test_check(linear, tmp_path):
    assert linear.check() == []
    proto = onnx.ModelProto.FromString(linear.to_bytes())
    proto.training_info[0].update_binding[0].key = "nobody"
    onnx.save(proto, tmp_path / "bad.onnx")
    [problem] = onward.check_file(tmp_path / "bad.onnx")
    assert problem.severity == "error"
    assert problem.rule == "binding-key" and "nobody" in str(problem)
    with pytest.raises(onward.Error, match="nobody"):
        onward.load(tmp_path / "bad.onnx")


def test_with_tensors(linear):
    changed = linear.with_tensors({"w": np.full((1, 1), 4, np.float32), "T": np.array(9)})
    assert changed.parameters["w"].item() == 4 and changed.state["T"].item() == 9
    assert linear.parameters["w"].item() == 0  # a model never changes


@pytest.mark.parametrize("tensors, message", [
    ({"nobody": np.zeros(1)}, "no initializer 'nobody'"),
    ({"w": np.zeros(1, np.float32)}, r"'w' is f32\[1,1\], not f32\[1\]"),
    ({"w": np.zeros((1, 1))}, r"'w' is f32\[1,1\], not f64\[1,1\]"),
])
def test_tensors_that_do_not_fit_are_refused(linear, tensors, message):
    with pytest.raises(onward.Error, match=message):
        linear.with_tensors(tensors)


def test_errors_are_value_errors(tmp_path):
    assert issubclass(onward.Error, ValueError) and issubclass(onward.Bug, RuntimeError)
    with pytest.raises(ValueError, match="missing.onnx"):
        onward.load(tmp_path / "missing.onnx")
    with pytest.raises(onward.Error):
        onward.loads(b"no model")
    with pytest.raises(onward.Error, match="line 1"):
        onward.parse("nonsense")


def test_text(linear):
    assert "update_binding" in linear.to_text()
    assert repr(linear) == "<onward.Model 'linear': 2 nodes, 1 training infos>"
