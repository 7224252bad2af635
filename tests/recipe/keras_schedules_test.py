"""Schedules and clipping in Keras's words: 20 steps in float64 change the weights as in Keras."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import keras
import loss_job as job
import numpy as np
import pytest

schedules = keras.optimizers.schedules
RATE = np.float64(0.1)  # of a Python float TensorFlow would make a float32
SGD, ADAM = keras.optimizers.SGD, keras.optimizers.Adam
CASES = {
    "exponential": (["--schedule", "exponential", "--schedule-gamma", "0.875"],
                    lambda: SGD(schedules.ExponentialDecay(RATE, 1, 0.875))),
    "step": (["--schedule", "step", "--schedule-every", "3", "--schedule-gamma", "0.5"],
             lambda: SGD(schedules.ExponentialDecay(RATE, 3, 0.5, staircase=True))),
    "linear": (["--schedule", "linear", "--schedule-steps", "15", "--schedule-end", "0.25"],
               lambda: SGD(schedules.PolynomialDecay(RATE, 15, 0.025))),
    "cosine": (["--schedule", "cosine", "--schedule-steps", "15", "--schedule-end", "0.125"],
               lambda: SGD(schedules.CosineDecay(RATE, 15, alpha=0.125))),
    "warm-up, cosine": (["--schedule", "cosine", "--schedule-steps", "16", "--warmup-steps", "4"],
                        lambda: SGD(schedules.CosineDecay(0 * RATE, 16, warmup_target=0.1, warmup_steps=4))),
    "cosine of adam": (["--schedule", "cosine", "--schedule-steps", "15", "--optimizer", "adam", "--weight-decay", "0.0078125"],
                       lambda: ADAM(schedules.CosineDecay(RATE, 15), weight_decay=0.0078125)),
    "norm of all": (["--clip-norm", "0.5"], lambda: SGD(0.1, global_clipnorm=0.5)),
    "norm of all, not reached": (["--clip-norm", "50"], lambda: SGD(0.1, global_clipnorm=50.0)),
    "norm of each": (["--clip-norm-each", "0.5"], lambda: SGD(0.1, clipnorm=0.5)),
    "value": (["--clip-value", "0.1", "--optimizer", "adam"], lambda: ADAM(0.1, clipvalue=0.1)),
}


AVERAGED = {
    "averages": (["--ema", "0.875"], lambda: SGD(0.1, use_ema=True, ema_momentum=0.875)),
    "averages of adam": (["--ema", "0.9", "--optimizer", "adam"], lambda: ADAM(0.1, use_ema=True, ema_momentum=0.9)),
}
CASES |= AVERAGED


@pytest.mark.parametrize("name", CASES)
def test_equals_keras(name, tmp_path):
    options, make_optimizer = CASES[name]
    keras.config.set_floatx("float64")
    first, data = job.first_weights(), job.batches("numbers")
    _, ours = job.train(tmp_path, first, data, ["--loss", "mse", "--formula", "keras", *options])
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    model.set_weights([first["w"], first["b"]])
    model.compile(loss="mse", optimizer=make_optimizer(), jit_compile=False)
    for batch in data:
        model.train_on_batch(batch["x"], batch["label"])
    job.assert_same_change(first, ours, dict(zip(("w", "b"), model.get_weights())))
    if name in AVERAGED:
        averages = [np.asarray(each) for each in model.optimizer._model_variables_moving_average]
        job.assert_same_change(first, {key: ours[f"{key}.ema"] for key in first}, dict(zip(("w", "b"), averages)))
