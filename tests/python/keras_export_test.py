"""A training that begins in Keras goes on in Onward as if it had not moved."""

import pathlib

import keras
import numpy as np
import onnx
import onnx.reference
import pytest
from keras import layers, ops

import onward
import onward.keras
from keras_training import EPS, assert_goes_on, assert_same_step, batches_for, functional, in_type, train

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


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_float32(name):
    in_type("float32")
    model = cnn()
    model.compile(loss="sparse_categorical_crossentropy", optimizer=OPTIMIZERS[name]())
    assert_goes_on(model, batches_for(model, 25, classes=5))


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
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_between_layers(name):
    model = functional((6, 7, 4), lambda x: dense_end(OPERATIONS[name](layers.Conv2D(3, 2)(x))))
    model.compile(loss="mse", optimizer=keras.optimizers.Adam(0.01))
    assert_goes_on(model, batches_for(model, 23), begun=3)


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


def test_norms_differ_in_momentum():
    model = functional(*on_image(layers.BatchNormalization(epsilon=EPS), layers.BatchNormalization(epsilon=EPS, momentum=0.6)))
    model.compile(loss="mse", optimizer="sgd")
    assert_goes_on(model, batches_for(model, 23), begun=3)


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


def compiled(build=lambda x: layers.Dense(3)(x), shape=(4,), loss="mse", optimizer="sgd", dtype=None, **more):
    model = functional(shape, build, dtype)
    model.compile(loss=loss, optimizer=optimizer, **more)
    return model


class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.layer = layers.Dense(2)

    def call(self, x):
        return self.layer(x)


class OwnTraining(Own):
    def train_step(self, data):
        return super().train_step(data)


class Looks(Own):
    def call(self, x):
        return self.layer(x) if np.asarray(x).sum() > 0 else x


class Differs(Own):
    def call(self, x, training=False):
        return self.layer(2 * x if training else x)


def own(kind=Own, reads=None):
    """A compiled model of a class of its own."""
    model = kind()
    if reads is not None and kind is not Looks:
        model(reads)
    elif reads is not None:
        model.layer(reads)
        model._inbound_nodes.append(model.layer._inbound_nodes[0])
    model.compile(loss="mse", optimizer="sgd")
    return model


def stepped_then_frozen():
    model = functional((4,), lambda x: layers.Dense(2)(layers.Dense(3, name="first")(x)))
    model.compile(loss="mse", optimizer=keras.optimizers.Adam())
    train(model, batches_for(model, 1))
    model.get_layer("first").trainable = False
    return model


def unbuilt():
    model = keras.Sequential([layers.Dense(2)])
    model.compile(loss="mse", optimizer="sgd")
    return model


def uncompiled():
    return functional((4,), lambda x: layers.Dense(2)(x))


def undecayed():
    optimizer = keras.optimizers.AdamW()
    optimizer.exclude_from_weight_decay(var_names=["bias"])
    return compiled(optimizer=optimizer)


def lora():
    model = compiled(lambda x: layers.Dense(2, name="d")(x))
    model.get_layer("d").enable_lora(1)
    return model


def quantized():
    model = compiled(lambda x: layers.Dense(2, name="d")(x))
    model.quantize("int8")
    return model


def changed(part, method, loss="mse"):
    """A compiled model of which one object has a method of its own."""
    model = compiled(loss=loss)
    setattr(part(model), method, lambda *arguments, **settings: None)
    return model


def two_outputs():
    x = keras.Input((4,))
    model = keras.Model(x, [layers.Dense(2)(x), layers.Dense(2)(x)])
    model.compile(loss="mse", optimizer="sgd")
    return model


def in_other_type():
    model = functional((4,), lambda x: layers.Dense(2, dtype="float32")(x))
    model.compile(loss="mse", optimizer="sgd")
    return model


