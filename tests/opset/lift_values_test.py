"""Lifted models compute what the old ones did: old forms against ONNX's reference implementation of
their version, or, where that has none, against the old text of the standard written in numpy."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

import onward.backend

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from program import own_environment  # noqa: E402

TOOL = pathlib.Path(os.environ["ONWARD_TOOLS"]) / "lift_tool"
BACKEND_DATA = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data"


def lifted(model, folder):
    before, after = folder / "before.onnx", folder / "after.onnx"
    onnx.save(model, before)
    done = subprocess.run([TOOL, before, after], capture_output=True, text=True, check=False, env=own_environment())
    assert done.returncode == 0, done.stderr
    result = onnx.load(after)
    onnx.checker.check_model(result, full_check=True)
    assert {o.domain: o.version for o in result.opset_import}[""] == onnx.defs.onnx_opset_version()
    return result


def floats(*shape, seed=1):
    return np.random.RandomState(seed).standard_normal(shape).astype(np.float32)


def softmax_of_rows(x, axis):
    rows = x.reshape(int(np.prod(x.shape[:axis])), -1)
    e = np.exp(rows - rows.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True)).reshape(x.shape)


def below(a, b, axis):
    """B's first dimension below dimension `axis` of A."""
    return b.reshape(b.shape + (1,) * (a.ndim - axis - b.ndim))


def normalize(x, s, b, m, v):
    s, b, m, v = (t.reshape(-1, *(1,) * (x.ndim - 2)) for t in (s, b, m, v))
    return s * (x - m) / np.sqrt(v + np.float32(1e-5)) + b


def hot(i, d, v):
    return np.where(np.arange(d) == i[..., None], v[1], v[0])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gates_of(x, w, r, b, h, names):
    """What goes into each gate: R is laid out as W, and transposed as it is."""
    inputs, states = np.split(x @ w[0].T + b[0, :len(w[0])], names, -1), np.split(h @ r[0].T + b[0, len(w[0]):], names, -1)
    return list(zip(inputs, states))


def rnn(x, w, r, b):
    h = np.zeros((x.shape[1], r.shape[2]), np.float32)
    for t in x:
        [(i, s)] = gates_of(t, w, r, b, h, 1)
        h = np.tanh(i + s)
    return h[None]


def gru(x, w, r, b, linear):
    h, all_h = np.zeros((x.shape[1], r.shape[2]), np.float32), []
    for t in x:
        (zi, zs), (ri, rs), (hi, hs) = gates_of(t, w, r, b, h, 3)
        z, reset = sigmoid(zi + zs), sigmoid(ri + rs)
        n, bias = len(h[0]), b[0, -len(h[0]):]
        candidate = np.tanh(hi + (reset * hs if linear else (reset * h) @ r[0, -n:].T + bias))
        h = (1 - z) * candidate + z * h
        all_h.append(h[None])
    return np.stack(all_h)


def lstm(x, w, r, b):
    h = c = np.zeros((x.shape[1], r.shape[2]), np.float32)
    for t in x:
        i, o, f, g = (each + state for each, state in gates_of(t, w, r, b, h, 4))
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
    return h[None], c[None]


def scan_sums(n, s, x, backward=False):
    """The sums of each sequence so far, and zeros behind its end."""
    last, all_sums = s.copy(), np.zeros_like(x)
    for i, length in enumerate(n):
        for t, row in enumerate(x[i, :length][::-1] if backward else x[i, :length]):
            last[i] += row
            all_sums[i, t] = last[i]
    return last, all_sums


def group_normalize(x, s, b):
    groups = x.reshape(len(x), len(s), -1)
    y = (groups - groups.mean(-1, keepdims=True)) / np.sqrt(groups.var(-1, keepdims=True) + np.float32(1e-5))
    return (y * s[:, None] + b[:, None]).reshape(x.shape)


def recurrent(gates):
    return [floats(4, 2, 3), floats(1, gates * 5, 3, seed=2), floats(1, gates * 5, 5, seed=3), floats(1, gates * 10, seed=4)]


