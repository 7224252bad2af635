"""What can't be exact in Onward is refused by name, with what it is in Keras."""

import pathlib

import keras
import numpy as np
import pytest
from keras import layers, ops

import onward
import onward.keras
from keras_training import assert_same_step, batches_for, functional, in_type, train


@pytest.fixture(autouse=True)
def float64():
    in_type("float64")
    keras.utils.set_random_seed(1)


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


class NeverDrops(Own):
    def __init__(self):
        super().__init__()
        self.drop = layers.Dropout(0.5)

    def call(self, x):
        return self.layer(self.drop(x, training=False))


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


def test_a_dropout_that_is_called_without_training_drops_nothing():
    model = own(NeverDrops, keras.Input((4,)))
    exported = onward.keras.export(model)
    trainer, random = onward.Trainer(exported), np.random.default_rng(4)
    batches = [(random.normal(size=(6, 4)), random.normal(size=(6, 2))) for _ in range(5)]
    losses = [float(trainer.step({exported.inputs[0].name: x, "label": label})["loss"]) for x, label in batches]
    np.testing.assert_allclose(losses, train(model, batches), rtol=1e-12)


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
    "operation": (lambda: compiled(lambda x: ops.sort(layers.Dense(2)(x))), "Sort 'sort.*' can't be exported"),
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
    "other loss": (lambda: compiled(loss="log_cosh"), "'log_cosh' can't be exported"),
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
