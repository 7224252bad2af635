"""Every layer and operation of Keras that the importer knows goes on in Onward as if it had not moved."""

import keras
import pytest
from keras import layers, ops

from keras_training import EPS, assert_goes_on, batches_for, functional, in_type


@pytest.fixture(autouse=True)
def float64():
    in_type("float64")
    keras.utils.set_random_seed(1)


def dense_end(x):
    return layers.Dense(3)(layers.Flatten()(x))


IMAGE, LINE, BLOCK = (6, 7, 4), (9, 4), (4, 5, 4, 2)


def chain(*made):
    """A model of these layers between others, so that gradients pass through them."""
    def build(x):
        for layer in made:
            x = layer(x)
        return dense_end(x)
    return build


def on_image(*made):
    return IMAGE, chain(layers.Conv2D(4, 1), *made)


def on_line(*made):
    return LINE, chain(layers.Conv1D(4, 1), *made)


def on_block(*made):
    return BLOCK, chain(layers.Conv3D(2, 1), *made)


def on_row(*made):
    return (5,), chain(layers.Dense(6), *made)


def activations():
    for name in ("relu", "sigmoid", "tanh", "softplus", "exponential", "relu6", "hard_sigmoid", "hard_silu", "silu",
                 "gelu", "elu", "leaky_relu", "softmax", "log_softmax", "linear"):
        yield f"activation {name}", lambda name=name: on_row(layers.Dense(4, activation=name))
        yield f"activation {name} of images", lambda name=name: on_image(layers.Activation(name))


def merged(kind, **settings):
    def build(x):
        a, b = layers.Conv2D(3, 3, padding="same")(x), layers.Conv2D(3, 1)(x)
        return dense_end(kind(**settings)([a, b, layers.MaxPooling2D(3, 1, padding="same")(a)]))
    return IMAGE, build


def tied(kind):
    """Two branches that are equal, so that only the first has a gradient."""
    def build(x):
        x = layers.Conv2D(3, 1)(x)
        return dense_end(kind()([x, layers.Identity()(x) * 1.0, layers.Dense(3)(x)]))
    return IMAGE, build


def at_kinks(x):
    """Layers of weights and inputs that are 0, so that what follows is at 0 until they move."""
    made = []
    for layer in (layers.ReLU(max_value=6.0), layers.ReLU(max_value=1.5), layers.ReLU(), layers.LeakyReLU(), layers.ELU(),
                  layers.ELU(alpha=0.7), layers.PReLU(alpha_initializer="ones"), layers.Activation("relu6")):
        zeros = layers.Dense(3, kernel_initializer="zeros")(x)
        made.append(layer(zeros))
    return layers.Dense(3)(layers.Concatenate()(made))


def subtracted():
    return IMAGE, lambda x: dense_end(layers.Subtract()([layers.Conv2D(3, 1)(x), layers.Conv2D(3, 1)(x)]))


def mixed_orders():
    """An image that went through a convolution, joined with one that did not."""
    return IMAGE, lambda x: dense_end(layers.Concatenate()([layers.Conv2D(3, 3, padding="same")(x), x]))


