"""A seed gives a graph, always the same one, and a valid one; a few hundred have every operator."""

import onnx
import pytest
from generate import NEWEST_OPSET, OLDEST_OPSET, OPERATORS, generate
from onnx import helper
from training_model import NothingToTrain, has_doubles, in_double, training_model


def checked(subject):
    """The model as ONNX's checker wants it: with a shape of every input and output."""
    model = onnx.ModelProto.FromString(subject.model.SerializeToString())
    for value in [*model.graph.input, *model.graph.output]:
        shape = subject.types[value.name][1]
        if not value.type.tensor_type.HasField("shape") and shape is not None:
            value.type.tensor_type.shape.SetInParent()
            for size in shape:
                value.type.tensor_type.shape.dim.add(dim_value=size)
    return model


def test_a_seed_gives_one_graph():
    for smooth in (False, True):
        first, second = generate(7, smooth), generate(7, smooth)
        assert first.model.SerializeToString(deterministic=True) == second.model.SerializeToString(deterministic=True)
        assert {name: each.tobytes() for name, each in first.inputs.items()} == \
            {name: each.tobytes() for name, each in second.inputs.items()}


@pytest.mark.parametrize("smooth", [False, True])
def test_graphs_are_valid(smooth):
    for seed in range(200):
        subject = generate(seed, smooth)
        if any(shape is None for _, shape in subject.types.values()):
            continue
        onnx.checker.check_model(checked(subject))


def covers_with_gaps(node):
    """Whether a pool's windows of ceil_mode cover its input by name, with strides wider than they are: ONNX infers a size
    that neither its evaluator nor ONNX Runtime gives."""
    given = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    if not given.get("ceil_mode") or not given.get("auto_pad", b"").startswith(b"SAME"):
        return False
    kernel = given["kernel_shape"]
    ones = [1] * len(kernel)
    return any(stride > (k - 1) * dilation + 1
               for k, stride, dilation in zip(kernel, given.get("strides", ones), given.get("dilations", ones)))


def test_declared_shapes_are_those_that_onnx_infers():
    for seed in range(200):
        subject = generate(seed, smooth=False)
        if any(map(covers_with_gaps, subject.model.graph.node)):
            continue
        try:
            inferred = onnx.shape_inference.infer_shapes(subject.model, strict_mode=True)
        except onnx.shape_inference.InferenceError as failure:
            assert "int32" in str(failure)  # axes of Pad, which its inference takes for int64
            continue
        for value in [*inferred.graph.output, *inferred.graph.value_info]:
            tensor = value.type.tensor_type
            shape = subject.types[value.name][1]
            if shape is None or not tensor.HasField("shape"):
                continue
            known = [dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim]
            assert len(known) == len(shape)
            assert all(a in (None, b) for a, b in zip(known, shape)), f"seed {seed}, {value.name}"


def test_everything_is_drawn():
    hits = [hit for seed in range(1500) for hit in generate(seed, smooth=False).hits()]
    assert {op for op, _, _ in hits} == OPERATORS.keys()
    assert {type for _, _, type in hits} >= {"float", "double", "float16", "bfloat16", "bool", "uint8", "int64"}
    opsets = {generate(seed).opset for seed in range(500)}
    assert opsets == set(range(OLDEST_OPSET, NEWEST_OPSET + 1))


def test_a_training_model_is_the_same_in_double():
    made = 0
    for seed in range(100):
        subject = generate(seed, smooth=True)
        try:
            model, xs = training_model(subject)
        except NothingToTrain:
            continue
        made += 1
        double = in_double(model, subject.types)
        floats = {t.name for t in double.graph.initializer if t.data_type == onnx.TensorProto.FLOAT}
        assert all(".narrow" in name for name in floats)
        assert has_doubles(double)
        if has_doubles(model):
            kept = [node.op_type for node in double.graph.node if not node.output[0].count(".narrow")]
            assert kept == [node.op_type for node in model.graph.node]
        assert xs == list(model.training_info[0].algorithm.node[-1 - 2 * len(model.training_info[0].update_binding)].input)
    assert made > 50
