"""What fails leaves a trainer as it was: state, step count, and what the next step gives, bit for bit."""

import numpy as np
import pytest

import onward

HEADER = '<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>'
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(4, 8, 4)).astype(np.float32)  # four batches
Y = RANDOM.normal(size=(4, 8, 3)).astype(np.float32)


def normalized():
    """Running statistics, which the batch alone changes, and Adam's slots and counter."""
    model = onward.parse(HEADER + """
        m (float[N,4] x) => (float[N,3] y) <float[4,3] w = normal(1, 0.3), float[3] s = full(1), float[3] b = full(0),
                                            float[3] mean = full(0), float[3] var = full(1)>
        { p = MatMul(x, w)  y = BatchNormalization(p, s, b, mean, var) }""")
    return onward.prepare(model, loss="mse", optimizer="adam", learning_rate=0.1, batch_norm="batch")


def dropped():
    """Random numbers, which the step count is the key of."""
    return onward.parse(HEADER + """
        m (float[N,4] x) => (float[N,3] y) <float[4,3] w = normal(1, 0.3)> { y = MatMul(x, w) }
        training_info {
          algorithm a (float[N,3] label) => (float loss, float[4,3] w_new) <float half = {0.5}, bool on = {1}, float rate = {0.1}> {
            dropped = Dropout(y, half, on)  d = Sub(dropped, label)  q = Mul(d, d)  loss = ReduceMean<keepdims = 0>(q)
            dw = ai.onnx.preview.training.Gradient<xs = ["w"], zs = ["x", "label"], y = "loss">(w, x, label)
            c = Mul(rate, dw)  w_new = Sub(w, c) }
          update_binding { w <- w_new } }""")


def two_infos():
    """The second info has the bad input, after the first has updated the state."""
    info = """training_info {{ algorithm a{0} (float[N,3] {1}) => (float loss{0}, float[3] {2}_new) <float R{0} = {{0.2}}> {{
        d{0} = Sub({1}, y) q{0} = Mul(d{0}, d{0}) loss{0} = ReduceMean<keepdims = 0>(q{0})
        g{0} = ai.onnx.preview.training.Gradient<xs = ["{2}"], zs = ["x", "{3}", "{1}"], y = "loss{0}">({2}, x, {3}, {1})
        s{0} = Mul(R{0}, g{0}) {2}_new = Sub({2}, s{0}) }} update_binding {{ {2} <- {2}_new }} }}"""
    return onward.parse(HEADER + """
        two (float[N,4] x) => (float[N,3] y) <float[4,3] w = normal(1, 0.3), float[3] a = {0,0,0}, float[3] b = {0,0,0}>
        { p = MatMul(x, w)  q = Add(p, a)  y = Add(q, b) }""" + info.format(1, "first", "a", "b") + info.format(2, "label", "b", "a"))


def by_nodes():
    """Shapes depend on the data, so that the step is interpreted node by node."""
    return onward.parse(HEADER + """
        m (float[N,4] x) => (float[N,3] y) <float[4,3] w = normal(1, 0.3), float[3] mean = {0,0,0}> { y = MatMul(x, w) }
        training_info {
          algorithm a (float[N,3] label) => (float loss, float[4,3] w_new, float[3] mean_new)
              <float rate = {0.1}, float zero = {0}, int64[1] axis = {0}, float nine = {0.9}> {
            first = ReduceMax<axes = [1], keepdims = 0>(x)  chosen = Greater(first, zero)  found = NonZero(chosen)
            rows = Squeeze(found, axis)  some = Gather(y, rows)  wanted = Gather(label, rows)
            d = Sub(some, wanted)  q = Mul(d, d)  loss = ReduceMean<keepdims = 0>(q)
            dw = ai.onnx.preview.training.Gradient<xs = ["w"], zs = ["x", "label"], y = "loss">(w, x, label)
            c = Mul(rate, dw)  w_new = Sub(w, c)
            m = ReduceMean<axes = [0], keepdims = 0>(some)  old = Mul(mean, nine)  mean_new = Add(old, m) }
          update_binding { w <- w_new  mean <- mean_new } }""")


def looked_up():
    """An index out of range is found in the middle of a step."""
    return onward.parse(HEADER + """
        m (int64[N] x) => (float[N,3] y) <float[5,3] table = normal(1, 0.3), float[3] mean = {0,0,0}> { y = Gather(table, x) }
        training_info {
          algorithm a (int64[N] label) => (float loss, float[5,3] table_new, float[3] mean_new) <float rate = {0.1}> {
            mean_new = ReduceMean<axes = [0], keepdims = 0>(y)  loss = SoftmaxCrossEntropyLoss(y, label)
            g = ai.onnx.preview.training.Gradient<xs = ["table"], zs = ["x", "label"], y = "loss">(table, x, label)
            c = Mul(rate, g)  table_new = Sub(table, c) }
          update_binding { table <- table_new  mean <- mean_new } }""")


