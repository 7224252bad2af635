"""A job that goes to Keras goes on there as it would have here, and comes back."""

import contextlib

import keras
import numpy as np
import pytest
from keras import ops
from safetensors.numpy import save_file

from emitted import module_of, onward
from jobs import (CONTROL_FLOW, GRU, LSTM, MORE_LOSSES, ONE_BIAS, OPEN_LOOPS, OPTIMIZERS, TABLE, TWO_BIASES, assert_same_state, prepared, relay,
                  steps_of, taken_back_exactly)

TOLERANCE = {"double": 1e-8, "float": 1e-3}


def train(folder, made):
    module = module_of(folder)
    model, loss_function, optimizer = module.load()
    losses = []
    for batch in made:
        model.reset_metrics()
        losses.append(model.train_on_batch(batch["image"], batch["label"]))
    module.save(model, optimizer)
    return losses


def check(tmp_path, options, **more):
    expected, made = relay(tmp_path, "keras", options, **more)
    losses = train(tmp_path / "keras", made)
    dtype = more.get("dtype", "double")
    np.testing.assert_allclose(losses, expected, rtol=TOLERANCE[dtype])
    if dtype == "double":
        assert_same_state(tmp_path, "keras", 1e-8)
    taken_back_exactly(tmp_path, "keras")


@pytest.mark.parametrize("kind, formula", OPTIMIZERS)
def test_optimizers(tmp_path, kind, formula):
    variance = "unbiased" if formula == "torch" else "biased"
    check(tmp_path, ["--optimizer", kind, "--formula", formula, "--lr", "0.02", "--bn", "batch",
                     "--bn-variance", variance, *OPTIMIZERS[kind, formula]])


@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
@pytest.mark.parametrize("kind", ["momentum", "nesterov", "adam", "adamw"])
def test_rounded_numbers(tmp_path, kind, backend):
    """Keras on TensorFlow rounds its numbers to float32; a job from another backend has them whole."""
    check(tmp_path, ["--optimizer", kind, "--formula", "keras", "--lr", "0.01", "--weight-decay", "0.01",
                     "--keras-backend", backend])


def test_adamw_without_decay(tmp_path):
    check(tmp_path, ["--optimizer", "adamw", "--formula", "keras", "--weight-decay", "0"])


@pytest.mark.parametrize("kind, formula", [("adam", "torch"), ("adam", "keras"), ("adagrad", "keras"),
                                           ("momentum", "keras")])
def test_rows_that_are_read_several_times(tmp_path, kind, formula):
    """Their gradients are summed before they are squared. The loss has its classes in dimension 1."""
    check(tmp_path, ["--optimizer", kind, "--formula", formula], network=TABLE)


LAYERS = {
    "LSTM": (LSTM, ["layers.Bidirectional(layers.RNN(TwoBiasLSTMCell(3), return_sequences=True", "go_backwards=True"]),
    "GRU": (GRU, ["layers.Bidirectional(layers.GRU(3, return_sequences=True, return_state=True))",
                  "TwoBiasRNNCell(2, activation=\"relu\")"]),
    "GRU of two biases": (TWO_BIASES, ["layers.Bidirectional(layers.RNN(TwoBiasGRUCell(3), return_sequences=True"]),
    "one bias": (ONE_BIAS, ["layers.LSTM(3, return_sequences=True, go_backwards=True)",
                            "layers.GRU(2, reset_after=False, return_state=True)",
                            "layers.SimpleRNN(2, use_bias=False, return_state=True)"]),
}


@pytest.mark.parametrize("kind, formula", [("adam", "keras"), ("momentum", "torch")])
@pytest.mark.parametrize("network, layers", LAYERS.values(), ids=LAYERS)
def test_recurrent_layers(tmp_path, network, layers, kind, formula):
    """Their weights are cut by directions and gates there, and put together again."""
    constants = ["--freeze", "none", "--freeze", "few"] if network == ONE_BIAS else []
    check(tmp_path, ["--optimizer", kind, "--formula", formula, "--lr", "0.0078125", *OPTIMIZERS[kind, formula], *constants],
          network=network)
    source = (tmp_path / "keras/model.py").read_text()
    for layer in layers:
        assert layer in source


def test_frozen_recurrent_layers(tmp_path):
    check(tmp_path, ["--optimizer", "adam", "--formula", "keras", "--freeze", "lstm.W", "--freeze", "second.?"], network=LSTM)
    module = module_of(tmp_path / "keras")
    model, _, _ = module.load()
    names = {id(variable): name for name, variable in module.tensors(model).items()}
    trained = {names[id(variable)] for variable in model.trainable_variables}
    assert trained == {"head.kernel", "head.bias",
                       *(f"lstm.{way}_layer.cell.{name}" for way in ("forward", "backward")
                         for name in ("recurrent_kernel", "bias", "recurrent_bias"))}


@pytest.mark.parametrize("network, calls", [(CONTROL_FLOW, ["scanned(step", "ops.fori_loop(0, 3, ", "ops.cond("]),
                                            (OPEN_LOOPS, ["scanned_while(", "maximum_iterations=6", "ops.while_loop("])],
                         ids=["control flow", "open loops"])
def test_loops(tmp_path, network, calls):
    """Gradients pass loops and branches with weights inside, also where data ends a loop; a file of Keras keeps them."""
    check(tmp_path, ["--optimizer", "adam", "--formula", "keras"], network=network)
    source = (tmp_path / "keras/model.py").read_text()
    for call in calls:
        assert call in source
    model, _, _ = module_of(tmp_path / "keras").load()
    image = np.random.default_rng(5).normal(size=(3, 5, 4))
    expected = model(image)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded.predict(image, verbose=0), expected, rtol=1e-12)


