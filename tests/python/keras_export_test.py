"""A training that begins in Keras goes on in Onward as if it had not moved."""

import keras
import numpy as np
import onnx
import onnx.reference
import pytest
from keras import layers

import onward
import onward.keras
from keras_training import EPS, assert_goes_on, batches_for, functional, in_type, train


@pytest.fixture(autouse=True)
def float64():
    in_type("float64")
    keras.utils.set_random_seed(1)


def cnn():
    return keras.Sequential([
        keras.Input((8, 8, 2), name="image"),
        layers.Conv2D(4, 3, padding="same", activation="relu"),
        layers.BatchNormalization(epsilon=EPS),
        layers.MaxPooling2D(2),
        layers.DepthwiseConv2D(2, use_bias=False),
        layers.BatchNormalization(epsilon=EPS, momentum=0.75),
        layers.Flatten(),
        layers.Dense(6, activation="tanh"),
        layers.LayerNormalization(epsilon=EPS),
        layers.Dense(5, activation="softmax"),
    ])


OPTIMIZERS = {
    "sgd": lambda: keras.optimizers.SGD(0.05),
    "sgd weight decay": lambda: keras.optimizers.SGD(0.05, weight_decay=0.01),
    "momentum": lambda: keras.optimizers.SGD(0.02, momentum=0.9),
    "nesterov": lambda: keras.optimizers.SGD(0.02, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": lambda: keras.optimizers.Adam(0.003),
    "adam of other numbers": lambda: keras.optimizers.Adam(0.003, beta_1=0.8, beta_2=0.95, epsilon=1e-5, weight_decay=0.02),
    "adamw": lambda: keras.optimizers.AdamW(0.003),
    "adam with amsgrad": lambda: keras.optimizers.Adam(0.003, beta_2=0.8, amsgrad=True),
    "adamax": lambda: keras.optimizers.Adamax(0.003, weight_decay=0.01),
    "adadelta": lambda: keras.optimizers.Adadelta(0.5, rho=0.8),
    "adagrad": lambda: keras.optimizers.Adagrad(0.02, initial_accumulator_value=0.2),
    "rmsprop": lambda: keras.optimizers.RMSprop(0.003),
    "rmsprop of other numbers": lambda: keras.optimizers.RMSprop(0.003, rho=0.8, momentum=0.7, epsilon=1e-5, centered=True,
                                                                 weight_decay=0.01),
}


@pytest.mark.parametrize("begun", [0, 5])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_goes_on(name, begun):
    model = cnn()
    model.compile(loss="sparse_categorical_crossentropy", optimizer=OPTIMIZERS[name]())
    assert_goes_on(model, batches_for(model, begun + 20, classes=5), begun)


@pytest.mark.parametrize("begun", [0, 5])
def test_lion_goes_on(begun):
    """It goes by signs, which the gradient of a bias before a normalization does not have: it is rounding errors."""
    model = keras.Sequential([keras.Input((4,), name="x"), layers.Dense(5, "tanh"), layers.Dense(3)])
    model.compile(loss="mse", optimizer=keras.optimizers.Lion(0.003, beta_1=0.8, weight_decay=0.01))
    assert_goes_on(model, batches_for(model, begun + 20), begun)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_float32(name):
    in_type("float32")
    model = cnn()
    model.compile(loss="sparse_categorical_crossentropy", optimizer=OPTIMIZERS[name]())
    assert_goes_on(model, batches_for(model, 25, classes=5))


def test_onnx_takes_the_model():
    """ONNX's checker, and its reference evaluator, which gives what Keras does."""
    in_type("float32")
    model = cnn()
    model.compile(loss="sparse_categorical_crossentropy", optimizer="adam")
    proto = onnx.load_from_string(onward.keras.export(model).to_bytes())
    onnx.checker.check_model(proto, full_check=True)
    x = batches_for(model, 1)[0][0]
    [output] = onnx.reference.ReferenceEvaluator(proto).run(None, {"image": x})
    np.testing.assert_allclose(output, keras.ops.convert_to_numpy(model(x)), rtol=1e-4, atol=1e-6)


def ended(last):
    x = keras.Input((5,), name="x")
    return keras.Model(x, layers.Dense(3, activation=last)(x))


def shared_and_nested():
    """Two inputs through one inner model, a layer that is used twice, and a frozen one."""
    inner = keras.Sequential([keras.Input((5,)), layers.Dense(4, activation="relu", name="inside"), layers.Dense(4)],
                             name="inner")
    a, b = keras.Input((5,), name="a"), keras.Input((5,), name="b")
    twice = layers.Dense(4, name="twice")
    frozen = layers.Dense(4, name="frozen", trainable=False)
    joined = layers.Add()([twice(inner(a)), twice(inner(b)), frozen(inner(a))])
    return keras.Model([a, b], layers.Dense(3)(joined))


def test_shared_nested_and_frozen_layers():
    model = shared_and_nested()
    model.compile(loss="mse", optimizer=keras.optimizers.Adam(0.01))
    trainer = assert_goes_on(model, batches_for(model, 23), begun=3)
    names = set(trainer.model.parameters)
    assert len(names) == 8 and not any("frozen" in name for name in names)
    assert any("frozen" in name for name in trainer.model.initializers)


def test_what_a_call_says_of_training_is_the_model_s():
    x = keras.Input((5,), name="x")
    model = keras.Model(x, layers.Dense(2)(layers.BatchNormalization(epsilon=EPS)(layers.Dense(4)(x), training=False)))
    model.compile(loss="mse", optimizer="adam")
    assert_goes_on(model, batches_for(model, 23), begun=3)


def test_open_sizes():
    model = functional((None, None, 2), lambda x: layers.GlobalAveragePooling2D()(
        layers.Conv2D(3, 3, strides=2, padding="same")(x)))
    model.compile(loss="mse", optimizer="adam")
    random = np.random.default_rng(4)
    sizes = [(6, 7), (5, 8), (9, 9)] * 8
    assert_goes_on(model, [(random.normal(size=(4, *size, 2)), random.normal(size=(4, 3))) for size in sizes[:23]], begun=3)


def test_dropout_drops_in_training_alone():
    x = keras.Input((4,), name="x")
    model = keras.Model(x, layers.Dropout(0.25)(layers.Dense(64)(x)))
    model.compile(loss="mse", optimizer=keras.optimizers.SGD(0.0))
    trainer = onward.Trainer(onward.keras.export(model), seed=1)
    data = np.random.default_rng(7).normal(size=(50, 4))
    outputs = keras.ops.convert_to_numpy(model(data))
    assert np.allclose(trainer.infer({"x": data})["output"], outputs)
    # With a label of zeros the loss is the mean square: it grows by 1 / (1 - rate) on average.
    losses = [float(trainer.step({"x": data, "label": np.zeros((50, 64))})["loss"]) for _ in range(20)]
    assert np.std(losses) > 0
    assert np.isclose(np.mean(losses), (outputs**2).mean() / 0.75, rtol=0.05)


def test_names_of_layers_may_be_anything():
    x = keras.Input((5,), name="input")
    model = keras.Model(x, layers.Dense(3, name="output")(layers.Dense(4, name="label")(layers.Dense(4, name="loss")(x))))
    model.compile(loss="mse", optimizer="adam")
    assert_goes_on(model, batches_for(model, 23), begun=3)


def trained_a_little():
    model = ended("softmax")
    model.compile(loss="sparse_categorical_crossentropy", optimizer="adam")
    train(model, batches_for(model, 2, classes=3))
    return model


def test_a_path_is_loaded(tmp_path):
    model = trained_a_little()
    model.save(tmp_path / "model.keras")
    exported, expected = onward.keras.export(tmp_path / "model.keras"), onward.keras.export(model)
    assert exported.state.keys() == expected.state.keys()
    for name, array in (expected.parameters | expected.state).items():
        np.testing.assert_array_equal(exported.initializers[name], array, err_msg=name)


def test_a_lost_state_is_told(tmp_path):
    """Keras loads a model from HDF5 with an optimizer that has forgotten its steps."""
    trained_a_little().save(tmp_path / "model.h5")
    with pytest.raises(onward.Error, match="state is lost.* save the model as a .keras file"):
        onward.keras.export(tmp_path / "model.h5")


def test_an_inner_model_of_several_inputs():
    """Keras calls it with a mask for each, though there are none."""
    a, b = keras.Input((5,)), keras.Input((5,))
    inner = keras.Model([a, b], layers.Dense(2)(layers.Concatenate()([a, b])))
    a, b = keras.Input((5,), name="a"), keras.Input((5,), name="b")
    model = keras.Model([a, b], layers.Dense(1)(inner([a, b])))
    model.compile(loss="mse", optimizer="adam")
    assert_goes_on(model, batches_for(model, 23), begun=3)


def test_a_file_is_written(tmp_path):
    model = ended(None)
    model.compile(loss="mse", optimizer="adam")
    exported = onward.keras.export(model, tmp_path / "model.onnx")
    assert onward.load(tmp_path / "model.onnx").to_bytes() == exported.to_bytes()
