"""Arrays go in and come out with their type and values, without a copy where NumPy has the type."""

import tracemalloc

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import onward

NUMPY_TYPES = ["float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
               "uint64", "bool", "complex64", "complex128"]
ML_TYPES = ["bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "int4",
            "uint4", "int2", "uint2", "float4_e2m1fn"]


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name) if name in ML_TYPES else name)


def example(dtype):
    """Seven values, so that packed types end within a byte."""
    return np.array([0, 1, 1, 0, 1, 1, 0]).astype(dtype)


def identity(dtype, shape, opset=25):
    """A model that gives back what it gets."""
    tensor = lambda name: helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), shape)
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "identity", [tensor("x")], [tensor("y")])
    return onward.loads(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]))


def holding(array):
    """A model that holds an array as an initializer."""
    tensor = numpy_helper.from_array(array, "w")
    output = helper.make_tensor_value_info("y", tensor.data_type, array.shape)
    graph = helper.make_graph([helper.make_node("Identity", ["w"], ["y"])], "holding", [], [output], [tensor])
    return onward.loads(helper.make_model(graph))


@pytest.mark.parametrize("name", NUMPY_TYPES + ML_TYPES)
def test_a_tensor_comes_out_as_it_is_in_the_file(name):
    array = example(dtype_of(name))
    result = holding(array).initializers["w"]
    assert result.dtype == array.dtype
    assert result.tobytes() == array.tobytes()


@pytest.mark.parametrize("name", NUMPY_TYPES + ML_TYPES)
def test_a_tensor_goes_in(name):
    array = example(dtype_of(name))
    changed = holding(np.zeros_like(array)).with_tensors({"w": array})
    assert changed.initializers["w"].tobytes() == array.tobytes()
    proto = onnx.ModelProto.FromString(changed.to_bytes())
    assert numpy_helper.to_array(proto.graph.initializer[0]).tobytes() == array.tobytes()


@pytest.mark.parametrize("name", ["float32", "float64", "float16", "bfloat16", "int64", "uint8", "bool"])
def test_a_tensor_goes_through_a_run(name):
    array = example(dtype_of(name))
    result = onward.Trainer(identity(array.dtype, array.shape)).infer({"x": array})["y"]
    assert result.dtype == array.dtype and result.tobytes() == array.tobytes()


def test_strings():
    array = np.array([["a", "längs"], ["", "d"]], dtype=object)
    result = holding(array).initializers["w"]
    assert result.tolist() == array.tolist()


@pytest.mark.parametrize("array", [
    np.arange(12.0).reshape(3, 4).T,
    np.arange(12.0).reshape(3, 4)[:, ::2],
    np.arange(12.0).reshape(3, 4)[::-1],
    np.arange(3, dtype=">f8"),
    np.array(5.0),
    np.zeros((0, 3)),
    [[1.0, 2.0], [3.0, 4.0]],
    7.0,
], ids=["transposed", "strided", "reversed", "big-endian", "scalar", "empty", "list", "number"])
def test_any_layout_is_taken(array):
    expected = np.asarray(array)
    result = onward.Trainer(identity(np.dtype(float), expected.shape)).infer({"x": array})["y"]
    assert result.shape == expected.shape and result.dtype == np.float64
    assert np.array_equal(result, expected)


def test_tensors_of_a_model_are_not_copied():
    model = holding(np.arange(1000.0))
    first, second = model.initializers["w"], model.initializers["w"]
    assert np.shares_memory(first, second)


def test_tensors_of_a_model_outlive_it():
    array = holding(np.arange(1000.0)).initializers["w"]
    assert array.sum() == 499500


def test_results_can_not_be_written_to():
    array = holding(np.arange(10.0)).initializers["w"]
    with pytest.raises(ValueError):
        array[0] = 1


def test_results_take_over_the_memory_of_their_tensors():
    """What a plan computed is copied once, in C++ (tests/train/copies_test.cpp): NumPy has no memory of its own."""
    array = np.ones(1 << 18)
    trainer = onward.Trainer(identity(array.dtype, array.shape))
    trainer.infer({"x": array})
    tracemalloc.start()
    result = trainer.infer({"x": array})["y"]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert not result.flags.owndata and not np.shares_memory(result, array)
    assert peak < array.nbytes / 8


def test_results_do_not_change_with_the_inputs():
    array = np.ones(4)
    result = onward.Trainer(identity(np.dtype(float), (4,))).infer({"x": array})["y"]
    array[:] = 2
    assert result.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("array, message", [
    (np.array(["2020-01-01"], dtype="datetime64[D]"), "datetime64"),
    (np.array([object()]), "must hold strings"),
    (np.zeros(3, dtype=[("a", int)]), "no type of ONNX"),
])
def test_other_arrays_are_refused_by_name(array, message):
    with pytest.raises(onward.Error, match=message) as error:
        onward.Trainer(identity(np.dtype(float), array.shape)).infer({"x": array})
    assert "'x'" in str(error.value)