@pytest.mark.parametrize("network, trains", [(CONTROL_FLOW, True), (OPEN_LOOPS, False)], ids=["control flow", "open loops"])
def test_training_on_jax(tmp_path, monkeypatch, network, trains):
    """JAX has gradients of loops whose trips are known, and of no others."""
    onward("export", prepared(tmp_path, "--loss", "mse", "--optimizer", "sgd", network=network), "--to", "keras",
           "-o", tmp_path / "keras")
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    load = module_of(tmp_path / "keras").load
    with contextlib.nullcontext() if trains else pytest.raises(RuntimeError, match="JAX has no gradient"):
        load()


@pytest.mark.parametrize("variance", ["biased", "unbiased"])
def test_batch_norm(tmp_path, variance):
    check(tmp_path, ["--optimizer", "adam", "--bn", "batch", "--bn-variance", variance, "--bn-momentum", "0.7"])


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("loss", ["mse", "l1", "bce_with_logits"])
def test_losses(tmp_path, loss, reduction):
    check(tmp_path, ["--optimizer", "adam", "--reduction", reduction], loss=loss)


@pytest.mark.parametrize("loss, options", MORE_LOSSES)
def test_losses_that_are_written_out(tmp_path, loss, options):
    check(tmp_path, ["--optimizer", "adam", *options], loss=loss)


def test_frozen_parts(tmp_path):
    check(tmp_path, ["--optimizer", "adam", "--freeze", "features.*", "--freeze", "norm.bias"])
    module = module_of(tmp_path / "keras")
    model, _, _ = module.load()
    names = {id(variable): name for name, variable in module.tensors(model).items()}
    assert {names[id(variable)] for variable in model.trainable_variables} == {
        "dense.kernel", "dense.bias", "norm.gamma", "head.kernel", "head.bias"}


def test_float32(tmp_path):
    check(tmp_path, ["--optimizer", "adamw", "--bn", "batch"], dtype="float")


def test_evaluation_reads_logits(tmp_path):
    """The model gives probabilities, its loss is of the logits: in evaluation too."""
    relay(tmp_path, "keras", ["--optimizer", "sgd"])
    model, _, _ = module_of(tmp_path / "keras").load()
    image = np.random.default_rng(1).normal(size=(5, 2, 8, 8))
    label = np.array([0, 1, 2, 1, 0])
    probabilities = ops.convert_to_numpy(model(image))
    expected = -np.log(probabilities[np.arange(5), label]).mean()
    np.testing.assert_allclose(model.evaluate(image, label, verbose=0), expected, rtol=1e-9)


def test_metrics_read_probabilities(tmp_path):
    """Though the loss reads logits; and the body is computed once."""
    relay(tmp_path, "keras", ["--optimizer", "sgd", "--lr", "0"])
    module = module_of(tmp_path / "keras")
    model, loss_function, optimizer = module.load()
    model.compile(optimizer=optimizer, loss=loss_function, metrics=["sparse_categorical_accuracy", largest])
    image = np.random.default_rng(1).normal(size=(6, 2, 8, 8))
    label = np.array([0, 1, 2, 1, 0, 2])
    probabilities = ops.convert_to_numpy(model(image))
    history = model.fit(image, label, batch_size=3, verbose=0, validation_data=(image, label)).history
    for prefix in ("", "val_"):
        np.testing.assert_allclose(history[prefix + "largest"], probabilities.max(-1).mean(), rtol=1e-9)
        np.testing.assert_allclose(history[prefix + "sparse_categorical_accuracy"],
                                   (probabilities.argmax(-1) == label).mean(), rtol=1e-9)
    np.testing.assert_allclose(model.predict(image, verbose=0), probabilities, rtol=1e-9)
    text = (tmp_path / "keras/model.py").read_text()
    assert text.count("self.head(") == 1


def largest(label, prediction):
    return ops.max(prediction, axis=-1)


# A prediction of one column, and labels that are a row: their difference is a table.
COLUMN = """
<ir_version: 8, opset_import: ["" : 17]>
column ({type}[N,2,8,8] image) => ({type}[N,1] scores) <{type}[128,1] weight = normal(1, 0.1)>
{{
  flat = Flatten(image)
  scores = MatMul(flat, weight)
}}
"""
TABLE_LOSS = """
<ir_version: 8, opset_import: ["" : 17]>
sum_of_squares (double[N,1] scores, double[M] label) => (double loss)
{ difference = Sub(scores, label) squares = Mul(difference, difference) loss = ReduceSum<keepdims = 0>(squares) }
"""


def test_labels_keep_their_shape(tmp_path):
    """Keras would make a column of labels in a row, for a loss that is a plain function."""
    (tmp_path / "loss.onnxtxt").write_text(TABLE_LOSS)
    job = prepared(tmp_path, "--loss", tmp_path / "loss.onnxtxt", "--optimizer", "sgd", "--lr", "0.001", "--train", "weight",
                   network=COLUMN)
    random = np.random.default_rng(3)
    made = [{"image": random.normal(size=(4, 2, 8, 8)), "label": random.normal(size=4)} for _ in range(5)]
    data = tmp_path / "data.safetensors"
    save_file({f"{i}.{name}": array for i, batch in enumerate(made) for name, array in batch.items()}, data)
    onward("export", job, "--to", "keras", "-o", tmp_path / "keras")
    expected = steps_of(job, data, 5, tmp_path / "ahead")
    np.testing.assert_allclose(train(tmp_path / "keras", made), expected, rtol=1e-8)
    assert_same_state(tmp_path, "keras", 1e-8)
