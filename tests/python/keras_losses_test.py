"""Every loss on every end of a model reads what it reads in Keras."""

import keras
import numpy as np
import pytest
from keras import layers, ops

import onward
import onward.keras
from keras_training import assert_goes_on, assert_same_step, batches_for, functional, in_type


@pytest.fixture(autouse=True)
def float64():
    in_type("float64")
    keras.utils.set_random_seed(1)


k = keras.losses
LOSSES = {
    "sparse by name": ("sparse_categorical_crossentropy", "softmax", "class"),
    "sparse of logits": (k.SparseCategoricalCrossentropy(from_logits=True), None, "class"),
    "sparse of softmax, told logits": (k.SparseCategoricalCrossentropy(from_logits=True), "softmax", "class"),
    "sparse, sum": (k.SparseCategoricalCrossentropy(reduction="sum"), "softmax", "class"),
    "sparse of probabilities": (k.SparseCategoricalCrossentropy(), "scaled softmax", "class"),
    "sparse of places": (k.SparseCategoricalCrossentropy(), "places", "class"),
    "sparse of sigmoid": (k.SparseCategoricalCrossentropy(), "sigmoid", "class"),
    "categorical": (k.CategoricalCrossentropy(), "softmax", "share"),
    "categorical function": (k.categorical_crossentropy, "softmax", "share"),
    "categorical of logits": (k.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1), None, "share"),
    "categorical of probabilities": (k.CategoricalCrossentropy(reduction="sum"), "scaled softmax", "share"),
    "binary": (k.BinaryCrossentropy(), "sigmoid", "share"),
    "binary of logits": (k.BinaryCrossentropy(from_logits=True), None, "share"),
    "binary, smoothed, sum": (k.BinaryCrossentropy(from_logits=True, label_smoothing=0.2, reduction="sum"), None, "share"),
    "binary of softmax": (k.BinaryCrossentropy(), "softmax", "share"),
    "binary of probabilities": (k.BinaryCrossentropy(label_smoothing=0.1), "scaled softmax", "share"),
    "squares by name": ("mse", None, "number"),
    "squares of softmax": (k.MeanSquaredError(), "softmax", "number"),
    "squares, sum": (k.MeanSquaredError(reduction="sum"), "places", "number"),
    "absolute by name": ("mae", None, "number"),
    "absolute of softmax": (k.MeanAbsoluteError(), "softmax", "number"),
    "Huber by name": ("huber", None, "number"),
}


def ended(last):
    """A model that ends in what a loss may look through, or not."""
    if last == "places":
        return functional((4, 5), lambda x: layers.Dense(3, activation="softmax")(layers.Dense(4, "tanh")(x)))
    x = keras.Input((5,), name="x")
    y = layers.Dense(3, activation=None if last is None else last.split()[-1])(layers.Dense(4, "tanh")(x))
    return keras.Model(x, layers.Rescaling(0.75, offset=0.05)(y) if last == "scaled softmax" else y)


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_goes_on(name):
    loss, last, label = LOSSES[name]
    loss = type(loss).from_config(loss.get_config()) if isinstance(loss, k.Loss) else loss  # of this type
    model = ended(last)
    model.compile(loss=loss, optimizer=keras.optimizers.Adam(0.01))
    batches = batches_for(model, 23, classes=3 if label == "class" else None)
    if label == "share":
        batches = [(x, y / y.sum(-1, keepdims=True)) for x, y in batches]
    assert_goes_on(model, batches, begun=3)


def test_the_delta_of_huber():
    model = ended("softmax")
    model.compile(loss=k.Huber(delta=0.1), optimizer=keras.optimizers.Adam(0.01))
    assert_goes_on(model, batches_for(model, 23), begun=3)


def row(*made):
    return (5,), [layers.Dense(4), *made]


def image(*made):
    return (4, 3, 2), [layers.Conv2D(4, 1), *made]


