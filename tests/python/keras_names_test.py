"""Layers and inputs may be called what a step's own values are called: ours give way, and the result says how."""

import keras
import numpy as np
import pytest
from keras import layers

import onward
import onward.keras
from keras_training import in_type, train

WORDS = ["iterations", "step", "label", "loss", "output", "logits", "learning_rate", "gradient", "one", "beta1"]


@pytest.fixture(autouse=True)
def float64():
    in_type("float64")
    keras.utils.set_random_seed(1)


def assert_goes_on_by_names(model, outputs=2):
    """Three steps in Keras, then three in both, from the step count that Keras is at."""
    model.compile(loss="mse", optimizer=keras.optimizers.Adam(0.1))
    random = np.random.default_rng(2)
    batches = [([random.normal(size=(6, 4)) for _ in model.inputs], random.normal(size=(6, outputs))) for _ in range(6)]
    train(model, batches[:3])
    exported = onward.keras.export(model)
    names = exported.training[0].names
    assert exported.state[names["step"]] == 3
    np.testing.assert_allclose(exported.state[names["learning_rate"]], 0.1, rtol=1e-6)
    trainer = onward.Trainer(exported)
    losses = []
    for x, label in batches[3:]:
        feeds = {each.name: array for each, array in zip(exported.inputs, x, strict=True)} | {names["label"]: label}
        losses.append(float(trainer.step(feeds)[names["loss"]]))
    np.testing.assert_allclose(losses, train(model, batches[3:]), rtol=1e-9)
    return exported


@pytest.mark.parametrize("word", WORDS)
def test_layers(word):
    """Values give way to the step's own names, which stay the documented ones; variables keep their paths."""
    x = keras.Input((4,), name="x")
    exported = assert_goes_on_by_names(keras.Model(x, layers.Dense(2)(layers.Dense(5, name=word, activation="relu")(x))))
    assert exported.training[0].names == {"label": "label", "loss": "loss", "learning_rate": "learning_rate",
                                          "step": "iterations"}
    assert exported.outputs[0].name == "output"
    assert f"{word}/kernel" in exported.parameters


@pytest.mark.parametrize("word", WORDS)
def test_inputs(word):
    """An input keeps its name, which data is given by."""
    x, other = keras.Input((4,), name=word), keras.Input((4,), name="other")
    exported = assert_goes_on_by_names(keras.Model([x, other], layers.Dense(2)(layers.Add()([x, other]))))
    assert [each.name for each in exported.inputs] == [word, "other"]
    ours = [*exported.training[0].names.values(), *(each.name for each in exported.outputs)]
    assert word not in ours and len(set(ours)) == len(ours)


def test_inputs_of_a_loss_that_is_a_graph():
    x = keras.Input((4,), name="label")
    model = keras.Model(x, layers.Dense(2, activation="softplus")(x))
    model.compile(loss=keras.losses.MeanSquaredError(reduction="sum"), optimizer="sgd")
    exported = onward.keras.export(model)
    names = exported.training[0].names
    data, label = np.ones((3, 4)), np.zeros((3, 2))
    loss = onward.Trainer(exported).step({"label": data, names["label"]: label})[names["loss"]]
    np.testing.assert_allclose(float(loss), train(model, [(data, label)])[0], rtol=1e-9)


def test_slots_are_told():
    model = keras.Sequential([keras.Input((4,)), layers.Dense(2, name="d")])
    model.compile(loss="mse", optimizer="adam")
    exported = onward.keras.export(model)
    slots = exported.training[0].slots
    assert set(slots) == set(exported.parameters)
    assert all(set(each) == {"momentum", "velocity"} for each in slots.values())
    assert {name for each in slots.values() for name in each.values()} < set(exported.state)