def batches_of(model):
    if model is looked_up:
        return [{"x": np.arange(8) % 5, "label": np.arange(8) * i % 3} for i in range(4)]
    return [{"x": x, "label": y, **({"first": y} if model is two_infos else {})} for x, y in zip(X, Y)]


def bad_batches(model):
    good = batches_of(model)[0]
    bad = {"shape": {**good, "label": good["label"][None]}, "type": {**good, "label": good["label"].astype(np.complex64)},
           "missing": {name: array for name, array in good.items() if name != "label"},
           "shorter": {**good, "label": good["label"][:-1]}}
    if model is looked_up:
        bad["index"] = {**good, "x": np.full(8, 7)}
        bad["label"] = {**good, "label": np.full(8, 3)}
        return bad
    bad["nan label"] = {**good, "label": np.full_like(Y[0], np.nan)}
    bad["inf label"] = {**good, "label": np.full_like(Y[0], np.inf)}
    bad["nan input"] = {**good, "x": np.where(np.arange(4) == 1, np.nan, X[0]).astype(np.float32)}
    bad["inf input"] = {**good, "x": np.full_like(X[0], np.inf)}
    bad["overflow"] = {**good, "label": np.full_like(Y[0], 1e30)}
    return bad


MODELS = [normalized, dropped, two_infos, by_nodes, looked_up]
CASES = [(model, kind) for model in MODELS for kind in bad_batches(model)]
NAMES = [f"{model.__name__}-{kind}" for model, kind in CASES]


def bits(arrays):
    return {name: array.tobytes() for name, array in arrays.items()}


def everything(trainer):
    return trainer.steps, bits(trainer.state())


def expect_same_future(trainer, reference, batches):
    assert everything(trainer) == everything(reference)
    for batch in batches:
        assert bits(trainer.step(batch)) == bits(reference.step(batch))
        assert everything(trainer) == everything(reference)


@pytest.mark.parametrize("model, kind", CASES, ids=NAMES)
def test_a_refused_batch_leaves_no_trace(model, kind):
    trainer, reference = (onward.Trainer(model(), seed=5) for _ in range(2))
    first, *rest = batches_of(model)
    assert bits(trainer.step(first)) == bits(reference.step(first))
    bad = bad_batches(model)[kind]
    with pytest.raises(onward.Error):
        trainer.step(bad)
    try:
        trainer.gradients(bad)
    except onward.Error:
        pass  # what is only not finite, or for another info, gives some
    with pytest.raises(onward.Error):
        trainer.step(bad)
    expect_same_future(trainer, reference, rest)


@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("model, kind", [case for case in CASES if case[0] is not by_nodes],
                         ids=[name for name in NAMES if "by_nodes" not in name])
def test_a_refused_micro_batch_leaves_no_trace(model, kind, at):
    trainer, reference = (onward.Trainer(model(), seed=5) for _ in range(2))
    good = batches_of(model)
    micro = good[:3]
    micro[at] = bad_batches(model)[kind]
    with pytest.raises(onward.Error):
        trainer.step_accumulated(micro)
    assert everything(trainer) == everything(reference)
    for each in (trainer, reference):
        each.step_accumulated(good[:2])
    expect_same_future(trainer, reference, good)


def test_no_micro_batch_is_no_step():
    trainer = onward.Trainer(dropped())
    with pytest.raises(onward.Error, match="at least one"):
        trainer.step_accumulated([])
    assert trainer.steps == 0


def linear(loss, rate, nodes=""):
    return onward.Trainer(onward.parse(HEADER + f"""
        m (float[N] x) => (float[N] y) <float[1] w = {{1}}, float[1] m = {{2}}> {{ y = Mul(x, w) }}
        training_info {{
          algorithm a () => (float loss, float[1] w_new, float[1] m_new) <float rate = {{{rate}}}, float two = {{2}}> {{
            {loss}
            g = ai.onnx.preview.training.Gradient<xs = ["w"], zs = ["x"], y = "loss">(w, x)
            c = Mul(rate, g)  {nodes or "w_new = Sub(w, c)"}  m_new = Mul(m, two) }}
          update_binding {{ w <- w_new  m <- m_new }} }}"""))


MEAN = "loss = ReduceMean<keepdims = 0>(y)"


@pytest.mark.parametrize("trainer, x", [
    (linear(MEAN, "1e30"), 1e20),                                              # overflows
    (linear(MEAN, "1e38"), 1000),                                              # a rate that is too high
    (linear("r = Sqrt(y)  " + MEAN.replace("y", "r"), "0.1"), 0),              # 0 * inf: the gradient is NaN
], ids=["gradient", "rate", "nan"])
def test_an_update_that_would_not_be_finite_is_refused(trainer, x):
    before = everything(trainer)
    with pytest.raises(onward.Error, match="'w' became"):
        trainer.step({"x": np.full(3, x, np.float32)})
    assert everything(trainer) == before
    with pytest.raises(onward.Error, match="'w' became"):
        trainer.step_accumulated([{"x": np.full(3, x, np.float32)}] * 2)
    assert everything(trainer) == before


