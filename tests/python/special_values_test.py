"""Numbers at the edges: infinities, NaN, zeros of both signs, the smallest and the largest, integers that
overflow. NumPy says what is right, for plans and for the reference kernels."""

import math

import numpy as np
import pytest

import onward

HEADER = '<ir_version: 10, opset_import: ["" : 21, "ai.onnx.preview.training" : 1]>\n'
TYPES = {"float": np.float32, "double": np.float64}
NAMES = {np.float32: "float", np.float64: "double", np.bool_: "bool", np.int8: "int8", np.int16: "int16",
         np.int32: "int32", np.int64: "int64", np.uint8: "uint8", np.uint16: "uint16", np.uint32: "uint32",
         np.uint64: "uint64"}
ONNX_TYPES = {np.float32: 1, np.uint8: 2, np.int8: 3, np.uint16: 4, np.int16: 5, np.int32: 6, np.int64: 7,
              np.bool_: 9, np.float64: 11, np.uint32: 12, np.uint64: 13}
WAYS = ["plan", "reference"]
ERF = np.vectorize(math.erf, otypes=[np.float64])


def specials(dtype):
    info = np.finfo(dtype)
    return np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1, -1, 0.5, -2.5, 3, 1e-8, -30, 20, 88.7, 88.8, -87.5, -103.5,
                     -104.5, 1e4, -1e9, info.max, info.min, info.tiny, -info.tiny, info.smallest_subnormal,
                     -info.smallest_subnormal], dtype)


def named(array):
    dims = ",".join(map(str, array.shape))
    return NAMES[array.dtype.type] + (f"[{dims}]" if array.shape else "")


def run(nodes, way, gives=None, **inputs):
    """The graph's y, by default of the first input's type. A shape that depends on data sends all nodes to the
    reference kernels."""
    gives = gives or next(iter(inputs.values())).dtype.type
    declared = [f"{named(array)} {name}" for name, array in inputs.items()]
    result = f"{NAMES[gives]}[] y"
    if way == "reference":
        declared.append("bool[2] some")
        nodes += "\n  places = NonZero(some)"
        result += ", int64[] places"
        inputs["some"] = np.array([True, False])
    model = onward.parse(f"{HEADER}g ({', '.join(declared)}) => ({result}) {{\n  {nodes}\n}}")
    return onward.Trainer(model, threads=1).infer(inputs)["y"]


def expect(given, expected, rtol, atol=0.0):
    assert given.dtype == expected.dtype
    atol = max(atol, 2 * float(np.finfo(expected.dtype).smallest_subnormal))
    np.testing.assert_allclose(given, expected, rtol=rtol, atol=atol, equal_nan=True)


def tolerance(dtype):
    return 1e-6 if dtype == np.float32 else 1e-14


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


