"""Losses that Keras has, PyTorch not or otherwise: 20 steps in float64 change the weights as with Keras's."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import keras
import loss_job as job
import numpy as np
import pytest
import tensorflow as tf

k = keras.losses
# Options, the label, and Keras's loss.
CASES = {
    "softmax_cross_entropy": ([], "classes", lambda: k.SparseCategoricalCrossentropy(from_logits=True)),
    "categorical_cross_entropy": ([], "shares", lambda: k.CategoricalCrossentropy(from_logits=True)),
    "categorical_cross_entropy smoothed": (["--label-smoothing", "0.25"], "shares", lambda: k.CategoricalCrossentropy(
        from_logits=True, label_smoothing=0.25)),
    "mse": ([], "numbers", k.MeanSquaredError),
    "l1": ([], "numbers", k.MeanAbsoluteError),
    "huber": (["--delta", "0.3"], "numbers", lambda: k.Huber(delta=0.3)),
    "bce_with_logits": ([], "probabilities", lambda: k.BinaryCrossentropy(from_logits=True)),
    "bce_with_logits focal": (["--focal-gamma", "2"], "bits", lambda: k.BinaryFocalCrossentropy(from_logits=True, gamma=2.0)),
    "bce_with_logits focal alpha": (["--focal-gamma", "1.5", "--focal-alpha", "0.25"], "bits",
                                    lambda: k.BinaryFocalCrossentropy(from_logits=True, gamma=1.5, alpha=0.25,
                                                                      apply_class_balancing=True)),
    "hinge": ([], "signs", k.Hinge),
    "squared_hinge": ([], "signs", k.SquaredHinge),
    "cosine_similarity": ([], "numbers", k.CosineSimilarity),
}


@pytest.mark.parametrize("places", [(), (5,)], ids=["rows", "places"])
@pytest.mark.parametrize("name", CASES)
def test_equals_keras(name, places, tmp_path):
    options, label, make_loss = CASES[name]
    keras.config.set_floatx("float64")
    kind = name.split()[0]
    if places and label in ("classes", "shares"):
        options = [*options, "--class-axis", "-1"]
    first, data = job.first_weights(), job.batches(label, places)
    losses, ours = job.train(tmp_path, first, data, ["--loss", kind, *options])
    loss = make_loss()
    parameters = {key: tf.Variable(array) for key, array in first.items()}
    for expected, batch in zip(losses, data, strict=True):
        with tf.GradientTape() as tape:
            value = loss(batch["label"], tf.tensordot(batch["x"], parameters["w"], 1) + parameters["b"])
        gradients = tape.gradient(value, parameters)
        for key, gradient in gradients.items():
            parameters[key].assign_sub(0.1 * gradient)
        assert np.isclose(float(value), expected, rtol=1e-9)
    job.assert_same_change(first, ours, {key: each.numpy() for key, each in parameters.items()})