LAYERS = {
    "dense": lambda: on_row(layers.Dense(4)),
    "dense without bias": lambda: on_row(layers.Dense(4, use_bias=False)),
    "dense of images": lambda: on_image(layers.Dense(3)),
    "dense of images without bias": lambda: on_image(layers.Dense(3, use_bias=False)),
    "conv 1": lambda: on_line(layers.Conv1D(3, 3)),
    "conv 1 causal": lambda: on_line(layers.Conv1D(3, 3, padding="causal", dilation_rate=2)),
    "conv 1 same, strides": lambda: on_line(layers.Conv1D(3, 4, padding="same", strides=2)),
    "conv 2 strides": lambda: on_image(layers.Conv2D(3, (2, 3), strides=(2, 1))),
    "conv 2 same": lambda: on_image(layers.Conv2D(3, (2, 3), padding="same", use_bias=False)),
    "conv 2 same, strides": lambda: on_image(layers.Conv2D(3, 3, padding="same", strides=(2, 3))),
    "conv 2 dilated": lambda: on_image(layers.Conv2D(3, 2, dilation_rate=(2, 3), padding="same")),
    "conv 2 groups": lambda: on_image(layers.Conv2D(6, 3, groups=2)),
    "conv 3": lambda: on_block(layers.Conv3D(3, 2, padding="same")),
    "transposed 1": lambda: on_line(layers.Conv1DTranspose(3, 3, strides=2)),
    "transposed 1 of a kernel below the stride": lambda: on_line(layers.Conv1DTranspose(3, 2, strides=3, padding="same")),
    "transposed 2": lambda: on_image(layers.Conv2DTranspose(3, (3, 2), activation="relu")),
    "transposed 2 same": lambda: on_image(layers.Conv2DTranspose(3, (4, 3), strides=(3, 2), padding="same", use_bias=False)),
    "transposed 2 of a kernel below the stride": lambda: on_image(layers.Conv2DTranspose(2, (1, 3), strides=2)),
    "transposed 3": lambda: on_block(layers.Conv3DTranspose(2, 2, strides=(1, 2, 1), padding="same")),
    "depthwise 1": lambda: on_line(layers.DepthwiseConv1D(3, padding="same")),
    "depthwise 2": lambda: on_image(layers.DepthwiseConv2D(3, strides=2, padding="same", activation="relu")),
    "depthwise 2 multiplied": lambda: on_image(layers.DepthwiseConv2D(2, depth_multiplier=3)),
    "separable 1": lambda: on_line(layers.SeparableConv1D(3, 3)),
    "separable 2": lambda: on_image(layers.SeparableConv2D(5, 3, depth_multiplier=2, padding="same")),
    "max pooling 1": lambda: on_line(layers.MaxPooling1D(2)),
    "max pooling 2": lambda: on_image(layers.MaxPooling2D((2, 3), strides=(1, 2))),
    "max pooling 2 same": lambda: on_image(layers.MaxPooling2D(3, strides=2, padding="same")),
    "max pooling 2 of ties": lambda: on_image(layers.MaxPooling2D(2, strides=1), layers.MaxPooling2D(2, strides=1)),
    "max pooling 1 of ties": lambda: on_line(layers.MaxPooling1D(2, strides=1), layers.MaxPooling1D(3, strides=1)),
    "global max of ties": lambda: on_image(layers.MaxPooling2D(3, strides=1), layers.GlobalMaxPooling2D()),
    "average pooling 1": lambda: on_line(layers.AveragePooling1D(3, strides=2, padding="same")),
    "average pooling 2": lambda: on_image(layers.AveragePooling2D(2)),
    "average pooling 2 same": lambda: on_image(layers.AveragePooling2D(3, strides=2, padding="same")),
    "global average 1": lambda: on_line(layers.GlobalAveragePooling1D()),
    "global average 2": lambda: on_image(layers.GlobalAveragePooling2D()),
    "global average 2 kept": lambda: on_image(layers.GlobalAveragePooling2D(keepdims=True)),
    "global average 3": lambda: on_block(layers.GlobalAveragePooling3D()),
    "global max 1": lambda: on_line(layers.GlobalMaxPooling1D()),
    "global max 2": lambda: on_image(layers.GlobalMaxPooling2D()),
    "batch norm of rows": lambda: on_row(layers.BatchNormalization(epsilon=EPS)),
    "batch norm of lines": lambda: on_line(layers.BatchNormalization(epsilon=EPS, momentum=0.9)),
    "batch norm, no scale": lambda: on_image(layers.BatchNormalization(epsilon=EPS, scale=False)),
    "batch norm, no center": lambda: on_image(layers.BatchNormalization(epsilon=EPS, center=False)),
    "batch norm of axis 1": lambda: on_image(layers.BatchNormalization(axis=1, epsilon=EPS)),
    "batch norm, frozen": lambda: on_image(layers.BatchNormalization(epsilon=EPS, trainable=False)),
    "batch norm, some frozen": lambda: on_image(layers.BatchNormalization(epsilon=EPS),
                                                layers.BatchNormalization(epsilon=EPS, trainable=False)),
    "layer norm": lambda: on_image(layers.LayerNormalization(epsilon=EPS)),
    "layer norm of two axes": lambda: on_image(layers.LayerNormalization(axis=(-2, -1), epsilon=EPS)),
    "layer norm, no scale": lambda: on_row(layers.LayerNormalization(scale=False, epsilon=EPS)),
    "layer norm, no center": lambda: on_row(layers.LayerNormalization(center=False, epsilon=EPS)),
    "embedding": lambda: ((5,), chain(layers.Embedding(7, 4)), "int32"),
    "embedding of floats": lambda: ((5,), lambda x: dense_end(layers.Embedding(7, 4)(layers.ReLU(max_value=6.0)(x)))),
    "prelu": lambda: on_image(layers.PReLU(alpha_initializer="uniform", shared_axes=[1, 2])),
    "relu up to 1.5": lambda: on_image(layers.ReLU(max_value=1.5)),
    "relu above a threshold": lambda: on_row(layers.ReLU(threshold=0.5, max_value=1.5, negative_slope=0.25)),
    "relu with slope, up to 1.5": lambda: on_row(layers.ReLU(max_value=1.5, negative_slope=0.25)),
    "relu with slope": lambda: on_row(layers.ReLU(negative_slope=0.25)),
    "leaky relu": lambda: on_row(layers.LeakyReLU(negative_slope=0.3)),
    "elu": lambda: on_row(layers.ELU(alpha=0.7)),
    "softmax of axis 1": lambda: on_image(layers.Softmax(axis=1)),
    "softmax of axis -1": lambda: on_image(layers.Softmax()),
    "identity": lambda: on_row(layers.Identity()),
    "no dropout": lambda: on_row(layers.Dropout(0.0)),
    "rescaling": lambda: on_image(layers.Rescaling(1 / 255, offset=0.1)),
    "flatten": lambda: on_image(layers.Flatten()),
    "flatten of channels first": lambda: on_image(layers.Flatten(data_format="channels_first")),
    "reshape": lambda: on_image(layers.Reshape((4, -1, 7))),
    "permute": lambda: on_image(layers.Permute((3, 1, 2))),
    "repeat vector": lambda: on_row(layers.RepeatVector(3), layers.Conv1D(2, 2)),
    "zero padding 1": lambda: on_line(layers.ZeroPadding1D((1, 2)), layers.Conv1D(2, 3)),
    "zero padding 2": lambda: on_image(layers.ZeroPadding2D(((1, 0), (2, 1))), layers.Conv2D(2, 3)),
    "zero padding 3": lambda: on_block(layers.ZeroPadding3D(1), layers.Conv3D(2, 3)),
    "cropping 1": lambda: on_line(layers.Cropping1D((1, 2))),
    "cropping 2": lambda: on_image(layers.Cropping2D(((1, 0), (2, 1)))),
    "cropping 3": lambda: on_block(layers.Cropping3D(1)),
    "global max 3": lambda: on_block(layers.GlobalMaxPooling3D()),
    "add": lambda: merged(layers.Add),
    "average": lambda: merged(layers.Average),
    "concatenate": lambda: merged(layers.Concatenate),
    "concatenate along axis 1": lambda: merged(layers.Concatenate, axis=1),
    "concatenate of both orders": mixed_orders,
    "maximum": lambda: merged(layers.Maximum),
    "maximum of ties": lambda: tied(layers.Maximum),
    "minimum": lambda: merged(layers.Minimum),
    "minimum of ties": lambda: tied(layers.Minimum),
    "kinks": lambda: ((5,), at_kinks),
    "multiply": lambda: merged(layers.Multiply),
    "subtract": subtracted,
    **{f"{kind.__name__} {name}": lambda kind=kind, options=options: on_line(kind(3, **options))
       for kind in (layers.LSTM, layers.GRU, layers.SimpleRNN)
       for name, options in {"": {}, "of sequences": {"return_sequences": True}, "without bias": {"use_bias": False},
                             "backwards": {"go_backwards": True, "return_sequences": True}}.items()},
    "LSTM of relu": lambda: on_line(layers.LSTM(3, activation="relu", recurrent_activation="sigmoid")),
    "GRU reset before": lambda: on_line(layers.GRU(3, reset_after=False)),
    "bidirectional": lambda: on_line(layers.Bidirectional(layers.LSTM(3))),
    "bidirectional of sequences": lambda: on_line(layers.Bidirectional(layers.GRU(3, return_sequences=True))),
    "states": lambda: ((7, 4), with_states),
    **dict(activations()),
}


