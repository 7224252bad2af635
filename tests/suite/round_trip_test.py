"""Loading and saving loses nothing, on every model of ONNX's backend suite."""

import onnx
import pytest
import suite
from onnx import TensorProto, helper, numpy_helper


@pytest.fixture(scope="module")
def models():
    return suite.models()


@pytest.fixture(scope="module")
def round_trip(models, tmp_path_factory):
    folder = tmp_path_factory.mktemp("suite")
    suite.write(folder / "in", models)
    return suite.run_tool("round-trip", folder / "in", folder / "out"), folder / "out"


def with_training_info(model):
    """A copy of the model with a training info of its own: a counter that each step advances."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    if not any(opset.domain in ("", "ai.onnx") for opset in copy.opset_import):
        copy.opset_import.add(domain="", version=17)
    info = copy.training_info.add()
    info.algorithm.name = "count"
    info.algorithm.initializer.append(
        helper.make_tensor("onward_count", TensorProto.INT64, [], [3]))
    info.algorithm.initializer.append(helper.make_tensor("onward_one", TensorProto.INT64, [], [1]))
    info.algorithm.node.append(helper.make_node("Add", ["onward_count", "onward_one"], ["onward_next"]))
    info.algorithm.output.append(
        helper.make_tensor_value_info("onward_next", TensorProto.INT64, []))
    info.update_binding.add(key="onward_count", value="onward_next")
    return copy


def failures(models, lines, folder):
    wrong = []
    for name, model in models.items():
        if "error" in lines[name]:
            wrong.append(f"{name}: {lines[name]['error']}")
        elif onnx.load(folder / f"{name}.onnx", load_external_data=False) != model:
            wrong.append(f"{name}: the saved message differs")
    return wrong


def test_the_suite_is_all_there(models):
    assert len(models) >= 1884 + 23 + 9 + 82 + 35


def test_saving_gives_an_equal_message(models, round_trip):
    lines, out = round_trip
    assert failures(models, lines, out / "patched") == []


def test_saving_gives_an_equal_message_with_a_training_info(models, tmp_path):
    trained = {name: with_training_info(model) for name, model in models.items()}
    suite.write(tmp_path / "in", trained)
    lines = suite.run_tool("round-trip", tmp_path / "in", tmp_path / "out")
    assert failures(trained, lines, tmp_path / "out" / "patched") == []


def passes_checker(model):
    try:
        onnx.checker.check_model(model)
        return True
    except onnx.checker.ValidationError:
        return False


def test_a_rebuilt_model_passes_the_checker_where_the_original_does(models, round_trip):
    _, out = round_trip
    refused = [name for name, model in models.items()
               if passes_checker(model)
               and not passes_checker(onnx.load(out / "rebuilt" / f"{name}.onnx"))]
    assert refused == []


def attribute_structure(attribute):
    if attribute.type == onnx.AttributeProto.GRAPH:
        return attribute.name, structure(attribute.g)
    if attribute.type == onnx.AttributeProto.GRAPHS:
        return attribute.name, [structure(graph) for graph in attribute.graphs]
    if attribute.type == onnx.AttributeProto.TENSOR:
        return attribute.name, tensor_structure(attribute.t)
    if attribute.type == onnx.AttributeProto.SPARSE_TENSOR:
        return attribute.name, sparse_structure(attribute.sparse_tensor)
    return attribute.name, helper.get_attribute_value(attribute)


def tensor_structure(tensor):
    """The same for typed fields and raw bytes."""
    array = numpy_helper.to_array(tensor)
    return tensor.data_type, tuple(tensor.dims), array.dtype.str, array.tobytes() if array.dtype != object else array.tolist()


def sparse_structure(tensor):
    return tuple(tensor.dims), tensor_structure(tensor.values), tensor_structure(tensor.indices)


def structure(graph):
    """All that a graph computes with, whatever the field that holds it."""
    return {
        "name": graph.name,
        "inputs": [(value.name, value.type.SerializeToString()) for value in graph.input],
        "outputs": [value.name for value in graph.output],
        "initializers": [(tensor.name, tensor_structure(tensor)) for tensor in graph.initializer],
        "sparse": [(t.values.name, sparse_structure(t)) for t in graph.sparse_initializer],
        "values": sorted(value.name for value in graph.value_info
                         if value.type.WhichOneof("value") or value.metadata_props),
        "nodes": [(node.op_type, node.domain.removeprefix("ai.onnx") if node.domain == "ai.onnx" else node.domain,
                   node.name, list(node.input), list(node.output), node.doc_string,
                   sorted((attribute_structure(a) for a in node.attribute), key=lambda a: a[0]))
                  for node in graph.node],
    }


def test_a_rebuilt_model_has_the_structure_of_the_original(models, round_trip):
    _, out = round_trip
    wrong = [name for name, model in models.items()
             if structure(onnx.load(out / "rebuilt" / f"{name}.onnx").graph) != structure(model.graph)]
    assert wrong == []