REFUSED = {
    "layers": (lambda: compiled(lambda x: layers.Dense(2)(layers.ConvLSTM1D(3, 1, name="a")(layers.GaussianNoise(0.1, name="b")(x))),
                                (5, 4, 2)), "GaussianNoise 'b' can't be exported\n  ConvLSTM1D 'a' can't be exported"),
    "recurrent dropout": (lambda: compiled(lambda x: layers.LSTM(3, recurrent_dropout=0.25)(x), (5, 4)), "recurrent_dropout"),
    "dropout inside": (lambda: compiled(lambda x: layers.GRU(3, go_backwards=True, dropout=0.5)(x), (5, 4)), "dropout=0.5"),
    "merge mode": (lambda: compiled(lambda x: layers.Bidirectional(layers.GRU(3), merge_mode="sum")(x), (5, 4)), "merge_mode"),
    "activation of gates": (lambda: compiled(lambda x: layers.LSTM(3, recurrent_activation="hard_sigmoid")(x), (5, 4)),
                            "recurrent_activation"),
    "regularizer": (lambda: compiled(lambda x: layers.Dense(2, kernel_regularizer="l2")(x)), "regularizer"),
    "constraint": (lambda: compiled(lambda x: layers.Dense(2, kernel_constraint="non_neg")(x)), "constraint"),
    "activation": (lambda: compiled(lambda x: layers.Dense(2, activation="celu", name="d")(x)),
                   "Dense 'd' with activation=celu can't be exported: it may be "),
    "own activation": (lambda: compiled(lambda x: layers.Dense(2, activation=lambda y: y, name="d")(x)), "activation=<lambda>"),
    "mask": (lambda: compiled(lambda x: layers.Dense(2)(layers.Embedding(5, 3, mask_zero=True, name="e")(x)), dtype="int32"),
             "Embedding 'e' with mask_zero=True can't be exported"),
    "noise shape": (lambda: compiled(lambda x: layers.Dense(2)(layers.Dropout(0.5, noise_shape=(None, 1), name="d")(x))),
                    "Dropout 'd' with noise_shape"),
    "ranks": (lambda: compiled(lambda x: layers.Add(name="a")([layers.Dense(4)(x), layers.Reshape((1, 4))(x)])),
              "Add 'a' has inputs of ranks 2, 3"),
    "max pooling 3": (lambda: compiled(lambda x: layers.Flatten()(layers.MaxPooling3D(name="m")(x)), (4, 4, 4, 2)),
                      "MaxPooling3D 'm' can't be exported: where several"),
    "transposed and dilated": (lambda: compiled(
        lambda x: layers.Flatten()(layers.Conv2DTranspose(2, 2, dilation_rate=2, name="t")(x)), (4, 4, 2)),
                               "Conv2DTranspose 't' with dilation_rate="),
    "norm's axis": (lambda: compiled(lambda x: layers.Flatten()(layers.BatchNormalization(axis=2, name="n")(x)), (3, 4, 5)),
                    "BatchNormalization 'n' with axis=2"),
    "operation": (lambda: compiled(lambda x: ops.cumsum(layers.Dense(2)(x))), "Cumsum 'cumsum.*' can't be exported"),
    "operation's array": (lambda: compiled(lambda x: layers.Dense(2)(x) * np.ones(2, "int32")), "is called with tensors of"),
    "own training": (lambda: OwnTraining(), r"in a way of its own \(train_step\).*; keras.Model\(inputs, outputs\)|train"),
    "own model that was not called": (own, r"Own 'own.*' does not tell what it reads: call it once with keras.Input"),
    "own model that looks at values": (lambda: own(Looks, keras.Input((4,))), "its call does what only tensors with values can"),
    "own model that differs in training": (lambda: own(Differs, keras.Input((4,))), "or on whether it is in training"),
    "no model": (lambda: layers.Dense(2), "takes a compiled keras.Model, or the path of a .keras file, not Dense"),
    "not compiled": (uncompiled, r"is not compiled: .* model.compile\("),
    "not built": (unbuilt, r"is not built: begin it with keras.Input\(shape\)"),
    "two outputs": (two_outputs, "gives 2 tensors, and a loss takes one: export keras.Model"),
    "no such file": (lambda: "nowhere.keras", "there is no file 'nowhere.keras'"),
    "no file of Keras": (lambda: pathlib.Path(__file__), "Keras can't load .*; give the model that keras.models.load_model"),
    "adapters": (lora, "Dense 'd' has enable_lora"),
    "quantized": (quantized, "Dense 'd' computes by the policy int8"),
    "mixed precision": (lambda: compiled(lambda x: layers.Dense(2, dtype="mixed_float16", name="d")(x)),
                        "Dense 'd' computes by the policy mixed_float16"),
    "activity": (lambda: compiled(lambda x: layers.Flatten(activity_regularizer="l2", name="f")(layers.Dense(2)(x))),
                 "Flatten 'f' has an activity_regularizer|losses are added by layers"),
    "rows": (lambda: compiled(lambda x: layers.Dense(2)(layers.Embedding(5, 3, name="e")(x)), dtype="int32", optimizer="adam"),
             "Embedding 'e' with Adam can't be exported"),
    "frozen since": (stepped_then_frozen, "built for 4 variables, the model trains 2 now"),
    "nothing to train": (lambda: compiled(lambda x: layers.Dense(2, trainable=False)(x)), "nothing would be trained"),
    "other optimizer": (lambda: compiled(optimizer="nadam"), "the optimizer Nadam"),
    "a call of its own": (lambda: changed(lambda model: model.layers[-1], "call"), "Dense .* has its own call"),
    "a train_step of its own": (lambda: changed(lambda model: model, "train_step"), "Functional .* has its own train_step"),
    "an update_step of its own": (lambda: changed(lambda model: model.optimizer, "update_step"), "SGD .* has its own update_step"),
    "a loss that calls something else":
        (lambda: changed(lambda model: model.loss, "call", loss=keras.losses.MeanSquaredError()),
         "MeanSquaredError .* has its own call"),
    "amsgrad": (lambda: compiled(optimizer=keras.optimizers.Adam(amsgrad=True)), "Adam with amsgrad=True"),
    "clipping": (lambda: compiled(optimizer=keras.optimizers.SGD(clipnorm=1.0)), "SGD with clipnorm=1.0"),
    "clipping of values": (lambda: compiled(optimizer=keras.optimizers.SGD(clipvalue=1.0)), "SGD with clipvalue=1.0"),
    "clipping of all": (lambda: compiled(optimizer=keras.optimizers.Adam(global_clipnorm=1.0)), "Adam with global_clipnorm=1.0"),
    "loss scale": (lambda: compiled(optimizer=keras.optimizers.SGD(loss_scale_factor=8.0)), "SGD with loss_scale_factor=8.0"),
    "scaled optimizer": (lambda: compiled(optimizer=keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD())),
                         "the optimizer LossScaleOptimizer"),
    "average": (lambda: compiled(optimizer=keras.optimizers.SGD(use_ema=True)), "SGD with use_ema=True"),
    "accumulation": (lambda: compiled(optimizer=keras.optimizers.SGD(gradient_accumulation_steps=2)),
                     "SGD with gradient_accumulation_steps=2"),
    "schedule": (lambda: compiled(optimizer=keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(0.1, 9, 0.9))),
                 "a schedule for its learning_rate .*: compile with a number"),
    "function of a rate": (lambda: compiled(optimizer=keras.optimizers.SGD(lambda: 0.1)), "a schedule for its learning_rate"),
    "excluded": (undecayed, "out of the decay of weights"),
    "other loss": (lambda: compiled(loss="huber"), "'huber' can't be exported"),
    "sum of absolute errors": (lambda: compiled(loss=keras.losses.MeanAbsoluteError(reduction="sum")),
                               "MeanAbsoluteError with reduction='sum' can't be exported"),
    "own loss": (lambda: compiled(loss=lambda y, x: x), "can't be exported: it may be"),
    "vague loss": (lambda: compiled(loss="crossentropy"), "name it"),
    "weighted loss": (lambda: compiled(loss_weights=2.0), "loss_weights can't be exported"),
    "several losses": (lambda: compiled(loss=["mse", "mse"]), "one loss"),
    "loss of another output": (lambda: compiled(loss={"other": "mse"}), "one loss, for its one output"),
    "no loss": (lambda: compiled(loss=None), "compiled without a loss"),
    "unknown loss": (lambda: compiled(loss="nonsense"), "Keras has no loss 'nonsense'"),
    "loss weights": (lambda: compiled(loss_weights=[2.0]), "loss_weights|one loss"),
    "ignored class": (lambda: compiled(loss=keras.losses.SparseCategoricalCrossentropy(ignore_class=1)), "ignore_class=1"),
    "no reduction": (lambda: compiled(loss=keras.losses.MeanSquaredError(reduction=None)), "no single number"),
    "axis of a loss": (lambda: compiled(loss=keras.losses.CategoricalCrossentropy(axis=0)), "axis=0"),
    "types": (in_other_type, "in float32, its loss .* in float64|compute in float32"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_exact_is_refused_by_name(name):
    make, message = REFUSED[name]
    with pytest.raises(onward.Error, match=message):
        onward.keras.export(make())


@pytest.mark.parametrize("setting", [{"jit_compile": True}, {"run_eagerly": True}, {"metrics": ["mae"]},
                                     {"weighted_metrics": ["mae"]}, {"auto_scale_loss": False}])
def test_what_changes_no_step_may_be_said(setting):
    assert_same_step(compiled(**setting), np.ones((3, 4)), np.arange(9.0).reshape(3, 3))


def test_a_rounded_epsilon_is_told():
    with pytest.warns(UserWarning, match="epsilon=0.001 of BatchNormalization 'n' becomes 0.00100000004"):
        onward.keras.export(compiled(lambda x: layers.Dense(2)(layers.BatchNormalization(name="n")(x))))
