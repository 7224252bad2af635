"""What Python is given that no tensor, name or number is: TypeError or onward.Error with a message, and no change."""

import numpy as np
import pytest

import onward

MLP = """
<ir_version: 8, opset_import: ["" : 17]>
line (float[N,2] x) => (float[N,1] y) <float[2,1] w = {1, 2}> { y = MatMul(x, w) }
"""
X, LABEL = np.ones((2, 2), np.float32), np.ones((2, 1), np.float32)


@pytest.fixture
def model():
    return onward.prepare(onward.parse(MLP), loss="mse", optimizer="sgd", learning_rate=0.5)


@pytest.fixture
def trainer(model):
    return onward.Trainer(model)


CALLS = {
    "step": lambda model, trainer, arrays: trainer.step(arrays),
    "step_accumulated": lambda model, trainer, arrays: trainer.step_accumulated([{"x": X, "label": LABEL}, arrays]),
    "infer": lambda model, trainer, arrays: trainer.infer(arrays),
    "gradients": lambda model, trainer, arrays: trainer.gradients(arrays),
    "set_state": lambda model, trainer, arrays: trainer.set_state(arrays),
    "with_tensors": lambda model, trainer, arrays: model.with_tensors(arrays),
}
KEYS = {1: TypeError, None: TypeError, b"x": TypeError, ("x",): TypeError, 1.5: TypeError, "\ud800": onward.Error,
        "w\udfff": onward.Error}


def refused(call, model, trainer, arrays, error, message):
    before = trainer.state()["w"].copy()
    with pytest.raises(error, match=message) as raised:
        CALLS[call](model, trainer, arrays)
    assert type(raised.value) is error
    assert (trainer.state()["w"] == before).all() and trainer.steps == 0


@pytest.mark.parametrize("key", KEYS, ids=ascii)
@pytest.mark.parametrize("call", CALLS)
def test_keys(model, trainer, call, key):
    first = {"w": np.zeros((2, 1), np.float32)} if call in ("set_state", "with_tensors") else {"x": X, "label": LABEL}
    refused(call, model, trainer, {**first, key: X}, KEYS[key], "the name of an array (is a str, not|holds a surrogate)")


masked = np.ma.masked_array(np.ones((2, 1), np.float32), [[True], [False]])
MASKED = {"array": masked, "list": [np.ma.masked_array([1.0], [True]), [2.0]], "constant": [[1.0], [np.ma.masked]],
          "tuple": (masked[0], masked[1])}


@pytest.mark.parametrize("name", MASKED)
@pytest.mark.parametrize("call", CALLS)
def test_masked_arrays(model, trainer, call, name):
    arrays = {"w": MASKED[name]} if call in ("set_state", "with_tensors") else {"x": X, "label": MASKED[name]}
    refused(call, model, trainer, arrays, onward.Error, "the array has masked elements")


def test_a_masked_array_without_a_masked_element(trainer):
    trainer.set_state({"w": np.ma.masked_array(np.full((2, 1), 3, np.float32), np.zeros((2, 1), bool))})
    assert (trainer.state()["w"] == 3).all()


def test_a_list_that_holds_itself(trainer):
    endless = []
    endless.append(endless)
    with pytest.raises(onward.Error):
        trainer.set_state({"w": endless})


@pytest.mark.parametrize("value", ["a", None, b"1", [0.1], {}, 1j, np.array([1.0, 2.0]), object()], ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("name", ["learning_rate", "weight_decay"])
def test_numbers_of_an_optimizer(name, value):
    with pytest.raises(TypeError, match=f"{name} is a number, not {type(value).__name__}"):
        onward.prepare(onward.parse(MLP), loss="mse", optimizer="sgd", **{name: value})


def test_a_number_that_no_float_is():
    with pytest.raises(onward.Error, match="learning_rate is too large"):
        onward.prepare(onward.parse(MLP), loss="mse", optimizer="sgd", learning_rate=10**400)


@pytest.mark.parametrize("value", [1, np.float32(0.5), np.int64(1), np.array(0.5)], ids=repr)
def test_what_is_a_number(value):
    prepared = onward.prepare(onward.parse(MLP), loss="mse", optimizer="sgd", learning_rate=value)
    assert prepared.initializers["learning_rate"] == np.float32(value)


def test_strings_with_surrogates():
    model = onward.parse("""<ir_version: 8, opset_import: ["" : 17]>
        g (string[N] x) => (string[N] y) { y = Identity(x) }""")
    with pytest.raises(onward.Error, match="surrogate"):
        onward.Trainer(model).infer({"x": np.array(["a", "\ud800"], object)})


@pytest.mark.parametrize("call", [
    lambda: onward.parse("\ud800"), lambda: onward.parse(1), lambda: onward.load(1), lambda: onward.loads("text"),
    lambda: onward.prepare(onward.parse(MLP), loss=1), lambda: onward.prepare(onward.parse(MLP), loss="\ud800"),
    lambda: onward.prepare(onward.parse(MLP), loss="mse", train=[1]),
    lambda: onward.prepare(onward.parse(MLP), loss="mse", freeze=["\ud800"]),
    lambda: onward.prepare(onward.parse(MLP), loss="mse", **{"\ud800": 1}),
    lambda: onward.prepare(onward.parse(MLP), loss="mse", output="\ud800"),
    lambda: onward.Trainer(onward.parse(MLP), seed=-1), lambda: onward.Trainer(onward.parse(MLP), seed=2**64),
    lambda: onward.Trainer(onward.parse(MLP), threads=2**63), lambda: onward.Trainer(onward.parse(MLP), threads=-1),
    lambda: onward.Trainer(onward.parse(MLP)).step([]), lambda: onward.Trainer(onward.parse(MLP)).step({}, info=-1),
    lambda: onward.Trainer(onward.parse(MLP)).step_accumulated({}), lambda: onward.check_file("\0"),
    lambda: onward.parse(MLP).save(""), lambda: onward.parse(MLP).save("\0"),
])
def test_other_arguments(call):
    with pytest.raises((TypeError, ValueError)) as raised:  # an onward.Error is a ValueError
        call()
    assert str(raised.value) and "bad_cast" not in str(raised.value)


def test_large_unsigned_integers_are_told_as_they_are():
    model = onward.parse("""<ir_version: 8, opset_import: ["" : 17]>
        g (int64[N] x) => (int64[N] y) { y = Identity(x) }""")
    with pytest.raises(onward.Error, match="element 1 is 18446744073709551615, which i64 cannot represent"):
        onward.Trainer(model).infer({"x": np.array([0, 2**64 - 1], np.uint64)})
