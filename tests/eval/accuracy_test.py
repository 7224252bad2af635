"""Every elementwise function, in every way that it is computed (reference, tiles for any machine and for AVX2),
against NumPy where its result is exact or rounded once, and against mpmath with a bound in units in the last place.

Reference and tiles share the functions' source (src/eval/elementwise_functions.h): that the two agree proves nothing.
"""

import dataclasses
import functools
import json
import os
import pathlib
import subprocess
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from mpmath import mp

TOOL = pathlib.Path(os.environ["ONWARD_TOOLS"]) / "elementwise_tool"
TYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "bool": np.bool_}
DIGITS = 30


def sign(x):
    return np.where(np.isnan(x), x, np.sign(x)) if x.dtype.kind == "f" else np.sign(x)


# NumPy gives the bits, but for the sign of a zero where two zeros are compared.
EXACT = {
    "Abs": np.abs, "Add": np.add, "And": np.logical_and, "Cast": lambda x: x, "Ceil": np.ceil, "Floor": np.floor,
    "Round": np.rint, "GreaterOrEqual": np.greater_equal, "LessOrEqual": np.less_equal, "Xor": np.logical_xor,
    "PRelu": lambda x, slope: np.where(x < 0, slope * x, x),
    "Shrink": lambda x: np.where(np.abs(x) > 0.5, x, x.dtype.type(0)), "Div": np.divide, "Equal": np.equal,
    "Greater": np.greater, "Identity": lambda x: x, "Less": np.less, "Max": np.maximum, "Min": np.minimum,
    "Mul": np.multiply, "Neg": np.negative, "Not": np.logical_not, "Or": np.logical_or, "Reciprocal": lambda x: 1 / x,
    "Relu": lambda x: np.maximum(x, 0), "Sign": sign, "Sqrt": np.sqrt, "Sub": np.subtract, "Where": np.where,
    "LeakyRelu": lambda x: np.where(x < 0, x.dtype.type(np.float32(0.01)) * x, x),
}
ANY_ZERO = {"Max", "Min", "Relu", "Sign"}


@dataclasses.dataclass
class Rounded:
    """A function of mpmath's numbers, and how far each way is from it: the largest of some million distances, rounded
    up."""

    function: Callable
    tiles_f32: float
    reference_f32: float
    f64: float  # tiles and reference call the same library
    of_operand: bool = False  # counted in units of the operand: the result is one of its parts, and cancels

    def bound(self, way, dtype):
        if dtype == np.float64:
            return self.f64
        return self.reference_f32 if way == "reference" else self.tiles_f32


def sigmoid(x):
    return 1 / (1 + mp.exp(-x))


def softplus(x):
    return mp.log1p(mp.exp(x)) if x < 0 else x + mp.log1p(mp.exp(-x))


def gelu(x):
    return x * mp.ncdf(x)


def gelu_by_tanh(x):
    return x / 2 * (1 + mp.tanh(mp.sqrt(2 / mp.pi) * (x + mpmath.mpf("0.044715") * x**3)))


