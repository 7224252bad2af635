"""Every row of the table of activations, by each name that Keras has for it: results, and a step of training."""

import inspect
import operator

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers
from keras.src import ops
from keras_training import compared_step, in_type

import onward
import onward.keras
from onward._activations import ACTIVATIONS

OTHERS = [-8.0, -2.5, -1.0, -0.6, -0.3, 0.2, 0.7, 1.0, 1.4, 2.6, 3.5, 7.0]
WAYS = {**{f"activation {row.keras}": (row, getattr(keras.activations, row.keras)) for row in ACTIVATIONS if row.keras},
        **{f"layer {row.layer}": (row, getattr(layers, row.layer)()) for row in ACTIVATIONS if row.layer},
        **{f"ops.{row.operation}": (row, operator.attrgetter(row.operation)(ops)()) for row in ACTIVATIONS if row.operation}}


def places(row, compute):
    """Kinks and other numbers, where the function has a value and a derivative."""
    x = tf.constant([*row.kinks, *OTHERS], "float64")
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = compute(x)
    slope = tape.gradient(y, x).numpy()
    return x.numpy()[np.isfinite(y.numpy()) & np.isfinite(slope)]


@pytest.fixture(scope="module")
def both():
    """What Keras gives and has after a step, and the same of Onward: each activation of a layer's bias."""
    in_type("float64")
    ways = {name: (row, type(compute)() if isinstance(compute, layers.Layer) else compute)
            for name, (row, compute) in WAYS.items()}
    x = keras.Input((1,), name="x")
    columns, widths = [], {}
    for number, (name, (row, compute)) in enumerate(ways.items()):
        at = places(row, compute)
        widths[name] = len(at)
        bias = layers.Dense(len(at), kernel_initializer="zeros", bias_initializer=keras.initializers.Constant(at),
                            name=f"places_{number}")(x)
        activated = layers.Activation(compute)(bias) if name.startswith("activation") else compute(bias)
        columns.append(activated)
    model = keras.Model(x, layers.Concatenate()(columns))
    model.compile(loss="mse", optimizer=keras.optimizers.SGD(8.0))
    data = np.zeros((2, 1))
    expected = keras.ops.convert_to_numpy(model(data))
    results = onward.Trainer(onward.keras.export(model)).infer({"x": data})["output"]
    _, _, variables = compared_step(model, data, np.linspace(-1, 1, expected.size).reshape(expected.shape))
    return widths, expected, results, variables


@pytest.mark.parametrize("name", WAYS)
def test_is_as_in_keras(both, name):
    widths, expected, results, variables = both
    number = list(WAYS).index(name)
    start = sum(list(widths.values())[:number])
    columns = slice(start, start + widths[name])
    assert widths[name] > len(WAYS[name][0].kinks) + 3
    np.testing.assert_allclose(results[:, columns], expected[:, columns], rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(*variables[f"places_{number}/bias"], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("row", [row for row in ACTIVATIONS if row.operation], ids=lambda row: row.op)
def test_no_setting_of_an_operation_is_dropped(row):
    parameters = inspect.signature(operator.attrgetter(row.operation)(ops).__init__).parameters
    told = {name for name, each in parameters.items() if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)}
    assert told - {"self", "name", "dtype"} == {setting for setting, _ in row.settings}