def with_states(x):
    """One layer's last states are another one's first, as in a model that translates."""
    y, *states = layers.LSTM(3, return_sequences=True, return_state=True)(x)
    z = layers.LSTM(3)(x, initial_state=states)
    both, h, c, _, last = layers.Bidirectional(layers.LSTM(2, return_sequences=True, return_state=True))(y)
    return layers.Concatenate()([z, layers.Flatten()(both), h, c, last])


@pytest.mark.parametrize("name", LAYERS)
def test_every_layer_goes_on(name):
    model = functional(*LAYERS[name]())
    squares = "embedding" not in name
    model.compile(loss=keras.losses.MeanSquaredError(),
                  optimizer=keras.optimizers.Adam(0.01) if squares else keras.optimizers.SGD(0.1, momentum=0.9))
    assert_goes_on(model, batches_for(model, 23), begun=3)


def test_every_layer_has_a_case():
    """What the importer knows is what the table above tries."""
    from onward._keras_layers import LAYERS as known

    tried = set()
    for make in LAYERS.values():
        tried |= {type(layer) for layer in functional(*make()).layers}
    assert set(known) - tried == {layers.MaxPooling3D, layers.AveragePooling3D}


def test_a_pooling_that_tensorflow_has_in_float32_alone():
    in_type("float32")
    model = functional(*on_block(layers.AveragePooling3D(2, strides=1, padding="same"), layers.AveragePooling3D(2)))
    model.compile(loss="mse", optimizer=keras.optimizers.Adam(0.01))
    assert_goes_on(model, batches_for(model, 23), begun=3)


