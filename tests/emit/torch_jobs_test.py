"""A job that goes to PyTorch goes on there as it would have here, and comes back."""

import numpy as np
import pytest
import torch

from emitted import module_of
from jobs import (CONTROL_FLOW, GRU, LSTM, MORE_LOSSES, ONE_BIAS, OPEN_LOOPS, OPTIMIZERS, TABLE, assert_same_state, relay,
                  taken_back_exactly)

TOLERANCE = {"double": 1e-8, "float": 1e-3}


def train(folder, made):
    module = module_of(folder)
    model, loss_function, optimizer = module.load()
    model.train()
    losses = []
    for batch in made:
        optimizer.zero_grad()
        loss = loss_function(model(torch.from_numpy(batch["image"])), torch.from_numpy(batch["label"]))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    module.save(model, optimizer)
    return losses


def check(tmp_path, options, **more):
    expected, made = relay(tmp_path, "torch", options, **more)
    losses = train(tmp_path / "torch", made)
    dtype = more.get("dtype", "double")
    np.testing.assert_allclose(losses, expected, rtol=TOLERANCE[dtype])
    if dtype == "double":
        assert_same_state(tmp_path, "torch", 1e-8)
    taken_back_exactly(tmp_path, "torch")


@pytest.mark.parametrize("kind, formula", OPTIMIZERS)
def test_optimizers(tmp_path, kind, formula):
    variance = "unbiased" if formula == "torch" else "biased"
    check(tmp_path, ["--optimizer", kind, "--formula", formula, "--lr", "0.02", "--bn", "batch",
                     "--bn-variance", variance, *OPTIMIZERS[kind, formula]])


def test_adamw_without_decay(tmp_path):
    check(tmp_path, ["--optimizer", "adamw", "--weight-decay", "0"])


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


def test_rows_that_are_read_several_times(tmp_path):
    check(tmp_path, ["--optimizer", "adam"], network=TABLE)


@pytest.mark.parametrize("network", [LSTM, GRU], ids=["LSTM", "GRU"])
@pytest.mark.parametrize("kind, formula", [("adam", "torch"), ("momentum", "torch")])
def test_recurrent_layers(tmp_path, network, kind, formula):
    """Their weights are cut by directions and gates there, and put together again."""
    check(tmp_path, ["--optimizer", kind, "--formula", formula, "--lr", "0.02"], network=network)
    source = (tmp_path / "torch/model.py").read_text()
    for layer in (["nn.LSTM(4, 3, batch_first=True, bidirectional=True", "nn.LSTM(6, 2, batch_first=True, "] if network == LSTM
                  else ["nn.GRU(4, 3, batch_first=True, bidirectional=True", "nn.RNN(6, 2, nonlinearity"]):
        assert layer in source


@pytest.mark.parametrize("network", [ONE_BIAS, CONTROL_FLOW, OPEN_LOOPS], ids=["GRU", "control flow", "open loops"])
def test_loops(tmp_path, network):
    """Autograd follows a GRU that PyTorch has no layer for, and loops and branches with weights inside."""
    constants = ["--freeze", "none", "--freeze", "few"] if network == ONE_BIAS else []
    check(tmp_path, ["--optimizer", "adam", *constants], network=network)
    assert "\n        for " in (tmp_path / "torch/model.py").read_text()


def test_frozen_recurrent_layers(tmp_path):
    check(tmp_path, ["--optimizer", "adam", "--freeze", "lstm.W", "--freeze", "second.B"], network=LSTM)
    model, _, _ = module_of(tmp_path / "torch").load()
    trained = {name for name, p in model.named_parameters() if p.requires_grad}
    assert "lstm.weight_hh_l0_reverse" in trained and "second.weight_ih_l0" in trained
    assert not trained & {"lstm.weight_ih_l0", "lstm.weight_ih_l0_reverse", "second.bias_ih_l0", "second.bias_hh_l0"}


def test_frozen_parts(tmp_path):
    check(tmp_path, ["--optimizer", "adam", "--freeze", "features.*", "--freeze", "norm.bias"])
    model, _, _ = module_of(tmp_path / "torch").load()
    trained = {name for name, p in model.named_parameters() if p.requires_grad}
    assert trained == {"dense.weight", "dense.bias", "norm.weight", "head.weight", "head.bias"}


def test_float32(tmp_path):
    check(tmp_path, ["--optimizer", "adamw", "--bn", "batch"], dtype="float")