def test_an_algorithm_may_deal_with_its_gradients_itself():
    """As loss scaling does: a gradient that is not finite is no error where the state stays finite."""
    trainer = linear("r = Sqrt(y)  " + MEAN.replace("y", "r"), "0.1",
                     "d = Sub(w, c)  is_number = Equal(d, d)  w_new = Where(is_number, d, w)")
    trainer.step({"x": np.zeros(3, np.float32)})
    assert trainer.state()["w"] == 1 and trainer.state()["m"] == 4 and trainer.steps == 1


def test_a_loss_of_state_alone_is_computed_before_it_is_looked_at():
    model = onward.parse(HEADER + """
        g () => (float loss) <float[3] w = {0.5,1,2}> { q = Tanh(w)  loss = ReduceSum<keepdims = 0>(q) }
        training_info {
          algorithm step () => (float[3] w_new) <float rate = {0.1}> {
            dw = ai.onnx.preview.training.Gradient<xs = ["w"], y = "loss">(w)
            c = Mul(rate, dw)  w_new = Sub(w, c) }
          update_binding { w <- w_new } }""")
    noise = []
    for i in range(200):
        trainer = onward.Trainer(model, threads=1)
        trainer.infer({})
        assert float(trainer.step({})["loss"]) == pytest.approx(np.tanh([0.5, 1, 2]).sum(), rel=1e-6)
        noise.append(np.full(10 + i % 90, np.nan, np.float32))
        if i % 7 == 0:
            noise = []
    trainer.set_state({"w": np.array([np.nan, 1, 2], np.float32)})
    with pytest.raises(onward.Error, match="'loss' became nan"):
        trainer.step({})


def test_one_value_per_channel_has_no_unbiased_variance():
    model = onward.parse(HEADER + """
        m (float[N,3] x) => (float[N,3] y) <float[3] s = full(1), float[3] b = full(0), float[3] mean = full(0),
                                            float[3] var = full(1)> { y = BatchNormalization(x, s, b, mean, var) }""")
    trainer = onward.Trainer(onward.prepare(model, loss="mse", optimizer="sgd", batch_norm="batch", batch_variance="unbiased"))
    trainer.step({"x": X[0, :, :3], "label": Y[0]})
    before = everything(trainer)
    with pytest.raises(onward.Error, match="more than one value per channel"):
        trainer.step({"x": X[0, :1, :3], "label": Y[0, :1]})
    assert everything(trainer) == before


def test_an_initialization_that_fails_leaves_the_state():
    model = onward.parse(HEADER + """
        m (float[N,2] x) => (float[N,2] y) <float[2] a = {1,2}, float[2] b = {3,4}> { z = Add(x, a)  y = Add(z, b) }
        training_info { initialization i () => (float[2] a0) { a0 = RandomNormal<shape = [2]>() } initialization_binding { a <- a0 } }
        training_info { initialization j () => (float[2] b0) <int64[2] one = {1,1}, int64[2] none = {0,0}>
                        { q = Div(one, none)  b0 = Cast<to = 1>(q) }
                        initialization_binding { b <- b0 } }""")
    trainer = onward.Trainer(model)
    before = everything(trainer)
    with pytest.raises(onward.Error):
        trainer.initialize()
    assert everything(trainer) == before


INITIALIZED = """<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
m (float[N,2] x) => (float[N,2] y) <TYPE[2] w = {1, 2}, float[2] v = {3, 4}> { c = Cast<to = 1>(w)  z = Mul(x, c)  y = Add(z, v) }
training_info {
  initialization init () => (TYPE[2] w0, float[2] v0) <float[2] one = {5, 6}, float[2] zero = {0, SECOND}> {
    v0 = Identity(one)
    quotient = OP(one, zero)
    w0 = Cast<to = NUMBER>(quotient)
  }
  initialization_binding { v <- v0  w <- w0 }
}"""


@pytest.mark.parametrize("dtype, number", [("float", 1), ("double", 11), ("float16", 10), ("bfloat16", 16)])
@pytest.mark.parametrize("op, second, found", [("Div", "1", "inf"), ("Log", "1", "-inf"), ("Div", "-0.0", "inf")])
def test_an_initialization_that_is_not_finite(dtype, number, op, second, found):
    """Nothing is set, what was fine in itself included."""
    text = INITIALIZED.replace("OP(one, zero)", "Div(one, zero)" if op == "Div" else "Log(zero)")
    text = text.replace("TYPE", dtype).replace("NUMBER", str(number)).replace("SECOND", second)
    if dtype in ("float16", "bfloat16"):
        text = text.replace("w = {1, 2}", "w = {0, 0}")
    trainer = onward.Trainer(onward.parse(text))
    before = {name: array.copy() for name, array in trainer.state().items()}
    with pytest.raises(onward.Error, match=f"'w' became {found}: the model's initialization computes it"):
        trainer.initialize()
    assert all((trainer.state()[name] == array).all() for name, array in before.items())