OPERATIONS = {
    "numbers": lambda x: 2 - 0.1 * x / 3,
    "tensors": lambda x: (x + 1) * x - x / (ops.exp(x) + 1.5),
    "of one": lambda x: ops.sqrt(ops.abs(x) + 0.25) + ops.square(-x) + ops.log(ops.square(x) + 0.5),
    "curves": lambda x: ops.tanh(x) + ops.sigmoid(x) + ops.softplus(x) + ops.silu(x) + ops.relu(x),
    "extremes": lambda x: ops.maximum(x, 0.1) + ops.minimum(x, ops.tanh(x)),
    "reductions": lambda x: (x + ops.min(x, axis=-1, keepdims=True) + ops.prod(x, axis=1, keepdims=True)
                             + ops.logsumexp(x, axis=2, keepdims=True)),
    "along axes": lambda x: (0.1 * ops.cumsum(x, axis=1) + ops.flip(x, axis=-1) + ops.tril(x) + ops.triu(x, k=1)
                             + ops.tile(x[..., :1], (1, 3))),
    "places": lambda x: (ops.take_along_axis(x, ops.argmax(x, axis=1, keepdims=True), axis=1) + x
                         - ops.take_along_axis(x, ops.argmin(x, axis=1, keepdims=True), axis=1)),
    "steps": lambda x: x * (ops.floor(3 * x) + ops.ceil(2 * x) + ops.round(4 * x) + ops.sign(x)),
    "counts": lambda x: x * ops.cast(ops.sum(ops.cast(x > 0, "int32"), axis=1, keepdims=True), "float64"),
    "whether": lambda x: (ops.where(ops.logical_xor(x > 0.5, x < -0.5), x, 0.5 * x) + ops.where(ops.isnan(x), 0.1, x)
                          + ops.where(ops.isinf(x), 0.1, x)),
    "filled": lambda x: x * ops.ones_like(x) + ops.zeros_like(x) + x * ops.full_like(x, 0.25),
    "of more": lambda x: ops.where(True, x, x[:, :1]) + ops.elu(x, 0.7) + ops.einsum("nijc,nijd->nijc", x, x),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_between_layers(name):
    model = functional((6, 7, 4), lambda x: dense_end(OPERATIONS[name](layers.Conv2D(3, 2)(x))))
    model.compile(loss="mse", optimizer=keras.optimizers.Adam(0.01))
    assert_goes_on(model, batches_for(model, 23), begun=3)


def test_norms_differ_in_momentum():
    model = functional(*on_image(layers.BatchNormalization(epsilon=EPS), layers.BatchNormalization(epsilon=EPS, momentum=0.6)))
    model.compile(loss="mse", optimizer="sgd")
    assert_goes_on(model, batches_for(model, 23), begun=3)
