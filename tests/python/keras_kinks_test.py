"""Where a derivative is not defined, an exported model has TensorFlow's."""

import keras
import numpy as np
import pytest
from keras import layers, ops

from keras_training import assert_same_step, in_type

import onward
import onward.keras


@pytest.fixture(autouse=True)
def float64():
    in_type("float64")
    keras.utils.set_random_seed(1)


# What is computed of x, and at which x.
KINKS = {
    "relu": (layers.ReLU, 0),
    "relu of keras.ops": (lambda: ops.relu, 0),
    "activation relu": (lambda: layers.Activation("relu"), 0),
    "relu up to 6, at 0": (lambda: layers.ReLU(max_value=6.0), 0),
    "relu up to 6, at 6": (lambda: layers.ReLU(max_value=6.0), 6),
    "relu up to 1.5, at 0": (lambda: layers.ReLU(max_value=1.5), 0),
    "relu up to 1.5, at 1.5": (lambda: layers.ReLU(max_value=1.5), 1.5),
    "relu with slope, up to 1.5, at 0": (lambda: layers.ReLU(negative_slope=0.25, max_value=1.5), 0),
    "relu with slope, up to 1.5, at 1.5": (lambda: layers.ReLU(negative_slope=0.25, max_value=1.5), 1.5),
    "relu with slope, up to 6, at 6": (lambda: layers.ReLU(negative_slope=0.25, max_value=6.0), 6),
    "relu with slope": (lambda: layers.ReLU(negative_slope=0.25), 0),
    "leaky relu": (layers.LeakyReLU, 0),
    "leaky relu of 2.0": (lambda: layers.LeakyReLU(negative_slope=2.0), 0),
    "leaky relu without slope": (lambda: layers.LeakyReLU(negative_slope=0.0), 0),
    "activation leaky relu": (lambda: layers.Activation("leaky_relu"), 0),
    "relu above 0.5, at 0.5": (lambda: layers.ReLU(threshold=0.5), 0.5),
    "relu above 0.5, with slope, at 0.5": (lambda: layers.ReLU(threshold=0.5, negative_slope=0.25), 0.5),
    "relu above 0.5, up to 6, at 6": (lambda: layers.ReLU(threshold=0.5, max_value=6.0), 6),
    "relu6, at 0": (lambda: layers.Activation("relu6"), 0),
    "relu6, at 6": (lambda: layers.Activation("relu6"), 6),
    "elu": (layers.ELU, 0),
    "elu of 0.7": (lambda: layers.ELU(alpha=0.7), 0),
    "prelu": (lambda: layers.PReLU(alpha_initializer="ones"), 0),
    "hard sigmoid, at -3": (lambda: layers.Activation("hard_sigmoid"), -3),
    "hard sigmoid, at 3": (lambda: layers.Activation("hard_sigmoid"), 3),
    "hard silu, at -3": (lambda: layers.Activation("hard_silu"), -3),
    "hard silu, at 3": (lambda: layers.Activation("hard_silu"), 3),
    "abs": (lambda: ops.abs, 0),
    "maximum of it and a number": (lambda: lambda x: ops.maximum(x, 0.5), 0.5),
    "maximum of a number and it": (lambda: lambda x: ops.maximum(0.5, x), 0.5),
    "minimum of it and a number": (lambda: lambda x: ops.minimum(x, 0.5), 0.5),
    "minimum of a number and it": (lambda: lambda x: ops.minimum(0.5, x), 0.5),
    "clip, at the bottom": (lambda: lambda x: ops.clip(x, -1.5, 0.5), -1.5),
    "clip, at the top": (lambda: lambda x: ops.clip(x, -1.5, 0.5), 0.5),
    "clip of crossed limits": (lambda: lambda x: ops.clip(x, 0.5, -1.5) + x, 0.5),
    "min": (lambda: lambda x: x + ops.min(x, axis=1, keepdims=True), 1),
    "product with zeros": (lambda: lambda x: x + ops.prod(x, axis=1, keepdims=True), 0),
    "maximum of two": (lambda: lambda x: ops.maximum(x, x * 1.0), 1),
    "minimum of two": (lambda: lambda x: ops.minimum(x * 1.0, x * -1.0), 0),
    "layer Maximum": (lambda: lambda x: layers.Maximum()([x * 3.0, x * 1.0, x * 2.0]), 0),
    "layer Minimum": (lambda: lambda x: layers.Minimum()([x * 3.0, x * 1.0, x * 2.0]), 0),
    "max pooling": (lambda: lambda x: layers.Flatten()(layers.MaxPooling1D(2)(layers.Reshape((4, 1))(x))), 1),
    "global max": (lambda: lambda x: layers.GlobalMaxPooling1D()(layers.Reshape((4, 1))(x)), 1),
}


@pytest.mark.parametrize("name", KINKS)
def test_kinks(name):
    """A layer whose weights are 0 and whose bias is the kink is stepped by the derivative there."""
    make, place = KINKS[name]
    x = keras.Input((2,), name="x")
    at = layers.Dense(4, kernel_initializer="zeros", bias_initializer=keras.initializers.Constant(place))
    model = keras.Model(x, layers.Dense(2)(make()(at(x))))
    model.compile(loss="mse", optimizer=keras.optimizers.SGD(1.0))
    assert_same_step(model, np.ones((3, 2)), np.arange(6.0).reshape(3, 2))


def test_values_that_are_not_finite():
    """NaN and infinities come out as they do on TensorFlow, whose max pooling alone may lose a NaN."""
    x = keras.Input((4,), name="x")
    columns = {name: make()(x) for name, (make, _) in KINKS.items() if name != "max pooling"}
    model = keras.Model(x, layers.Concatenate()(list(columns.values())))
    model.compile(loss="mse", optimizer="sgd")
    for value in (np.nan, np.inf, -np.inf):
        data = np.array([[value, 1, value, -1], [1, value, -1, 0], [0, 1, 2, value]])
        expected = ops.convert_to_numpy(model(data))
        result = onward.Trainer(onward.keras.export(model)).infer({"x": data})["output"]
        widths = np.cumsum([0, *(column.shape[1] for column in columns.values())])
        assert [name for name, first, last in zip(columns, widths, widths[1:])
                if not np.array_equal(result[:, first:last], expected[:, first:last], equal_nan=True)] == []


@pytest.mark.parametrize("place", ["low", "high"])
@pytest.mark.parametrize("loss", [keras.losses.BinaryCrossentropy, keras.losses.CategoricalCrossentropy])
def test_probabilities_at_the_limits_of_a_logarithm(loss, place):
    """Cross entropies cut probabilities at epsilon: one that is just there has a gradient."""
    keras.config.set_epsilon(2.0**-10)
    try:
        x = keras.Input((2,), name="x")
        start = keras.initializers.Constant(2.0**-10 if place == "low" else 1 - 2.0**-10)
        y = layers.Dense(1, kernel_initializer="zeros", bias_initializer=start)(x)
        model = keras.Model(x, layers.Concatenate()([y, 1 - y]))
        model.compile(loss=loss(), optimizer=keras.optimizers.SGD(2.0**-10))
        assert_same_step(model, np.ones((3, 2)), np.array([[0.75, 0.25], [0.5, 0.5], [0.0, 1.0]]))
    finally:
        keras.config.set_epsilon(1e-7)