ROUNDED = {
    # function, and units in the last place: tiles in f32, reference in f32, both in f64
    ("Acos", ""): Rounded(mp.acos, 0.8, 0.8, 0.6),
    ("Acosh", ""): Rounded(mp.acosh, 1.4, 1.4, 1.4),
    ("Asin", ""): Rounded(mp.asin, 0.8, 0.8, 0.6),
    ("Asinh", ""): Rounded(mp.asinh, 1.4, 1.4, 1.3),
    ("Atan", ""): Rounded(mp.atan, 0.8, 0.8, 0.6),
    ("Atanh", ""): Rounded(mp.atanh, 1.3, 1.3, 1.4),
    ("Cos", ""): Rounded(mp.cos, 0.6, 0.6, 0.6),
    ("Cosh", ""): Rounded(mp.cosh, 1.5, 1.5, 1.7),
    ("Erf", ""): Rounded(mp.erf, 2.7, 1.0, 1.1),
    ("Exp", ""): Rounded(mp.exp, 1.1, 0.6, 0.6),
    # 1 + erf(x) and 1 + tanh(x) cancel where x is below zero.
    ("Gelu", ""): Rounded(gelu, 1.9, 1.5, 1.6, of_operand=True),
    ("Gelu", "tanh"): Rounded(gelu_by_tanh, 1.6, 1.9, 2.0, of_operand=True),
    ("Log", ""): Rounded(mp.log, 0.8, 0.8, 0.6),
    ("Pow", ""): Rounded(mp.power, 0.6, 0.6, 0.6),
    ("Sigmoid", ""): Rounded(sigmoid, 2.4, 2.4, 2.3),
    ("Sin", ""): Rounded(mp.sin, 0.6, 0.6, 0.6),
    ("Sinh", ""): Rounded(mp.sinh, 1.7, 1.7, 1.6),
    ("Softplus", ""): Rounded(softplus, 1.5, 1.5, 1.5),
    ("Tan", ""): Rounded(mp.tan, 0.8, 0.8, 0.6),
    ("Tanh", ""): Rounded(mp.tanh, 1.4, 2.2, 2.2),
}
# Results at infinities, for +inf and -inf; NaN gives NaN.
AT_INFINITY = {"Acos": (np.nan, np.nan), "Asin": (np.nan, np.nan), "Atanh": (np.nan, np.nan), "Cos": (np.nan, np.nan),
               "Sin": (np.nan, np.nan), "Tan": (np.nan, np.nan), "Acosh": (np.inf, np.nan), "Asinh": (np.inf, -np.inf),
               "Atan": (np.pi / 2, -np.pi / 2), "Cosh": (np.inf, np.inf), "Sinh": (np.inf, -np.inf),
               "Erf": (1, -1), "Exp": (np.inf, 0), "Gelu": (np.inf, np.nan), "Log": (np.inf, np.nan),
               "Sigmoid": (1, 0), "Softplus": (np.inf, 0), "Tanh": (1, -1)}


# Beyond 1e5 they are the operand, or what they are at infinity.
FLAT_FAR_AWAY = {"Erf", "Exp", "Gelu", "Sigmoid", "Softplus", "Tanh"}


# ---- operands

def special_floats(dtype):
    info = np.finfo(dtype)
    sizes = [0, info.smallest_subnormal, 3 * info.smallest_subnormal, info.tiny / 2, info.tiny, info.eps / 2, info.eps,
             0.5, 1, np.nextafter(dtype(1), dtype(2)), 1.5, 2, 2.5, 3, 6, info.max / 2, info.max, np.inf]
    return np.asarray([*sizes, *(-each for each in map(dtype, sizes)), np.nan], dtype)


