"""`onward upgrade`: the same model in another opset and IR version, training info and all."""

import pathlib

import lowered
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

LIGHT = sorted((pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "light").glob("*.onnx"))


def done(*arguments):
    result = lowered.onward(*arguments)
    assert result.returncode == 0, result.stderr
    return result


def refused(*arguments):
    result = lowered.onward(*arguments)
    assert result.returncode == 1 and result.stdout == ""
    return result.stderr


def opset(model):
    return {each.domain: each.version for each in model.opset_import}[""]


def text(folder, opset, graph, ir=8):
    (folder / "in.onnxtxt").write_text(f'<ir_version: {ir}, opset_import: ["": {opset}]> {graph}')
    return folder / "in.onnxtxt"


def initializers(model):
    graphs = [model.graph, *(info.algorithm for info in model.training_info)]
    return {each.name: numpy_helper.to_array(each) for graph in graphs for each in graph.initializer}


@pytest.mark.parametrize("name", ["linear", "logistic", "cnn"])
@pytest.mark.parametrize("wanted", [13, 18, 26])
def test_training_models(tmp_path, name, wanted):
    """They are trained to the same bits, and all of their state is where it was."""
    model, there, back = tmp_path / "m.onnx", tmp_path / "there.onnx", tmp_path / "back.onnx"
    done("example", name, "-o", model)
    own = opset(onnx.load(model))
    done("upgrade", model, "--opset", wanted, "-o", there)
    done("upgrade", there, "--opset", own, "-o", back)
    before = onnx.load(model)
    for file, version in ((there, wanted), (back, own)):
        after = onnx.load(file)
        assert opset(after) == version
        assert [b.key for b in after.training_info[0].update_binding] == [b.key for b in before.training_info[0].update_binding]
        for key, array in initializers(before).items():
            assert np.array_equal(initializers(after)[key], array), key
        done("check", file)
    x = {value.name: value for value in before.graph.input}
    data = {key: np.random.default_rng(0).random([d.dim_value or 8 for d in value.type.tensor_type.shape.dim], np.float32)
            for key, value in x.items()}
    for value in before.training_info[0].algorithm.input:
        kind = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        data[value.name] = np.ones([d.dim_value or 8 for d in value.type.tensor_type.shape.dim], kind)
    np.savez(tmp_path / "data.npz", **data)
    results = []
    for file in (model, there, back):
        done("train", file, "--data", tmp_path / "data.npz", "--batch-size", 4, "--epochs", 2, "-o", tmp_path / "t.onnx")
        results.append({key: array.tobytes() for key, array in initializers(onnx.load(tmp_path / "t.onnx")).items()})
    for other in results[1:]:
        assert {key: other[key] for key in results[0]} == results[0]


@pytest.mark.parametrize("file", LIGHT, ids=[file.stem for file in LIGHT])
def test_networks(file, tmp_path):
    """Of 2017, with their weights as inputs, to what runtimes read today and a step back."""
    done("upgrade", file, "--opset", 21, "-o", tmp_path / "up.onnx")
    done("upgrade", tmp_path / "up.onnx", "--opset", 14, "-o", tmp_path / "down.onnx")
    old = onnx.load(file)
    weights = {each.name for each in old.graph.initializer}
    for name, version, ir in (("up", 21, 10), ("down", 14, 7)):
        model = onnx.load(tmp_path / f"{name}.onnx")
        onnx.checker.check_model(model)
        assert (opset(model), model.ir_version) == (version, ir)
        assert weights <= {each.name for each in model.graph.initializer} | {None}
        assert [each.name for each in model.graph.input] == [
            each.name for each in old.graph.input if each.name not in weights]
        assert [each.name for each in model.graph.output] == [each.name for each in old.graph.output]
        lowered.session(model)


