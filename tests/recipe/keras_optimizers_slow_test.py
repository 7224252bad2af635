"""In Keras's formula, 50 steps of a CNN with BatchNorm equal those of keras.optimizers in float64."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import keras
import numpy as np
import pytest
import training_job as job

SGD, ADAM = keras.optimizers.SGD, keras.optimizers.Adam
MOMENTS = ["momentum", "velocity"]
DELTAS = ["accumulated_grad", "accumulated_delta_var"]
# On TensorFlow, Keras rounds some of an optimizer's numbers to float32 on their way to float64: momentum, weight
# decay, and the betas of bias corrections. So there are cases in numbers that float32 holds, and in others.
EPSILON = 2.0**-23
EXACT = {"beta_1": 0.875, "beta_2": 0.9921875, "epsilon": EPSILON}
EXACT_OPTIONS = ["--beta1", "0.875", "--beta2", "0.9921875", "--epsilon", str(EPSILON)]
CASES = {
    "sgd": (["--optimizer", "sgd", "--lr", "0.05"], (SGD, {"learning_rate": 0.05}), []),
    "momentum": (
        ["--optimizer", "momentum", "--lr", "0.03", "--momentum", "0.875"],
        (SGD, {"learning_rate": 0.03, "momentum": 0.875}), ["momentum"]),
    "momentum, weight decay": (
        ["--optimizer", "momentum", "--lr", "0.03", "--momentum", "0.875", "--weight-decay", "0.0078125"],
        (SGD, {"learning_rate": 0.03, "momentum": 0.875, "weight_decay": 0.0078125}), ["momentum"]),
    "nesterov": (
        ["--optimizer", "nesterov", "--lr", "0.03", "--momentum", "0.8125"],
        (SGD, {"learning_rate": 0.03, "momentum": 0.8125, "nesterov": True}), ["momentum"]),
    "adam": (["--optimizer", "adam", "--lr", "0.003", *EXACT_OPTIONS],
             (ADAM, {"learning_rate": 0.003, **EXACT}), MOMENTS),
    "adam, other numbers": (
        ["--optimizer", "adam", "--lr", "0.003", "--beta1", "0.3125", "--beta2", "0.984375",
         "--epsilon", str(2.0**-17), "--weight-decay", "0.015625"],
        (ADAM, {"learning_rate": 0.003, "beta_1": 0.3125, "beta_2": 0.984375, "epsilon": 2.0**-17,
                "weight_decay": 0.015625}), MOMENTS),
    "adamw": (["--optimizer", "adamw", "--lr", "0.003", "--weight-decay", "0.00390625", *EXACT_OPTIONS],
              (keras.optimizers.AdamW, {"learning_rate": 0.003, "weight_decay": 0.00390625, **EXACT}), MOMENTS),
    "adagrad": (["--optimizer", "adagrad", "--lr", "0.02", "--initial-accumulator", "0.125",
                 "--epsilon", str(EPSILON)],
                (keras.optimizers.Adagrad, {"learning_rate": 0.02, "initial_accumulator_value": 0.125,
                                            "epsilon": EPSILON}), ["accumulator"]),
    "momentum, rounded": (
        ["--optimizer", "momentum", "--lr", "0.03", "--weight-decay", "0.01"],
        (SGD, {"learning_rate": 0.03, "momentum": 0.9, "weight_decay": 0.01}), ["momentum"]),
    "nesterov, rounded": (
        ["--optimizer", "nesterov", "--lr", "0.03", "--momentum", "0.8"],
        (SGD, {"learning_rate": 0.03, "momentum": 0.8, "nesterov": True}), ["momentum"]),
    "adam, Keras's defaults": (
        ["--optimizer", "adam"], (ADAM, {}), MOMENTS),
    "adam, rounded": (
        ["--optimizer", "adam", "--lr", "0.003", "--beta1", "0.3", "--beta2", "0.98",
         "--epsilon", "1e-5", "--weight-decay", "0.02"],
        (ADAM, {"learning_rate": 0.003, "beta_1": 0.3, "beta_2": 0.98, "epsilon": 1e-5,
                "weight_decay": 0.02}), MOMENTS),
    "adamw, Keras's defaults": (["--optimizer", "adamw"], (keras.optimizers.AdamW, {}), MOMENTS),
    "adagrad, Keras's defaults": (
        ["--optimizer", "adagrad"], (keras.optimizers.Adagrad, {}), ["accumulator"]),
    "adam, amsgrad": (
        ["--optimizer", "adam", "--lr", "0.003", "--beta2", "0.8", "--amsgrad", "1"],
        (ADAM, {"learning_rate": 0.003, "beta_2": 0.8, "amsgrad": True}), [*MOMENTS, "velocity_hat"]),
    "adamax, Keras's defaults": (["--optimizer", "adamax"], (keras.optimizers.Adamax, {}), ["momentum", "norm"]),
    "adamax, other numbers": (
        ["--optimizer", "adamax", "--lr", "0.003", "--beta1", "0.3", "--beta2", "0.8", "--epsilon", "1e-3", "--weight-decay",
         "0.01"],
        (keras.optimizers.Adamax, {"learning_rate": 0.003, "beta_1": 0.3, "beta_2": 0.8, "epsilon": 1e-3,
                                   "weight_decay": 0.01}), ["momentum", "norm"]),
    "adadelta": (
        ["--optimizer", "adadelta", "--lr", "1"], (keras.optimizers.Adadelta, {"learning_rate": 1.0}), DELTAS),
    "adadelta, other numbers": (
        ["--optimizer", "adadelta", "--lr", "0.5", "--rho", "0.8", "--epsilon", "1e-5", "--weight-decay", "0.01"],
        (keras.optimizers.Adadelta, {"learning_rate": 0.5, "rho": 0.8, "epsilon": 1e-5, "weight_decay": 0.01}), DELTAS),
    "lion, Keras's defaults": (["--optimizer", "lion"], (keras.optimizers.Lion, {}), ["momentum"]),
    "lion, other numbers": (
        ["--optimizer", "lion", "--lr", "0.003", "--beta1", "0.7", "--beta2", "0.8", "--weight-decay", "0.01"],
        (keras.optimizers.Lion, {"learning_rate": 0.003, "beta_1": 0.7, "beta_2": 0.8, "weight_decay": 0.01}), ["momentum"]),
    "rmsprop, Keras's defaults": (["--optimizer", "rmsprop"], (keras.optimizers.RMSprop, {}), ["velocity"]),
    "rmsprop, momentum": (
        ["--optimizer", "rmsprop", "--lr", "0.003", "--momentum", "0.8"],
        (keras.optimizers.RMSprop, {"learning_rate": 0.003, "momentum": 0.8}), ["velocity", "momentum"]),
    "rmsprop, other numbers": (
        ["--optimizer", "rmsprop", "--lr", "0.003", "--rho", "0.8", "--momentum", "0.7", "--epsilon", "1e-5",
         "--centered", "1", "--weight-decay", "0.01"],
        (keras.optimizers.RMSprop, {"learning_rate": 0.003, "rho": 0.8, "momentum": 0.7, "epsilon": 1e-5,
                                    "centered": True, "weight_decay": 0.01}),
        ["velocity", "momentum", "average_gradient"]),
}

# Our names, and Keras's variables in its own order, with the way from Keras's layout to ONNX's.
NCHW = [3, 2, 0, 1]
LAYOUT = {"conv.weight": NCHW, "fc.weight": [1, 0]}
TRAINED = ["conv.weight", "bn.weight", "bn.bias", "fc.weight", "fc.bias"]
ALL = [*TRAINED[:3], "bn.running_mean", "bn.running_var", *TRAINED[3:]]


def to_onnx(name, array):
    return np.transpose(array, LAYOUT[name]) if name in LAYOUT else np.asarray(array)


def to_keras(name, array):
    return np.transpose(array, np.argsort(LAYOUT[name])) if name in LAYOUT else array


def keras_model(weights):
    model = keras.Sequential([
        keras.Input((8, 8, 1)),
        keras.layers.Conv2D(4, 3, use_bias=False),
        keras.layers.BatchNormalization(momentum=0.9, epsilon=job.EPSILON),
        keras.layers.ReLU(),
        keras.layers.MaxPooling2D(2),
        keras.layers.Permute((3, 1, 2)),
        keras.layers.Flatten(),
        keras.layers.Dense(5),
    ])
    model.set_weights([to_keras(name, weights[name]) for name in ALL])
    return model


def train_in_keras(weights, data, make_optimizer):
    keras.config.set_floatx("float64")
    model = keras_model(weights)
    kind, numbers = make_optimizer
    model.compile(optimizer=kind(**numbers), jit_compile=False,
                  loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    losses = []
    for batch in data:
        # A loss is the mean over all batches since the last reset.
        model.reset_metrics()
        losses.append(model.train_on_batch(np.transpose(batch["x"], [0, 2, 3, 1]), batch["label"]))
    return model, losses


def slots_of(optimizer, names):
    """Variables of the optimizer by the trained variable and the slot: after the iterations and the
    learning rate, slots alternate for each variable; RMSprop's are all of one kind, then of the next, and
    so is what AMSGrad adds."""
    values = [np.asarray(variable) for variable in optimizer.variables[2:]]
    if "velocity_hat" in names:
        places = [(parameter, slot) for parameter in TRAINED for slot in names[:2]]
        places += [(parameter, "velocity_hat") for parameter in TRAINED]
    elif isinstance(optimizer, keras.optimizers.RMSprop):
        places = [(parameter, slot) for slot in names for parameter in TRAINED]
    else:
        places = [(parameter, slot) for parameter in TRAINED for slot in names]
    assert len(values) == len(places)
    return dict(zip(places, values))


@pytest.mark.parametrize("name", CASES)
def test_equals_keras(name, tmp_path):
    options, make_optimizer, slots = CASES[name]
    weights, data = job.first_weights(), job.batches()
    losses, ours = job.train(tmp_path, weights, data, [*options, "--formula", "keras"])
    model, expected = train_in_keras(weights, data, make_optimizer)
    assert len(losses) == job.STEPS
    assert job.difference(losses, expected) <= job.TOLERANCE
    for key, value in zip(ALL, model.get_weights()):
        assert job.difference(ours[key], to_onnx(key, value)) <= job.TOLERANCE, key
        assert job.difference(weights[key], to_onnx(key, value)) > 1e-4, f"{key} was never changed"
    for (key, slot), value in slots_of(model.optimizer, slots).items():
        assert job.difference(ours[f"{key}.{slot}"], to_onnx(key, value)) <= job.TOLERANCE, slot
    assert ours["iterations"] == job.STEPS
