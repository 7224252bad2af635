"""From Keras to Onward, to Keras's source, and back: the losses are those of not having moved."""

import importlib.util
import os
import subprocess

import keras
import numpy as np
import pytest
from keras import layers

import onward
import onward.keras

ONWARD = os.environ["ONWARD"]
TOLERANCE = {"float64": 1e-8, "float32": 1e-3}
OPTIMIZERS = {
    "momentum": lambda: keras.optimizers.SGD(0.02, momentum=0.9, weight_decay=0.01),
    "nesterov": lambda: keras.optimizers.SGD(0.02, momentum=0.9, nesterov=True),
    "adam": lambda: keras.optimizers.Adam(0.003),
    "adamw": lambda: keras.optimizers.AdamW(0.003),
    "adagrad": lambda: keras.optimizers.Adagrad(0.02),
}


def network():
    image = keras.Input((8, 8, 2), name="image")
    x = layers.Conv2D(4, 3, padding="same")(image)
    x = layers.BatchNormalization(epsilon=2.0**-10)(x)
    x = layers.Activation("relu")(x)
    x = layers.Add()([x, layers.DepthwiseConv2D(3, padding="same")(x)])
    x = layers.MaxPooling2D(2)(x)
    x = layers.Flatten()(x)
    x = layers.LayerNormalization(epsilon=2.0**-10)(layers.Dense(6, activation="tanh")(x))
    return keras.Model(image, layers.Dense(5, activation="softmax")(x), name="network")


def keras_losses(model, batches):
    losses = []
    for image, label in batches:
        model.reset_metrics()
        losses.append(float(model.train_on_batch(image, label)))
    return losses


def onward_losses(trainer, batches):
    return [float(trainer.step({"image": image, "label": label})["loss"]) for image, label in batches]


def source_of(folder):
    specification = importlib.util.spec_from_file_location("exported_model", folder / "model.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_there_and_back(tmp_path, name, dtype):
    keras.config.set_floatx(dtype)
    keras.config.set_dtype_policy(dtype)
    keras.utils.set_random_seed(1)
    random = np.random.default_rng(2)
    batches = [(random.normal(size=(6, 8, 8, 2)).astype(dtype), random.integers(0, 5, 6)) for _ in range(65)]
    stayed = network()
    stayed.compile(loss="sparse_categorical_crossentropy", optimizer=OPTIMIZERS[name]())
    keras_losses(stayed, batches[:5])

    trainer = onward.Trainer(onward.keras.export(stayed))
    expected = keras_losses(stayed, batches[5:])
    moved = onward_losses(trainer, batches[5:25])
    trainer.save(tmp_path / "job.onnx")

    subprocess.run([ONWARD, "export", tmp_path / "job.onnx", "--to", "keras", "-o", tmp_path / "keras"], check=True)
    source = source_of(tmp_path / "keras")
    model, _, optimizer = source.load()
    moved += keras_losses(model, batches[25:45])
    source.save(model, optimizer)

    subprocess.run([ONWARD, "import-weights", tmp_path / "keras", tmp_path / "job.onnx", "-o", tmp_path / "back.onnx"], check=True)
    moved += onward_losses(onward.Trainer(onward.load(tmp_path / "back.onnx")), batches[45:])
    np.testing.assert_allclose(moved, expected, rtol=TOLERANCE[dtype])


def test_the_source_has_keras_s_layers(tmp_path):
    """Images stay in Keras's order of dimensions from the first layer to the last: nothing is transposed."""
    model = network()
    model.compile(loss="sparse_categorical_crossentropy", optimizer="adam")
    onward.keras.export(model, tmp_path / "job.onnx")
    subprocess.run([ONWARD, "export", tmp_path / "job.onnx", "--to", "keras", "-o", tmp_path / "keras"], check=True)
    text = (tmp_path / "keras/model.py").read_text()
    assert "transpose" not in text
    for layer in ("Conv2D(4, 3, padding=\"same\"", "DepthwiseConv2D(3, padding=\"same\"", "BatchNormalization(epsilon=0.0009765625)",
                  "LayerNormalization(epsilon=0.0009765625)", "Dense(6, activation=\"tanh\")", "keras.optimizers.Adam("):
        assert layer in text, layer