def floats(dtype, random, count=1500):
    """Of every size, and close to where functions bend, change their formula, overflow and vanish."""
    info = np.finfo(dtype)
    top = float(np.log(info.max))
    edges = np.asarray([0, 0.65, 1, np.sqrt(2), 3, 4, 6, top, -top, np.log(float(info.smallest_subnormal))])
    near = np.concatenate([edge + random.normal(0, scale, count // 60) for edge in [*edges, *-edges]
                           for scale in (1e-6, 1e-2, 1)])
    bits = random.integers(0, 2 ** (8 * info.dtype.itemsize) - 1, count, dtype=f"u{info.dtype.itemsize}").view(dtype)
    with np.errstate(invalid="ignore"):
        return np.concatenate([special_floats(dtype), near, random.normal(0, 1, count), random.normal(0, 10, count),
                               random.uniform(-top, top, count), bits]).astype(dtype)


def operands(name, dtype, random):
    """Columns of operands, with all pairs of special numbers where there are two."""
    if dtype == np.bool_:
        columns = [random.integers(0, 2, 1000).astype(bool) for _ in range(2)]
    elif dtype in (np.int32, np.int64):
        info = np.iinfo(dtype)
        ends = np.asarray([0, 1, -1, 2, info.max, info.min], dtype)
        pairs = np.stack(np.meshgrid(ends, ends), -1).reshape(-1, 2)
        drawn = np.concatenate([random.integers(info.min, info.max, (1000, 2), dtype), random.integers(-3, 3, (1000, 2), dtype)])
        columns = list(np.concatenate([pairs, drawn]).T)
    else:
        special = special_floats(dtype)
        pairs = np.stack(np.meshgrid(special, special), -1).reshape(-1, 2)
        both = np.stack([floats(dtype, random), random.permutation(floats(dtype, random))], 1)
        if name == "Pow":
            positive = np.stack([np.exp(random.normal(0, 3, 4000)), random.normal(0, 10, 4000)], 1)
            whole = np.stack([random.normal(0, 3, 1000), random.integers(-9, 9, 1000)], 1)
            both = np.concatenate([positive, whole]).astype(dtype)
        columns = list(np.concatenate([both, pairs]).T)
    condition = random.integers(0, 2, len(columns[0])).astype(bool)
    return {"Where": [condition, *columns]}.get(name, columns)


# ---- results

@functools.cache
def listed():
    return json.loads(subprocess.run([TOOL, "list"], check=True, capture_output=True).stdout)


def label(function):
    return f"{function['op']} {function['form']} {function['from']} {function['to']}".replace("  ", " ")


@functools.cache
def given():
    """The operands of every function; those of one operand come as they are listed."""
    random = np.random.default_rng(5)
    all_operands = []
    for function in listed()["functions"]:
        columns = operands(function["op"], TYPES[function["from"]], random)
        oracle = EXACT.get(function["op"]) or ROUNDED[function["op"], function["form"]].function
        count = {"Where": 3, "PRelu": 2, "Pow": 2}.get(function["op"])
        count = count or (oracle.nin if isinstance(oracle, np.ufunc) else 1)
        all_operands.append(columns[:count] if count > 1 or len(columns[0]) < 5000 else
                            [np.unique(columns[0].view(f"u{columns[0].itemsize}")).view(columns[0].dtype)])
    return all_operands


@pytest.fixture(scope="module", params=listed()["ways"])
def computed(request, tmp_path_factory):
    """The way, and the results of every function in it."""
    folder = tmp_path_factory.mktemp("accuracy")
    np.savez(folder / "inputs.npz", **{f"{i}/{letter}": np.ascontiguousarray(column) for i, columns in enumerate(given())
                                       for letter, column in zip("abc", columns)})
    subprocess.run([TOOL, request.param, folder / "inputs.npz", folder / "out.npz"], check=True)
    return request.param, np.load(folder / "out.npz")


def extended(number):
    """A number of mpmath with the 64 bits of x86's long double, whatever its exponent."""
    mantissa, exponent = mpmath.frexp(number)
    high = float(mantissa)
    return np.ldexp(np.longdouble(high) + np.longdouble(float(mantissa - high)), int(min(max(exponent, -16000), 16000)))


def truth(op, function, numbers):
    if op == "Log" and numbers[0] == 0:
        return -np.longdouble(np.inf)
    result = function(*(mpmath.mpf(float(number)) for number in numbers))
    return extended(result) if isinstance(result, mpmath.mpf) else np.longdouble(np.nan)


@functools.cache
def truths(index):
    """Which operands of a function are compared with mpmath, and what that gives for them."""
    function, columns = listed()["functions"][index], given()[index]
    chosen = np.logical_and.reduce([np.isfinite(column) for column in columns])
    # Beyond, results are 0, 1, the operand, or larger than any float.
    if function["op"] == "Pow":
        chosen &= (columns[0] != 0) & (np.abs(columns[1]) < 100)
    elif function["op"] == "Atanh":
        chosen &= np.abs(columns[0]) != 1
    elif function["op"] != "Log":
        chosen &= np.abs(columns[0]) < 1e5
    computed_by = ROUNDED[function["op"], function["form"]].function
    with mp.workdps(DIGITS):
        return chosen, np.asarray([truth(function["op"], computed_by, numbers)
                                   for numbers in zip(*(column[chosen] for column in columns))])


def errors(found, wanted, sizes):
    """In units in the last place of `sizes`; what is beyond the largest float counts as the power of two after it."""
    info = np.finfo(found.dtype)
    limit = np.ldexp(np.longdouble(1), info.maxexp)
    found, wanted = np.clip(found.astype(np.longdouble), -limit, limit), np.clip(wanted, -limit, limit)
    exponents = np.frexp(np.clip(np.abs(sizes), info.smallest_subnormal, limit / 2))[1]
    units = np.ldexp(np.longdouble(1), np.maximum(exponents - 1, info.minexp) - info.nmant)
    both_nan, one_nan = np.isnan(found) & np.isnan(wanted), np.isnan(found) ^ np.isnan(wanted)
    return np.where(both_nan, 0, np.where(one_nan, np.inf, np.abs(found - wanted) / units))


# ---- tests

def test_every_function_has_a_bound():
    functions = {(each["op"], each["form"]) for each in listed()["functions"]}
    assert functions == {(op, "") for op in EXACT} | ROUNDED.keys()


@pytest.mark.parametrize("index", [i for i, each in enumerate(listed()["functions"]) if each["op"] in EXACT],
                         ids=lambda i: label(listed()["functions"][i]))
def test_is_exact(computed, index):
    function, columns = listed()["functions"][index], given()[index]
    with np.errstate(all="ignore"):
        wanted = EXACT[function["op"]](*columns).astype(TYPES[function["to"]])
    found = computed[1][str(index)]
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)  # NaN is NaN
    if wanted.dtype.kind == "f" and function["op"] not in ANY_ZERO:
        ordinary = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(found[ordinary]), np.signbit(wanted[ordinary]))


