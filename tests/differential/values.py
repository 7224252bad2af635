"""Element types by the standard's names, and random arrays of them."""

import ml_dtypes
import numpy as np
import onnx

NUMPY = {
    "float": np.dtype(np.float32), "double": np.dtype(np.float64), "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16), "int8": np.dtype(np.int8), "int16": np.dtype(np.int16),
    "int32": np.dtype(np.int32), "int64": np.dtype(np.int64), "uint8": np.dtype(np.uint8),
    "uint16": np.dtype(np.uint16), "uint32": np.dtype(np.uint32), "uint64": np.dtype(np.uint64),
    "bool": np.dtype(np.bool_),
}
NAMES = {dtype: name for name, dtype in NUMPY.items()}
ONNX = {name: getattr(onnx.TensorProto, name.upper()) for name in NUMPY}
BY_ONNX = {number: name for name, number in ONNX.items()}

# How often each type is drawn, where an operator takes several.
WEIGHTS = {"float": 40, "double": 16, "float16": 5, "bfloat16": 3, "int64": 9, "int32": 7, "int8": 3, "int16": 2,
           "uint8": 3, "uint16": 2, "uint32": 2, "uint64": 2, "bool": 4}

FLOATS = frozenset(["float", "double", "float16", "bfloat16"])
SIGNED = frozenset(["int8", "int16", "int32", "int64"])
UNSIGNED = frozenset(["uint8", "uint16", "uint32", "uint64"])
INTEGERS = SIGNED | UNSIGNED

# The distance from 1 to the next number.
EPSILON = {"float": 2.0**-23, "double": 2.0**-52, "float16": 2.0**-10, "bfloat16": 2.0**-7}

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-30, -1e-30, 1e4, -1e4]


def is_float(array):
    """Whether an array holds floating-point numbers; NumPy does not count bfloat16 among them."""
    return NAMES.get(array.dtype) in FLOATS


def as_double(array):
    """An array in which results of any type can be subtracted."""
    return np.asarray(array).astype(np.float64)


def draw(numbers, name, shape, low=-3.0, high=3.0, special=False):
    """A random array: floats between `low` and `high`, small integers, or conditions. With `special` some
    elements are infinities, NaN, zeros, numbers of other magnitudes, or the largest and smallest integers."""
    dtype = NUMPY[name]
    if name == "bool":
        return numbers.random(shape) < 0.5
    if name in FLOATS:
        array = numbers.uniform(low, high, shape)
        if special:
            array = np.where(numbers.random(shape) < 0.2, numbers.choice(SPECIAL, shape), array)
        with np.errstate(over="ignore"):
            return np.asarray(array).astype(dtype)
    smallest = max(int(np.ceil(low)), 0) if name in UNSIGNED else int(np.ceil(low))
    array = np.asarray(numbers.integers(smallest, max(int(high), smallest) + 1, shape)).astype(dtype)
    if special and low < 0:
        limits = np.iinfo(dtype)
        extremes = numbers.choice(np.array([limits.min, limits.max], dtype), shape)
        array = np.where(numbers.random(shape) < 0.2, extremes, array)
    return np.asarray(array)