UNARY = {  # of float64
    "Abs(x)": np.abs,
    "Erf(x)": ERF,
    "Exp(x)": np.exp,
    "Gelu(x)": lambda x: 0.5 * x * (1 + ERF(x / math.sqrt(2))),
    "Gelu<approximate = \"tanh\">(x)": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "Identity(x)": lambda x: x,
    "LeakyRelu<alpha = 0.25>(x)": lambda x: np.where(x < 0, 0.25 * x, x),
    "Log(x)": np.log,
    "Neg(x)": np.negative,
    "Reciprocal(x)": lambda x: 1 / x,
    "Relu(x)": lambda x: np.maximum(x, 0),
    "Sigmoid(x)": lambda x: np.exp(-np.logaddexp(0, -x)),
    "Sign(x)": np.sign,
    "Softplus(x)": lambda x: np.logaddexp(0, x),
    "Sqrt(x)": np.sqrt,
    "Tanh(x)": np.tanh,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", TYPES.values(), ids=TYPES)
@pytest.mark.parametrize("call", UNARY)
def test_of_one_number(call, dtype, way):
    x = np.repeat(specials(dtype), 3)  # so that each stands in vectors and in what is left of them
    expected = UNARY[call](x.astype(np.float64)).astype(dtype)
    # 1 + erf(x) cancels far below zero, in every runtime.
    expect(run(f"y = {call}", way, x=x), expected, 4 * tolerance(dtype), 1e-6 if "Gelu" in call else 0)


BINARY = {
    "Add(a, b)": np.add,
    "Sub(a, b)": np.subtract,
    "Mul(a, b)": np.multiply,
    "Div(a, b)": np.divide,
    "Pow(a, b)": np.power,
    "Max(a, b)": np.maximum,
    "Min(a, b)": np.minimum,
    "Sum(a, b, a)": lambda a, b: a + b + a,
    "Equal(a, b)": np.equal,
    "Less(a, b)": np.less,
    "Greater(a, b)": np.greater,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", TYPES.values(), ids=TYPES)
@pytest.mark.parametrize("call", BINARY)
def test_of_two_numbers(call, dtype, way):
    a, b = (side.ravel() for side in np.meshgrid(specials(dtype), specials(dtype)))
    expected = BINARY[call](a, b)
    given = run(f"y = {call}", way, expected.dtype.type, a=a, b=b)
    if expected.dtype == bool:
        assert np.array_equal(given, expected)
    else:
        expect(given, expected, tolerance(dtype))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("low, high", [(-1, 2), (2, -1), (np.nan, 2), (-1, np.nan), (-np.inf, np.inf)])
def test_clip(low, high, way):
    x = specials(np.float32)
    low, high = np.float32(low), np.float32(high)
    expected = np.minimum(np.maximum(x, low), high)
    expect(run("y = Clip(x, low, high)", way, x=x, low=np.array(low), high=np.array(high)), expected, 0)


def rows(dtype):
    """A special number at each place of rows that are shorter and longer than vectors."""
    for length in [1, 3, 33, 40]:
        for special in specials(dtype)[:5]:
            for place in {0, length // 2, length - 1}:
                row = np.linspace(-3, 3, length).astype(dtype)
                row[place] = special
                yield row


REDUCTIONS = {"ReduceMax": np.max, "ReduceMean": np.mean, "ReduceProd": np.prod, "ReduceSum": np.sum}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", TYPES.values(), ids=TYPES)
@pytest.mark.parametrize("op", REDUCTIONS)
def test_reductions(op, dtype, way):
    for row in rows(dtype):
        for x, axis in [(row, 0), (np.stack([row, row], 1), 0)]:
            expected = REDUCTIONS[op](x.astype(np.float64), axis=axis).astype(dtype)
            given = run(f"axes = Constant<value_ints = [{axis}]>()\n  y = {op}<keepdims = 0>(x, axes)", way, x=x)
            expect(np.asarray(given), np.asarray(expected), 1e-5 if dtype == np.float32 else 1e-13, 1e-5)


def log_softmax(x):
    x = x.astype(np.float64)
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


LOGITS = np.float64([[0.1, 0.7, -0.3, 1.2]])
SHIFTS = [0, 1e3, 1e4, 1e5, 1e6, 1e7, -1e6, -1e9, 1e30]


def logits(dtype):
    inf, nan = np.inf, np.nan
    edges = [[inf, 0, 1, 2], [-inf, -inf, -inf, -inf], [-inf, 0, 1, -inf], [nan, 0, 1, 2], [0, 1, 2, nan],
             [1e30, 0, -1e30, 5], [inf, -inf, 0, 1]]
    return np.concatenate([LOGITS + shift for shift in SHIFTS] + [np.float64(edges)]).astype(dtype)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", TYPES.values(), ids=TYPES)
def test_softmax(dtype, way):
    x = logits(dtype)
    expected = log_softmax(x)
    for axis, turn in [(1, lambda a: a), (0, lambda a: np.ascontiguousarray(a.T))]:
        given = run(f"y = LogSoftmax<axis = {axis}>(x)", way, x=turn(x))
        expect(given, turn(expected).astype(dtype), tolerance(dtype), tolerance(dtype))
        given = run(f"y = Softmax<axis = {axis}>(x)", way, x=turn(x))
        expect(given, turn(np.exp(expected)).astype(dtype), 4 * tolerance(dtype), tolerance(dtype))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", TYPES.values(), ids=TYPES)
def test_cross_entropy(dtype, way):
    x = logits(dtype)
    labels = np.arange(len(x)) % 4
    expected = -log_softmax(x)[np.arange(len(x)), labels]
    given = run('y = SoftmaxCrossEntropyLoss<reduction = "none">(x, labels)', way, x=x, labels=labels)
    expect(given, expected.astype(dtype), tolerance(dtype), tolerance(dtype))


def gradient(nodes, loss_nodes, x, **others):
    """The gradient of the sum of "loss" by x, in a plan."""
    declared = ", ".join(f"{named(array)} {name}" for name, array in {"x": x, **others}.items())
    kind = NAMES[x.dtype.type]
    model = onward.parse(f"""{HEADER}g ({declared}) => ({kind}[] dx) {{
  {nodes} {loss_nodes}
  dx = ai.onnx.preview.training.Gradient<xs = ["x"], y = "loss">(x)
}}""")
    return onward.Trainer(model, threads=1).infer({"x": x, **others})["dx"]


@pytest.mark.parametrize("dtype", TYPES.values(), ids=TYPES)
def test_gradients_of_large_logits(dtype):
    x = logits(dtype)[:len(SHIFTS)]
    labels = np.arange(len(x)) % 4
    expected = np.exp(log_softmax(x))
    expected[np.arange(len(x)), labels] -= 1
    for nodes in ['y = SoftmaxCrossEntropyLoss<reduction = "sum">(x, labels)',
                  'p = LogSoftmax(x) y = NegativeLogLikelihoodLoss<reduction = "sum">(p, labels)']:
        given = gradient(nodes, "loss = Identity(y)", x, labels=labels)
        expect(given, expected.astype(dtype), 4 * tolerance(dtype), 4 * tolerance(dtype))


@pytest.mark.parametrize("channels", [1, 8, 11])
def test_max_pool_hands_nan_on(channels):
    random = np.random.default_rng(0)
    x = random.normal(size=(2, channels, 6, 6)).astype(np.float32)
    x[random.random(x.shape) < 0.15] = np.nan
    x[random.random(x.shape) < 0.1] = -np.inf
    windows = x.reshape(2, channels, 3, 2, 3, 2).transpose(0, 1, 2, 4, 3, 5).reshape(2, channels, 3, 3, 4)
    expected = windows.max(-1)  # NaN where there is one
    pool = "y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x)"
    for way in WAYS:
        expect(run(pool, way, x=x), expected, 0)
    # The gradient goes to the last NaN of a window, as in PyTorch.
    spread = np.zeros_like(windows)
    for at in np.ndindex(expected.shape):
        window = windows[at]
        nans = np.flatnonzero(np.isnan(window))
        spread[at][nans[-1] if len(nans) else window.argmax()] = 1
    back = spread.reshape(2, channels, 3, 3, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(x.shape)
    assert np.array_equal(gradient(pool, "loss = Identity(y)", x), back)


INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda dtype: dtype.__name__)
def test_integers_wrap(dtype, way):
    info = np.iinfo(dtype)
    edges = np.array([info.min, info.max, info.max // 2 + 3, 0, 1, 2, 7], dtype)
    a, b = (side.ravel() for side in np.meshgrid(edges, edges))
    for op, of in [("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Max", np.maximum),
                   ("Min", np.minimum)]:
        assert np.array_equal(run(f"y = {op}(a, b)", way, a=a, b=b), of(a, b)), op
    if info.bits >= 32:
        for op, of in [("ReduceSum", np.sum), ("ReduceProd", np.prod)]:
            assert np.array_equal(run(f"y = {op}<keepdims = 0>(a)", way, a=a), of(a, dtype=dtype)), op
        square = edges[:4].reshape(2, 2)
        assert np.array_equal(run("y = MatMul(a, b)", way, a=square, b=square), square @ square)
    if info.bits != 16:
        assert run("y = ReduceMax<keepdims = 0>(a)", way, a=a) == info.max
    if info.min < 0:
        assert np.array_equal(run("y = Neg(a)", way, a=edges), np.negative(edges))
    assert np.array_equal(run("y = Abs(a)", way, a=edges), np.abs(edges))
    assert np.array_equal(run("y = Sign(a)", way, a=edges), np.sign(edges))
    divisors = np.array([1, 2, 7, info.max, info.max, 3, 1 if info.min == 0 else -1], dtype)
    dividends = np.array([info.min, info.max, 7, 6, info.max, 8, info.min], dtype)
    truncated = [int(n) // int(d) if n * d >= 0 else -(-int(n) // int(d)) for n, d in
                 zip(dividends.astype(object), divisors.astype(object))]
    expected = np.array(truncated, object)
    expected = np.array([(int(n) - info.min) % (info.max - info.min + 1) + info.min for n in expected], dtype)
    assert np.array_equal(run("y = Div(a, b)", way, a=dividends, b=divisors), expected)
    with pytest.raises(onward.Error, match="an integer is divided by zero"):
        run("y = Div(a, b)", way, a=edges, b=np.zeros_like(edges))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_powers_of_integers(dtype, way):
    base = np.array([2, 3, -3, 10, 0, 1, -1, -1, 7, 2], dtype)
    exponent = np.array([10, 5, 3, 9, 0, -4, -3, -4, -1, 70], dtype)
    expected = [1024, 243, -27, 10**9, 1, 1, -1, 1, 0, 0]
    assert run("y = Pow(a, b)", way, a=base, b=exponent).tolist() == expected
    with pytest.raises(onward.Error, match="zero is raised to a negative power"):
        run("y = Pow(a, b)", way, a=np.zeros(1, dtype), b=np.full(1, -1, dtype))


# The fraction is cut off, and what does not fit is as on x86-64.
CAST = [-1.5, -0.5, 0.99, 127.9, 255.5, 256.75, 300.25, -129.5, 70000.5, 3e9, np.nan, np.inf, -np.inf, 1e30]
LOWEST_32, LOWEST_64 = -2**31, -2**63
CASTS = {
    np.int8: [-1, 0, 0, 127, -1, 0, 44, 127, 112, 0, 0, 0, 0, 0],
    np.uint8: [255, 0, 0, 127, 255, 0, 44, 127, 112, 0, 0, 0, 0, 0],
    np.int16: [-1, 0, 0, 127, 255, 256, 300, -129, 4464, 0, 0, 0, 0, 0],
    np.uint16: [65535, 0, 0, 127, 255, 256, 300, 65407, 4464, 0, 0, 0, 0, 0],
    np.int32: [-1, 0, 0, 127, 255, 256, 300, -129, 70000, *[LOWEST_32] * 5],
    np.uint32: [2**32 - 1, 0, 0, 127, 255, 256, 300, 2**32 - 129, 70000, 3 * 10**9, 0, 0, 0, 0],
    np.int64: [-1, 0, 0, 127, 255, 256, 300, -129, 70000, 3 * 10**9, *[LOWEST_64] * 4],
    np.uint64: [2**64 - 1, 0, 0, 127, 255, 256, 300, 2**64 - 129, 70000, 3 * 10**9, 2**63, 0, 2**63, 0],
    np.bool_: [True] * len(CAST),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", TYPES.values(), ids=TYPES)
@pytest.mark.parametrize("to", CASTS, ids=lambda to: to.__name__)
def test_casts_of_floats(to, dtype, way):
    given = run(f"y = Cast<to = {ONNX_TYPES[to]}>(x)", way, to, x=np.array(CAST, dtype))
    assert given.dtype == to and given.tolist() == CASTS[to]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("to", INTEGERS, ids=lambda to: to.__name__)
@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda dtype: dtype.__name__)
def test_casts_of_integers(dtype, to, way):
    info = np.iinfo(dtype)
    x = np.array([info.min, info.max, 0, 1, 100, info.max // 3], dtype)
    assert np.array_equal(run(f"y = Cast<to = {ONNX_TYPES[to]}>(x)", way, to, x=x), x.astype(to))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", TYPES.values(), ids=TYPES)
@pytest.mark.parametrize("factor", ["alpha", "beta"])
def test_a_factor_of_zero_keeps_nan(factor, dtype, way):
    a, b = np.ones((2, 3), dtype), np.ones((3, 4), dtype)
    c = np.ones((2, 4), dtype)
    (a if factor == "alpha" else c)[0, 1] = np.nan
    y = run(f"y = Gemm<{factor} = 0.0>(a, b, c)", way, a=a, b=b, c=c)
    rest = 1 if factor == "alpha" else 3
    expected = np.full((2, 4), rest, dtype)
    expected[0, slice(None) if factor == "alpha" else 1] = np.nan
    expect(y, expected, tolerance(dtype))


@pytest.mark.parametrize("way", WAYS)
def test_reductions_of_nothing(way):
    def reduced(op, dtype):
        return run(f"axes = Constant<value_ints = [0]>()\n  y = {op}<keepdims = 0>(x, axes)", way,
                   x=np.zeros((0, 2), dtype)).tolist()

    assert reduced("ReduceSum", np.float32) == [0, 0] and reduced("ReduceProd", np.float32) == [1, 1]
    assert reduced("ReduceMax", np.float32) == [-np.inf] * 2
    assert reduced("ReduceMax", np.int8) == [-128] * 2 and reduced("ReduceMax", np.int32) == [LOWEST_32] * 2
    assert reduced("ReduceMax", np.uint8) == [0] * 2
    assert np.isnan(reduced("ReduceMean", np.float32)).all()
    with pytest.raises(onward.Error, match="there is no mean of no integers"):
        reduced("ReduceMean", np.int32)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", TYPES.values())
def test_lines_of_a_dft_do_not_reach_each_other(dtype, way):
    """Not even their rounding errors, where one is larger by far than its neighbour."""
    lines = np.random.default_rng(0).normal(0, 1, (6, 12)).astype(dtype)
    lines[1] *= dtype(1e25)
    lines[2, 5] = np.nan
    lines[4, 0] = np.inf
    given = run("y = DFT(x)", way, x=lines[:, :, None])
    for line in (0, 1, 3, 5):
        wanted = np.fft.fft(lines[line].astype(np.float64))
        np.testing.assert_allclose(given[line, :, 0] + 1j * given[line, :, 1], wanted,
                                   atol=8 * np.finfo(dtype).eps * np.abs(wanted).max())