# How models end: between what a loss may look through and what it must not lies one layer.
ENDS = {
    "nothing": lambda: row(),
    "softmax": lambda: row(layers.Softmax()),
    "softmax of the batch": lambda: row(layers.Softmax(axis=0)),
    "log softmax": lambda: row(layers.Activation("log_softmax")),
    "sigmoid": lambda: row(layers.Activation("sigmoid")),
    "sigmoid of keras.ops": lambda: row(ops.sigmoid),
    "sigmoid, sigmoid": lambda: row(layers.Activation("sigmoid"), layers.Activation("sigmoid")),
    "softmax, linear": lambda: row(layers.Softmax(), layers.Activation("linear")),
    "sigmoid, identity": lambda: row(layers.Activation("sigmoid"), layers.Identity()),
    "sigmoid, no dropout": lambda: row(layers.Activation("sigmoid"), layers.Dropout(0.0)),
    "softmax, flatten": lambda: row(layers.Softmax(), layers.Flatten()),
    "softmax, reshape to itself": lambda: row(layers.Softmax(), layers.Reshape((4,))),
    "softmax, reshape": lambda: row(layers.Softmax(), layers.Reshape((2, 2))),
    "sigmoid, permute": lambda: row(layers.Reshape((2, 2)), layers.Activation("sigmoid"), layers.Permute((2, 1))),
    "sigmoid, number": lambda: row(layers.Activation("sigmoid"), lambda x: x * 0.75),
    "sigmoid, inner model": lambda: row(keras.Sequential([keras.Input((4,)), layers.Dense(4, activation="sigmoid")])),
    "softplus": lambda: row(layers.Activation("softplus")),
    "image": lambda: image(),
    "image, sigmoid": lambda: image(layers.Activation("sigmoid")),
    "image, sigmoid of a convolution": lambda: image(layers.Conv2D(4, 1, activation="sigmoid")),
    "image, softmax": lambda: image(layers.Softmax()),
    "image, softmax of axis 1": lambda: image(layers.Softmax(axis=1)),
    "image, softmax, flatten": lambda: image(layers.Conv2D(4, 1, activation="softmax"), layers.Flatten()),
    "image, sigmoid, permute": lambda: image(layers.Activation("sigmoid"), layers.Permute((3, 1, 2))),
    "image, flatten, softmax": lambda: image(layers.Flatten(), layers.Softmax()),
    "image, mean, sigmoid": lambda: image(layers.GlobalAveragePooling2D(), layers.Activation("sigmoid")),
    "image, mean, softmax, reshape": lambda: image(layers.GlobalAveragePooling2D(), layers.Softmax(),
                                                   layers.Reshape((1, 1, 4))),
}
CROSS_ENTROPIES = {
    "sparse": lambda: k.SparseCategoricalCrossentropy(),
    "sparse, logits": lambda: k.SparseCategoricalCrossentropy(from_logits=True),
    "sparse by name": lambda: "sparse_categorical_crossentropy",
    "categorical": lambda: k.CategoricalCrossentropy(),
    "categorical, logits": lambda: k.CategoricalCrossentropy(from_logits=True),
    "binary by name": lambda: "binary_crossentropy",
    "binary, logits": lambda: k.BinaryCrossentropy(from_logits=True),
    "binary, sum": lambda: k.BinaryCrossentropy(reduction="sum"),
    "squares": lambda: "mse",
    "squares, sum": lambda: k.MeanSquaredError(reduction="sum"),
}


@pytest.mark.filterwarnings("ignore:.*received `from_logits=True`")
@pytest.mark.parametrize("end", ENDS)
def test_what_a_loss_reads(end):
    shape, made = ENDS[end]()
    x = y = keras.Input(shape, name="x")
    for layer in made:
        y = layer(y)
    model = keras.Model(x, y)
    weights = model.get_weights()
    random = np.random.default_rng(3)
    images = random.normal(size=(3, *shape))
    shares = random.uniform(size=(3, *model.output_shape[1:]))
    classes = random.integers(0, model.output_shape[-1], (3, *model.output_shape[1:-1]))
    for name, loss in CROSS_ENTROPIES.items():
        model.set_weights(weights)
        model.compile(loss=loss(), optimizer=keras.optimizers.SGD(0.5))
        label = classes if name.startswith("sparse") else shares / shares.sum(-1, keepdims=True)
        try:
            assert_same_step(model, images, label)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None


@pytest.mark.parametrize("loss", [{"scores": "mse"}, ["mse"], k.MeanSquaredError(reduction="mean_with_sample_weight")])
def test_the_same_loss_in_other_words(loss):
    x = keras.Input((5,), name="x")
    model = keras.Model(x, layers.Dense(2, name="scores")(x))
    loss = k.MeanSquaredError(loss.reduction) if isinstance(loss, k.Loss) else loss  # of this type
    model.compile(loss=loss, optimizer="sgd")
    assert_same_step(model, np.ones((3, 5)), np.arange(6.0).reshape(3, 2))


@pytest.mark.parametrize("loss", [k.MeanSquaredError, k.BinaryCrossentropy])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_labels_are_never_broadcast(loss, reduction):
    """Labels [N] are taken for [N,1], as Keras takes them; plain arithmetic would give [N,N] numbers."""
    model = keras.Sequential([keras.Input((5,), name="x"), layers.Dense(1)])
    model.compile(loss=loss(reduction=reduction), optimizer="sgd")
    exported, x, labels = onward.keras.export(model), np.arange(15.0).reshape(3, 5) / 15, np.array([0.0, 1.0, 1.0])
    losses = [onward.Trainer(exported).step({"x": x, "label": given})["loss"] for given in (labels, labels[:, None])]
    assert losses[0] == losses[1]
    assert np.isclose(losses[0], model.train_on_batch(x, labels), rtol=1e-5)
    with pytest.raises(onward.Error, match="label"):
        onward.Trainer(exported).step({"x": x, "label": np.stack([labels, labels], 1)})


def test_an_open_number_of_classes_is_refused():
    x = keras.Input((None, 4), name="x")
    model = keras.Model(x, layers.Permute((2, 1))(layers.Dense(4)(x)))
    model.compile(loss="sparse_categorical_crossentropy", optimizer="sgd")
    with pytest.raises(onward.Error, match="last dimension, that of the classes"):
        onward.keras.export(model)