@pytest.mark.parametrize("index", [i for i, each in enumerate(listed()["functions"]) if each["op"] not in EXACT],
                         ids=lambda i: label(listed()["functions"][i]))
def test_is_within_its_bound(computed, index):
    way, results = computed
    function, columns = listed()["functions"][index], given()[index]
    rounded = ROUNDED[function["op"], function["form"]]
    found = results[str(index)]
    chosen, wanted = truths(index)
    assert len(wanted) > 3000
    sizes = columns[0][chosen].astype(np.longdouble) if rounded.of_operand else wanted
    distances = errors(found[chosen], wanted, sizes)
    worst = np.argmax(distances)
    operands_there = [column[chosen][worst] for column in columns]
    print(f"{label(function)} in {way}: {distances[worst]:.3f} at {operands_there}")
    assert distances[worst] <= rounded.bound(way, found.dtype), operands_there


@pytest.mark.parametrize("index", [i for i, each in enumerate(listed()["functions"]) if each["op"] in AT_INFINITY],
                         ids=lambda i: label(listed()["functions"][i]))
def test_far_away(computed, index):
    """Beyond 1e5, at the infinities and for NaN."""
    function, x = listed()["functions"][index], given()[index][0]
    found = computed[1][str(index)]
    high, low = AT_INFINITY[function["op"]]
    assert np.isnan(found[np.isnan(x)]).all()
    np.testing.assert_array_equal(found[x == np.inf], found.dtype.type(high))
    np.testing.assert_array_equal(found[x == -np.inf], found.dtype.type(low))
    if function["op"] not in FLAT_FAR_AWAY:
        return
    far = np.isfinite(x) & (np.abs(x) >= 1e5)
    assert far.sum() > 100
    wanted = np.where(x > 0, x if high == np.inf else high, 0 if np.isnan(low) else low)
    if function["op"] == "Exp":
        wanted = np.where(x > 0, np.inf, 0)
    np.testing.assert_array_equal(found[far], wanted[far])


@pytest.mark.parametrize("index", [i for i, each in enumerate(listed()["functions"]) if each["op"] == "Pow"],
                         ids=lambda i: label(listed()["functions"][i]))
def test_powers_that_are_no_numbers_or_ends(computed, index):
    """Of zeros, infinities, NaN, and where results overflow or vanish: as C and NumPy have it."""
    (base, exponent), found = given()[index], computed[1][str(index)]
    with np.errstate(all="ignore"):
        wanted = np.power(base, exponent)
    ends = np.isin(wanted, [0, 1, np.inf, -np.inf]) | np.isnan(wanted)
    assert ends.sum() > 500
    np.testing.assert_array_equal(found[ends], wanted[ends])