def recurrent_signature(gates, outputs):
    return f"(float[4,2,3] x, float[1,{gates * 5},3] w, float[1,{gates * 5},5] r, float[1,{gates * 10}] b) => ({outputs})"


SUM_BODY = "body = step (float[3] a, float[3] e) => (float[3] t, float[3] o) { t = Add(a, e) o = Identity(t) }"
NEGATIVE = np.array([-1, 0, 2, 7], dtype=np.int64)
NORM = (floats(2, 3, 4), floats(3), floats(3, seed=2), floats(3, seed=3), np.abs(floats(3, seed=4)))
NORM_SIGNATURE = "(float[2,3,4] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[2,3,4] y)"

# name, opset, signature, nodes, inputs, what the old text says (None: the reference implementation)
CASES = [
    ("relu consumed", 1, "(float[2,3] x) => (float[2,3] y)", "y = Relu<consumed_inputs=[0]>(x)",
     [floats(2, 3)], lambda x: np.maximum(x, 0)),
    ("selu", 1, "(float[2,3] x) => (float[2,3] y)", "y = Selu(x)", [floats(2, 3)],
     lambda x: np.float32(1.0507) * np.where(x > 0, x, np.float32(1.6732) * (np.exp(x) - 1))),
    ("add axis 1", 6, "(float[2,3,4,5] a, float[3] b) => (float[2,3,4,5] y)",
     "y = Add<broadcast=1, axis=1>(a, b)", [floats(2, 3, 4, 5), floats(3)],
     lambda a, b: a + below(a, b, 1)),
    ("sub axis 0", 1, "(float[2,3] a, float[2] b) => (float[2,3] y)",
     "y = Sub<broadcast=1, axis=0>(a, b)", [floats(2, 3), floats(2)],
     lambda a, b: a - below(a, b, 0)),
    ("mul axis 1 of two", 6, "(float[2,3,4,5] a, float[3,4] b) => (float[2,3,4,5] y)",
     "y = Mul<broadcast=1, axis=1>(a, b)", [floats(2, 3, 4, 5), floats(3, 4)],
     lambda a, b: a * below(a, b, 1)),
    ("div suffix", 6, "(float[2,3] a, float[3] b) => (float[2,3] y)", "y = Div<broadcast=1>(a, b)",
     [floats(2, 3), floats(3) + 3], lambda a, b: a / b),
    ("pow one element", 1, "(float[2,3] a, float[1,1] b) => (float[2,3] y)",
     "y = Pow<broadcast=1, axis=0>(a, b)", [np.abs(floats(2, 3)), np.full((1, 1), 2, np.float32)],
     lambda a, b: a**b),
    ("less axis 0", 1, "(float[2,3] a, float[2] b) => (bool[2,3] y)",
     "y = Less<broadcast=1, axis=0>(a, b)", [floats(2, 3), floats(2, seed=3)],
     lambda a, b: a < below(a, b, 0)),
    ("prelu channels", 6, "(float[2,3,4] x, float[3] s) => (float[2,3,4] y)", "y = PRelu(x, s)",
     [floats(2, 3, 4), floats(3)], lambda x, s: np.where(x < 0, s.reshape(3, 1) * x, x)),
    ("clip", 6, "(float[9] x) => (float[9] y)", "y = Clip<min=-0.5, max=0.25>(x)", [floats(9)],
     None),
    ("clip doubles", 6, "(double[9] x) => (double[9] y)", "y = Clip<min=-0.1>(x)",
     [floats(9).astype(np.float64)], lambda x: np.maximum(x, np.float64(np.float32(-0.1)))),
    ("clip halves", 6, "(float16[9] x) => (float16[9] y)", "y = Clip<max=0.1>(x)",
     [floats(9).astype(np.float16)], lambda x: np.minimum(x, np.float16(0.1))),
    ("cast by name", 1, "(float[9] x) => (int32[9] y)", 'y = Cast<to="INT32">(x)', [floats(9) * 9],
     lambda x: x.astype(np.int32)),
    ("concat", 1, "(float[2,3] a, float[2,3] b) => (float[2,6] y)", "y = Concat(a, b)",
     [floats(2, 3), floats(2, 3, seed=2)], lambda a, b: np.concatenate([a, b], axis=1)),
    ("reshape", 1, "(float[2,3] x) => (float[3,2] y)", "y = Reshape<shape=[3,-1]>(x)",
     [floats(2, 3)], lambda x: x.reshape(3, 2)),
    ("reshape that keeps a dimension", 1, "(float[2,3,4] x) => (float[2,12] y)",
     "y = Reshape<shape=[0,-1]>(x)", [floats(2, 3, 4)], lambda x: x.reshape(2, 12)),
    ("slice", 1, "(float[4,5] x) => (float[2,3] y)",
     "y = Slice<starts=[1,-4], ends=[-1,4], axes=[0,1]>(x)", [floats(4, 5)], None),
    ("slice far end", 9, "(float[4,5] x) => (float[4,4] y)",
     "y = Slice<starts=[1], ends=[2147483647], axes=[1]>(x)", [floats(4, 5)], None),
    ("split equal", 2, "(float[4,6] x) => (float[4,3] a, float[4,3] b)", "a, b = Split<axis=1>(x)",
     [floats(4, 6)], None),
    ("split sizes", 11, "(float[4,6] x) => (float[1,6] a, float[3,6] b)",
     "a, b = Split<split=[1,3]>(x)", [floats(4, 6)], None),
    ("squeeze", 1, "(float[1,5,1] x) => (float[5,1] y)", "y = Squeeze<axes=[0]>(x)",
     [floats(1, 5, 1)], None),
    ("squeeze all", 11, "(float[1,5,1] x) => (float[5] y)", "y = Squeeze(x)", [floats(1, 5, 1)],
     None),
    ("unsqueeze", 11, "(float[5] x) => (float[1,5,1] y)", "y = Unsqueeze<axes=[0,-1]>(x)",
     [floats(5)], None),
    ("pad constant", 2, "(float[3,2] x) => (float[3,5] y)", "y = Pad<pads=[0,2,0,1], value=7.0>(x)",
     [floats(3, 2)], lambda x: np.pad(x, ((0, 0), (2, 1)), constant_values=7)),
    ("pad reflect", 2, "(float[3,4] x) => (float[5,4] y)",
     'y = Pad<pads=[1,0,1,0], mode="reflect">(x)', [floats(3, 4)],
     lambda x: np.pad(x, ((1, 1), (0, 0)), mode="reflect")),
    ("topk", 1, "(float[3,5] x) => (float[3,2] v, int64[3,2] i)", "v, i = TopK<k=2>(x)",
     [floats(3, 5)], None),
    ("onehot", 9, "(int64[4] i, int64 d, float[2] v) => (float[4,3] y)", "y = OneHot(i, d, v)",
     [NEGATIVE, np.array(3, np.int64), np.array([-1, 5], np.float32)], hot),
    ("onehot of floats", 9, "(float[4] i, int64 d, float[2] v) => (float[4,3] y)",
     "y = OneHot(i, d, v)",
     [NEGATIVE.astype(np.float32), np.array(3, np.int64), np.array([0, 1], np.float32)], hot),
    ("scatter", 9, "(float[3,3] x, int64[1,3] i, float[1,3] u) => (float[3,3] y)",
     "y = Scatter<axis=1>(x, i, u)",
     [floats(3, 3), np.array([[2, 0, 1]], np.int64), floats(1, 3, seed=2)],
     lambda x, i, u: np.concatenate([u[:, [1, 2, 0]], x[1:]])),
    ("reduce sum", 1, "(float[3,4] x) => (float[3] y)", "y = ReduceSum<axes=[1], keepdims=0>(x)",
     [floats(3, 4)], None),
    ("reduce mean all", 13, "(float[3,4] x) => (float[1,1] y)", "y = ReduceMean(x)",
     [floats(3, 4)], None),
    ("reduce max", 11, "(float[3,4] x) => (float[1,4] y)", "y = ReduceMax<axes=[-2]>(x)",
     [floats(3, 4)], None),
    ("reduce log sum exp", 13, "(float[3,4] x) => (float[3,1] y)",
     "y = ReduceLogSumExp<axes=[1]>(x)", [floats(3, 4)], None),
    ("softmax matrix", 1, "(float[3,4] x) => (float[3,4] y)", "y = Softmax(x)", [floats(3, 4)],
     lambda x: softmax_of_rows(x, 1)),
    ("softmax coerced", 7, "(float[2,3,4] x) => (float[2,3,4] y)", "y = Softmax(x)",
     [floats(2, 3, 4)], lambda x: softmax_of_rows(x, 1)),
    ("softmax axis 0", 11, "(float[2,3,4] x) => (float[2,3,4] y)", "y = Softmax<axis=0>(x)",
     [floats(2, 3, 4)], lambda x: softmax_of_rows(x, 0)),
    ("softmax negative axis", 11, "(float[2,3,4] x) => (float[2,3,4] y)", "y = Softmax<axis=-2>(x)",
     [floats(2, 3, 4)], lambda x: softmax_of_rows(x, 1)),
    ("softmax unknown rank", 12, "(float[6,4] x, int64[r] s) => (float[a,b,c] y)",
     "z = Reshape(x, s) y = Softmax<axis=1>(z)", [floats(6, 4), np.array([2, 3, 4])],
     lambda x, s: softmax_of_rows(x.reshape(s), 1)),
    ("log softmax", 11, "(float[2,3,4] x) => (float[2,3,4] y)", "y = LogSoftmax(x)",
     [floats(2, 3, 4)], lambda x: np.log(softmax_of_rows(x, 1))),
    ("hardmax", 11, "(float[2,3] x) => (float[2,3] y)", "y = Hardmax<axis=0>(x)", [floats(2, 3)],
     lambda x: (np.arange(6) == x.argmax()).reshape(2, 3).astype(np.float32)),
    ("gemm", 6, "(float[2,3] a, float[4,3] b, float[4] c) => (float[2,4] y)",
     "y = Gemm<broadcast=1, transB=1, alpha=0.5, beta=2.0>(a, b, c)",
     [floats(2, 3), floats(4, 3), floats(4)],
     lambda a, b, c: np.float32(0.5) * a @ b.T + 2 * c),
    ("max pool", 1, "(float[1,1,6,6] x) => (float[1,1,3,3] y)",
     "y = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x)", [floats(1, 1, 6, 6)], None),
    ("max pool ceil", 10, "(float[1,1,6] x) => (float[1,1,4] y)",
     "y = MaxPool<kernel_shape=[3], strides=[2], pads=[1,1], ceil_mode=1>(x)", [floats(1, 1, 6)],
     None),
    ("max pool whose last window would begin in the padding", 10,
     "(float[1,1,7] x) => (float[1,1,4] y)",
     "y = MaxPool<kernel_shape=[2], strides=[2], pads=[1,1], ceil_mode=1>(x)", [floats(1, 1, 7)],
     lambda x: np.stack([x[..., 0], *(x[..., i:i + 2].max(-1) for i in (1, 3, 5))], axis=-1)),
    ("average pool whose last window would begin in the padding", 19,
     "(float[1,1,7] x) => (float[1,1,4] y)",
     "y = AveragePool<kernel_shape=[2], strides=[2], pads=[1,1], ceil_mode=1, count_include_pad=1>(x)",
     [floats(1, 1, 7)],
     lambda x: np.stack([x[..., 0] / 2, *(x[..., i:i + 2].mean(-1) for i in (1, 3, 5))], axis=-1)),
    ("average pool", 1, "(float[1,1,4] x) => (float[1,1,5] y)",
     "y = AveragePool<kernel_shape=[2], pads=[1,1]>(x)", [floats(1, 1, 4)],
     lambda x: np.stack([x[..., 0], x[..., :2].mean(-1), x[..., 1:3].mean(-1),
                         x[..., 2:].mean(-1), x[..., 3]], axis=-1)),
    ("batch normalization 1", 1, NORM_SIGNATURE,
     "y = BatchNormalization<is_test=1, consumed_inputs=[0,0,0,1,1]>(x, s, b, m, v)", NORM,
     normalize),
    ("batch normalization 7", 7, NORM_SIGNATURE, "y = BatchNormalization(x, s, b, m, v)", NORM,
     normalize),
    ("batch normalization 9", 9, NORM_SIGNATURE, "y = BatchNormalization(x, s, b, m, v)", NORM,
     normalize),
    ("dropout 6", 6, "(float[4] x) => (float[4] y)", "y = Dropout<is_test=1, ratio=0.9>(x)",
     [floats(4)], lambda x: x),
    ("dropout 10", 10, "(float[4] x) => (float[4] y)", "y, m = Dropout<ratio=0.9>(x)",
     [floats(4)], lambda x: x),
    ("lp pool", 1, "(float[1,2,3] x) => (float[1,2,1] y)", "y = LpPool<kernel_shape=[3], p=3.0>(x)",
     [floats(1, 2, 3)], lambda x: (np.abs(x) ** 3).sum(axis=2, keepdims=True) ** (1 / 3)),
    ("grid sample", 16, "(float[1,1,4,4] x, float[1,2,2,2] g) => (float[1,1,2,2] y)",
     "y = GridSample(x, g)", [floats(1, 1, 4, 4), floats(1, 2, 2, 2) / 3], None),
    ("batch normalization of every place", 7,
     "(float[2,3,4] x, float[3,4] s, float[3,4] b, float[3,4] m, float[3,4] v) => (float[2,3,4] y)",
     "y = BatchNormalization<spatial=0>(x, s, b, m, v)",
     [floats(2, 3, 4), floats(3, 4), floats(3, 4, seed=2), floats(3, 4, seed=3), np.abs(floats(3, 4, seed=4))],
     lambda x, s, b, m, v: s * (x - m) / np.sqrt(v + np.float32(1e-5)) + b),
    ("batch normalization of every place 6", 6,
     "(float[2,3] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[2,3] y)",
     "y = BatchNormalization<spatial=0, is_test=1, epsilon=0.25>(x, s, b, m, v)", [floats(2, 3), *NORM[1:]],
     lambda x, s, b, m, v: s * (x - m) / np.sqrt(v + np.float32(0.25)) + b),
    ("group normalization", 18, "(float[2,4,3] x, float[2] s, float[2] b) => (float[2,4,3] y)",
     "y = GroupNormalization<num_groups=2>(x, s, b)", [floats(2, 4, 3), floats(2), floats(2, seed=2)], group_normalize),
    ("tile", 1, "(float[2,3] x, float t, float a) => (float[2,6] y)", "y = Tile(x, t, a)",
     [floats(2, 3), np.float32(2), np.float32(1)], lambda x, t, a: np.tile(x, (1, 2))),
    ("resize up", 10, "(float[1,4] x) => (float[1,10] y)",
     "s = Constant<value = float[2] {1.0, 2.5}>() y = Resize(x, s)", [floats(1, 4)],
     lambda x: x[:, np.floor(np.arange(10) / 2.5).astype(int)]),
    ("resize down", 10, "(float[1,5] x) => (float[1,3] y)",
     "s = Constant<value = float[2] {1.0, 0.6}>() y = Resize(x, s)", [floats(1, 5)],
     lambda x: x[:, np.ceil(np.arange(3) / np.float32(0.6)).astype(int)]),
    ("resize by lines", 10, "(float[1,4] x, float[2] s) => (float[1,8] y)", 'y = Resize<mode="linear">(x, s)',
     [floats(1, 4), np.array([1, 2], np.float32)],
     lambda x, s: np.interp(np.arange(8) / 2, np.arange(4), x[0])[None].astype(np.float32)),
    ("upsample", 1, "(float[1,2,2,3] x) => (float[1,2,4,9] y)",
     "y = Upsample<height_scale=2.0, width_scale=3.0>(x)", [floats(1, 2, 2, 3)],
     lambda x: x.repeat(2, axis=2).repeat(3, axis=3)),
    ("upsample by a fraction", 1, "(float[1,1,1,4] x) => (float[1,1,1,6] y)",
     "y = Upsample<height_scale=1.0, width_scale=1.5>(x)", [floats(1, 1, 1, 4)],
     lambda x: x[..., np.floor(np.arange(6) / 1.5).astype(int)]),
    ("rnn", 1, recurrent_signature(1, "float[1,2,5] h"), 'y, h = RNN<output_sequence=1, hidden_size=5>(x, w, r, b)',
     recurrent(1), rnn),
    ("gru 1", 1, recurrent_signature(3, "float[4,1,2,5] y"), "y, h = GRU<output_sequence=1, hidden_size=5>(x, w, r, b)",
     recurrent(3), lambda x, w, r, b: gru(x, w, r, b, False)),
    ("gru 3", 3, recurrent_signature(3, "float[4,1,2,5] y"), "y = GRU<linear_before_reset=1, hidden_size=5>(x, w, r, b)",
     recurrent(3), lambda x, w, r, b: gru(x, w, r, b, True)),
    ("lstm", 1, recurrent_signature(4, "float[1,2,5] h, float[1,2,5] c"),
     "y, h, c = LSTM<hidden_size=5, output_sequence=1>(x, w, r, b)", recurrent(4), lstm),
    ("scan", 8, "(float[2,3] s, float[2,4,3] x) => (float[2,3] l, float[2,4,3] y)",
     f'l, y = Scan<num_scan_inputs=1, {SUM_BODY}>("", s, x)', [floats(2, 3), floats(2, 4, 3)],
     lambda s, x: scan_sums([4, 4], s, x)),
    ("scan of lengths", 8, "(int64[3] n, float[3,3] s, float[3,4,3] x) => (float[3,3] l, float[3,4,3] y)",
     f"l, y = Scan<num_scan_inputs=1, {SUM_BODY}>(n, s, x)", [np.array([1, 4, 2]), floats(3, 3), floats(3, 4, 3)], scan_sums),
    ("inside if", 12, "(float[2,3] x, bool c) => (float[1,3] y)",
     "y = If (c) <then_branch = t () => (float[1,3] a) { a = ReduceSum<axes=[0]>(x) },"
     " else_branch = e () => (float[1,3] b) { b = ReduceMax<axes=[0]>(x) }>",
     [floats(2, 3), np.array(True)], lambda x, c: x.sum(axis=0, keepdims=True)),
]


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_old_form(case, tmp_path):
    _, opset, signature, nodes, inputs, expected = case
    text = f'<ir_version: 8, opset_import: ["": {opset}]> g {signature} {{ {nodes} }}'
    model = onnx.parser.parse_model(text)
    feeds = {value.name: array for value, array in zip(model.graph.input, inputs, strict=True)}
    if expected is None:
        wanted = ReferenceEvaluator(model).run(None, feeds)
    else:
        wanted = expected(*inputs)
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    found = ReferenceEvaluator(lifted(model, tmp_path)).run(None, feeds)
    assert len(found) == len(wanted)
    for array, other in zip(found, wanted, strict=True):
        assert array.dtype == other.dtype or expected is not None
        np.testing.assert_allclose(array, other, rtol=1e-6, atol=1e-6)