def test_forms_and_expansions(tmp_path):
    file = text(tmp_path, 22, """g (float[2,3] x) => (float[2,1] y) <int64[1] axes = {1}, float[3] scale = {1, 2, 3}> {
        a = LayerNormalization(x, scale)  b = Gelu(a)  y = ReduceMean(b, axes) }""")
    done("upgrade", file, "--opset", 13, "-o", tmp_path / "out.onnx")
    model = onnx.load(tmp_path / "out.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert {"scale"} <= set(initializers(model)) and "axes" not in initializers(model)
    x = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)
    normal = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * [1, 2, 3]
    from math import erf
    expected = (normal / 2 * (1 + np.vectorize(erf)(normal / 2**0.5))).mean(1, keepdims=True)
    np.testing.assert_allclose(lowered.session(model).run(None, {"x": x})[0], expected, rtol=1e-5)


def test_expansions_in_a_training(tmp_path):
    """The gradient is that of the plainer operators then, which is the same but for rounding."""
    file = text(tmp_path, 22, """g (float[N,3] x) => (float[N,2] y) <float[3,2] w = {1, 2, 3, -4, 5, -6}, float[2] scale = {1, 2}> {
        a = MatMul(x, w)  b = Gelu(a)  y = LayerNormalization(b, scale) }""")
    done("prepare", file, "--loss", "mse", "--optimizer", "adam", "-o", tmp_path / "m.onnx")
    done("upgrade", tmp_path / "m.onnx", "--opset", 13, "-o", tmp_path / "old.onnx")
    operators = {node.op_type for node in onnx.load(tmp_path / "old.onnx").graph.node}
    assert operators.isdisjoint({"Gelu", "LayerNormalization"}) and "MatMul" in operators
    random = np.random.default_rng(0)
    np.savez(tmp_path / "data.npz", x=random.normal(size=(8, 3)).astype(np.float32), target=np.ones((8, 2), np.float32))
    results = []
    for name in ("m", "old"):
        label = onnx.load(tmp_path / f"{name}.onnx").training_info[0].algorithm.input[0].name
        done("train", tmp_path / f"{name}.onnx", "--data", tmp_path / "data.npz", "--feed", f"{label}=target",
             "--epochs", 3, "-o", tmp_path / "t.onnx")
        results.append(initializers(onnx.load(tmp_path / "t.onnx")))
    for key in ("w", "scale"):
        assert not np.array_equal(results[0][key], initializers(onnx.load(tmp_path / "m.onnx"))[key])
        np.testing.assert_allclose(results[1][key], results[0][key], rtol=1e-4)


@pytest.mark.parametrize("options, message", [
    ([], "there is nothing to do: give --opset or --ir"),
    (["--opset", 12], "opset 12 is not supported: choose 13 to "),
    (["--opset", 99], "opset 99 is not supported: choose 13 to "),
    (["--opset", 15], "node 'y' (StringConcat): it was added in opset 20"),
    (["--ir", 8], "IR version 8 is too small: opset 20 needs 9"),
    (["--ir", 99], "IR version 99 is not known: the newest is "),
])
def test_refused(tmp_path, options, message):
    file = text(tmp_path, 20, "g (string[2] x) => (string[2] y) { y = StringConcat(x, x) }", ir=9)
    assert message in refused("upgrade", file, *options, "-o", tmp_path / "out.onnx")
    assert not (tmp_path / "out.onnx").exists()


def test_ir_version(tmp_path):
    file = text(tmp_path, 17, "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Mul(x, w) }", ir=10)
    for options, ir in (([], 8), (["--ir", 9], 9)):
        done("upgrade", file, "--opset", 17, *options, "-o", tmp_path / "out.onnx")
        assert onnx.load(tmp_path / "out.onnx").ir_version == ir


def test_types_need_an_ir_version(tmp_path):
    tensor = helper.make_tensor("w", onnx.TensorProto.FLOAT8E4M3FN, [1], [1.0])
    node = helper.make_node("Cast", ["w"], ["y"], to=onnx.TensorProto.FLOAT)
    y = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1])
    model = helper.make_model(helper.make_graph([node], "g", [], [y], [tensor]),
                              opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    onnx.save(model, tmp_path / "in.onnx")
    assert "'w' of type f8e4m3fn needs 9" not in done("upgrade", tmp_path / "in.onnx", "--opset", 21, "-o", tmp_path / "o.onnx").stdout
    message = refused("upgrade", tmp_path / "in.onnx", "--opset", 17, "-o", tmp_path / "out.onnx")
    assert "node 'y' (Cast)" in message
