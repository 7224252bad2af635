"""Trainings whose steps have graphs inside, lowered to several opsets and run by stock ONNX Runtime, equal Onward's
own: internal operators, gradients and updates inside and around of Loop, Scan, If and recurrent layers."""

import lowered
import numpy as np
import pytest

RANDOM = np.random.default_rng(11)

# The forward pass from x [batch, 4] and weights w [4, 4] and v [4], to y [batch, 4].
FORWARDS = {
    "Loop for": '''
        m = Constant<value = int64 {3}>()
        y = Loop<body = step (int64 i, bool go, float[n, k] h) => (bool on, float[n, k] next) {
            on = Identity(go)  p = MatMul(h, w)  q = Add(p, v)  next = Tanh(q) }>(m, , x)''',
    "Loop while": '''
        first = Constant<value = bool {1}>()
        y, n = Loop<body = step (int64 i, bool go, float[n, k] h, int64 count) => (bool on, float[n, k] next, int64 more) {
            one = Constant<value = int64 {1}>()  more = Add(count, one)
            p = MatMul(h, w)  q = Add(p, v)  r = Tanh(q)  next = Add(r, h)
            z = Mul(next, next)  size = ReduceMean<keepdims = 0>(z)
            most = Constant<value = float {9.0}>()  small = Less(size, most)
            five = Constant<value = int64 {5}>()  few = Less(more, five)  on = And(small, few) }>(, first, x, zero)''',
    "Scan": '''
        last, all = Scan<num_scan_inputs = 1, scan_input_axes = [1], body = step (float[k] h, float[n] column)
            => (float[k] next, float[k] out) {
            p = MatMul(column, x)  q = Mul(h, p)  r = Add(q, v)  next = Sigmoid(r)  out = Mul(next, v) }>(v, x)
        t = MatMul(all, w)
        y = MatMul(x, t)''',
    "LSTM": '''
        axes = Constant<value = int64[1] {1}>()
        sequence = Unsqueeze(x, axes)
        sizes = Constant<value = int64[3] {1, 16, 4}>()
        gates = Concat<axis = 0>(w, w, w, w)
        weights = Reshape(gates, sizes)
        all, h, c = LSTM<hidden_size = 4, direction = "reverse">(sequence, weights, weights)
        inner = Constant<value = int64[2] {1, 2}>()
        flat = Squeeze(all, inner)
        y = Mul(flat, v)''',
    "If": '''
        total = ReduceSum<keepdims = 0>(x)
        nothing = Constant<value = float {0.0}>()
        c = Greater(total, nothing)
        y = If<then_branch = some () => (float[n, k] a) { p = MatMul(x, w)  a = Add(p, v) },
               else_branch = other () => (float[n, k] b) { q = Mul(x, v)  b = Exp(q) }>(c)''',
    # What the two branches give has not even a rank in common; w is a matrix all the same.
    "If of any rank": '''
        total = ReduceSum<keepdims = 0>(x)
        nothing = Constant<value = float {0.0}>()
        c = Greater(total, nothing)
        one = Constant<value = int64[1] {1}>()
        h = If<then_branch = some () => (float[n, k] a) { a = Exp(x) },
               else_branch = other () => (float[n, j, k] b) { b = Unsqueeze(x, one) }>(c)
        p = MatMul(h, w)
        q = Add(p, v)
        sizes = Constant<value = int64[2] {-1, 4}>()
        y = Reshape(q, sizes)''',
}

TEXT = '''<ir_version: 10, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
model (float[N, 4] x) => (float[N, 4] y) <float[4, 4] w = {%s}, float[4] v = {%s}, int64 zero = {0}> {%s
}
training_info {
  algorithm step (float[N, 4] label) => (float loss, float[4, 4] w_new, float[4] v_new) <float rate = {0.1}> {
    difference = Sub(label, y)
    squared = Mul(difference, difference)
    loss = ReduceMean<keepdims = 0>(squared)
    dw, dv = ai.onnx.preview.training.Gradient<xs = ["w", "v"], zs = ["x", "label"], y = "loss">(w, v, x, label)
    sw = Mul(rate, dw)
    w_new = Sub(w, sw)
    sv = Mul(rate, dv)
    v_new = Sub(v, sv)
  }
  update_binding {
    w <- w_new
    v <- v_new
  }
}
'''


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def listed(numbers):
    return ", ".join(map(str, numbers))


# In opset 13 a Reshape to computed sizes can't tell a size of 0 from one that is copied.
OLDEST = {"If of any rank": 17}


@pytest.mark.parametrize(("name", "opset"), [(name, opset) for name in FORWARDS for opset in (13, 17, 21, 26)
                                             if opset >= OLDEST.get(name, 13)])
def test_steps_equal_onwards(name, opset, tmp_path):
    file = tmp_path / "model.onnxtxt"
    file.write_text(TEXT % (listed(0.4 * floats(16)), listed(floats(4)), FORWARDS[name]))
    batches = [{"x": sign * abs(floats(3, 4)), "label": floats(3, 4)} for sign in (1, -1, 1, -1, 1)]
    state = lowered.compare_steps(file, batches, tmp_path, "--opset", opset)
    assert set(state) == {"w", "v"}