LETTERS = np.array(["b", "x", "a"], dtype=object)
TREE = ("nodes_treeids=[0,0,0], nodes_nodeids=[0,1,2], nodes_featureids=[1,0,0], "
        'nodes_modes=["BRANCH_LT","LEAF","LEAF"], nodes_values=[0.5,0.0,0.0], nodes_truenodeids=[1,0,0], '
        "nodes_falsenodeids=[2,0,0]")
# version, signature, node, inputs, what the old text says
ML_CASES = {
    "labels to places": (1, "(string[3] x) => (int64[3] y)", 'LabelEncoder<classes_strings=["a","b"], default_int64=7>',
                         LETTERS, lambda x: np.array([1, 7, 0])),
    "labels to places without a default": (1, "(string[3] x) => (int64[3] y)", 'LabelEncoder<classes_strings=["a","b"]>',
                                           LETTERS, lambda x: np.array([1, -1, 0])),
    "places to labels": (1, "(int64[3] x) => (string[3] y)", 'LabelEncoder<classes_strings=["a","b"], default_string="?">',
                         np.array([1, 2, 0]), lambda x: np.array(["b", "?", "a"])),
    "trees": (1, "(float[4,2] x) => (float[4,1] y)",
              f"TreeEnsembleRegressor<{TREE}, target_ids=[0,0], target_nodeids=[1,2], target_treeids=[0,0], "
              "target_weights=[2.0,-3.0], n_targets=1, base_values=[0.25]>", floats(4, 2),
              lambda x: np.where(x[:, 1:] < 0.5, 2.25, -2.75)),
}


