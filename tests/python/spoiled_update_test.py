"""A step whose update would make a finite element of the state infinite or NaN is refused, whatever the formula does
and however the state grew to it; all other steps are made as NumPy makes them."""

import numpy as np
import pytest

import onward

# How w becomes w_new, with its gradient dw and a slot m that becomes m + 1: in the graph, and in NumPy.
FORMULAS = {
    "divides by a slot": ("q = Div(dw, m)  w_new = Sub(w, q)", lambda w, m, d: w - d / m),
    "divides by its gradient": ("q = Div(m, dw)  w_new = Sub(w, q)", lambda w, m, d: w - m / d),
    "divides by a distance from zero": ("r = Sqrt(m)  s = Add(r, tiny)  q = Div(dw, s)  w_new = Sub(w, q)",
                                        lambda w, m, d: w - d / (np.sqrt(m) + np.float32(1e-30))),
    "takes a root": ("q = Sqrt(m)  w_new = Sub(w, q)", lambda w, m, d: w - np.sqrt(m)),
    "takes a logarithm": ("q = Log(m)  w_new = Sub(w, q)", lambda w, m, d: w - np.log(m)),
    "takes a reciprocal": ("q = Reciprocal(m)  w_new = Sub(w, q)", lambda w, m, d: w - 1 / m),
    "takes a power": ("q = Pow(m, half)  w_new = Sub(w, q)", lambda w, m, d: w - np.power(m, np.float32(0.5))),
    "grows": ("w_new = Add(w, w)", lambda w, m, d: w + w),
    "is squared": ("w_new = Mul(w, w)", lambda w, m, d: w * w),
    "is cubed": ("q = Mul(w, w)  w_new = Mul(w, q)", lambda w, m, d: w * (w * w)),
    "rises": ("q = Exp(w)  w_new = Add(w, q)", lambda w, m, d: w + np.exp(w)),
    "descends": ("q = Mul(half, dw)  w_new = Sub(w, q)", lambda w, m, d: w - np.float32(0.5) * d),
}

# w and m, and how many steps to make of them.
STARTS = {
    "ordinary": (0.5, 4, 3),
    "zeros": (0, 0, 3),
    "a slot below zero": (0.5, -2.5, 4),
    "up to the largest": (1.5, 4, 140),
    "the largest": (3e38, 4, 2),
    "a slot that is no number": (0.5, np.nan, 2),
}


def model(formula, size, start):
    w, m, _ = start
    text = onward.parse(f"""<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
        g (float[{size}] x) => (float[{size}] y) <float[{size}] w = full(1)> {{ y = Mul(w, x) }}
        training_info {{
          algorithm a () => (float[{size}] w_new, float[{size}] m_new)
          <float[{size}] m = full(1), float half = {{0.5}}, float tiny = {{1e-30}}, float one = {{1}}> {{
            loss = ReduceSum<keepdims = 0>(y)
            dw = ai.onnx.preview.training.Gradient<xs = ["w"], zs = ["x"], y = "loss">(w, x)
            {formula}
            m_new = Add(m, one) }}
          update_binding {{ w <- w_new  m <- m_new }} }}""")
    # One element is what it is all about, in the last tile; the others are ordinary.
    tensors = {"w": np.full(size, 0.25, np.float32), "m": np.full(size, 2, np.float32)}
    tensors["w"][-1], tensors["m"][-1] = w, m
    return text.with_tensors(tensors)


@pytest.mark.parametrize("size", [1, 40, 3000])
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_updates_that_would_not_be_finite_are_refused(name, start, size):
    formula, compute = FORMULAS[name]
    trainer = onward.Trainer(model(formula, size, STARTS[start]), threads=2)
    x = np.full(size, 1e-6, np.float32)
    x[-1] = 0 if start == "zeros" else 0.5
    for _ in range(STARTS[start][2]):
        before = trainer.state()
        expected = {"w": compute(before["w"], before["m"], x), "m": before["m"] + np.float32(1)}
        spoiled = any((np.isfinite(before[each]) & ~np.isfinite(expected[each])).any() for each in expected)
        try:
            trainer.step({"x": x})
            assert not spoiled, (before["w"][-1], expected["w"][-1])
        except onward.Error as error:
            assert spoiled and "'w' became" in str(error), error
            expected = before
        after = trainer.state()
        for each in expected:
            if expected is before:
                assert after[each].tobytes() == before[each].tobytes()
            else:
                np.testing.assert_allclose(after[each], expected[each], rtol=1e-5)
        if spoiled:
            break
