"""Batches without examples: inference gives results without elements, a step is refused and leaves the state whole."""

import numpy as np
import pytest

import onward

MODELS = {
    "Conv, BatchNormalization": (
        (3, 8, 8), """float[4,1,1] <float[4,3,3,3] w = normal(1, 0.5), float[4] s = full(1), float[4] b = full(0),
        float[4] m = full(0), float[4] v = full(1)> { c = Conv<pads = [1,1,1,1]>(x, w)
        n = BatchNormalization(c, s, b, m, v) y = GlobalAveragePool(n) }"""),
    "Conv, MaxPool": ((3, 8, 8), """float[4,4,4] <float[4,3,3,3] w = normal(1, 0.5)> {
        c = Conv<pads = [1,1,1,1]>(x, w) r = Relu(c) y = MaxPool<kernel_shape = [2,2], strides = [2,2]>(r) }"""),
    "Gelu": ((6,), "float[6] <float[6] s = full(2)> { h = Mul(x, s) y = Gelu(h) }"),
    "LayerNormalization": ((8,), "float[8] <float[8] s = full(1), float[8] b = full(0)> { y = LayerNormalization(x, s, b) }"),
    "MatMul": ((8,), "float[3] <float[8,3] w = normal(1, 0.5), float[3] b = full(0)> { p = MatMul(x, w) y = Add(p, b) }"),
    "MatMul of stacks": ((4, 8), """float[4,4] <float[8] s = full(2)> { h = Mul(x, s)
        t = Transpose<perm = [0,2,1]>(h) y = MatMul(h, t) }"""),
    "Softmax": ((8,), "float[8] <float[8] s = full(2)> { h = Mul(x, s) y = Softmax(h) }"),
    "Split": ((6,), "float[3] <float[6] s = full(2)> { h = Mul(x, s) a, b = Split<axis = 1, num_outputs = 2>(h) y = Add(a, b) }"),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", MODELS)
def test_a_batch_without_examples(name, threads):
    dims, rest = MODELS[name]
    given = ",".join(map(str, ("N", *dims)))
    result, nodes = rest.split(" ", 1)
    result = result.replace("[", "[N,")
    model = onward.prepare(
        onward.parse(f'<ir_version: 10, opset_import: ["" : 20]> g (float[{given}] x) => ({result} y) {nodes}'),
        loss="mse", optimizer="sgd", train=["*"])
    trainer = onward.Trainer(model, threads=threads)
    some = np.random.default_rng(0).normal(size=(2, *dims)).astype(np.float32)
    like = trainer.infer({"x": some})["y"]
    assert trainer.infer({"x": some[:0]})["y"].shape == (0, *like.shape[1:])
    before = trainer.state()
    with pytest.raises(onward.Error, match="loss.*nan"):  # the mean of nothing
        trainer.step({"x": some[:0], "label": np.zeros_like(like)[:0]})
    assert all(np.array_equal(before[key], value) for key, value in trainer.state().items())
    trainer.step({"x": some, "label": np.zeros_like(like)})
    assert any(not np.array_equal(before[key], value) for key, value in trainer.state().items())