@pytest.mark.parametrize("name", ML_CASES)
def test_old_form_of_ml(name):
    version, signature, node, x, expected = ML_CASES[name]
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 9, "ai.onnx.ml": {version}]> '
                                    f"g {signature} {{ y = ai.onnx.ml.{node}(x) }}")
    [found] = onward.backend.run_model(model, [x])
    assert found.tolist() == expected(x).tolist()


def test_old_scan_backward():
    """Which ONNX's evaluator does not run: each sequence is read from its own end."""
    model = onnx.parser.parse_model(
        f'''<ir_version: 8, opset_import: ["": 8]>
        g (int64[2] n, float[2,3] s, float[2,4,3] x) => (float[2,3] l, float[2,4,3] y)
        {{ l, y = Scan<num_scan_inputs=1, directions=[1], {SUM_BODY}>(n, s, x) }}''')
    inputs = [np.array([3, 4]), floats(2, 3), floats(2, 4, 3)]
    for found, wanted in zip(onward.backend.run_model(model, inputs), scan_sums(*inputs, backward=True), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


# The operator sets of 2017, as PyTorch wrote them, with the results it had.
PYTORCH = sorted(
    folder for name in ("pytorch-converted", "pytorch-operator")
    for folder in (BACKEND_DATA / name).iterdir() if (folder / "model.onnx").exists())


def tensors(folder, kind):
    files = sorted(folder.glob(f"{kind}_*.pb"), key=lambda file: int(file.stem.split("_")[1]))
    return [numpy_helper.to_array(onnx.load_tensor(file)) for file in files]


@pytest.mark.parametrize("folder", PYTORCH, ids=[folder.name for folder in PYTORCH])
def test_pytorch_model(folder, tmp_path):
    model = onnx.load(folder / "model.onnx")
    constants = {value.name for value in model.graph.initializer}
    names = [value.name for value in model.graph.input if value.name not in constants]
    data = folder / "test_data_set_0"
    feeds = dict(zip(names, tensors(data, "input"), strict=True))
    found = ReferenceEvaluator(lifted(model, tmp_path)).run(None, feeds)
    for array, other in zip(found, tensors(data, "output"), strict=True):
        np.testing.assert_allclose(array, other, rtol=1e-3, atol=1e-5)


# Whole networks of opset 1 to 9: too slow for the reference implementation, so only their form.
LIGHT = sorted((BACKEND_DATA / "light").glob("*.onnx"))


@pytest.mark.parametrize("file", LIGHT, ids=[file.stem for file in LIGHT])
def test_network(file, tmp_path):
    lifted(onnx.load(file), tmp_path)
