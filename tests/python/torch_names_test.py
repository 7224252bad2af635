"""Parameters keep their names; ours give way, and the training info tells by which."""

import numpy as np
import pytest
import torch
from torch import nn
from torch_training import train

import onward
import onward.torch

OURS = ["label", "loss", "output", "step", "iterations", "learning_rate", "one", "zero", "beta1", "epsilon", "weight",
        "linear", "add", "mul", "input", "x", "N", "T", "loss_2", "step_2", "difference", "momentum_buffer", "val_0"]


class Named(nn.Module):
    """A parameter and a buffer, each named by whoever asks for it."""

    def __init__(self, parameter, buffer="other"):
        super().__init__()
        torch.manual_seed(1)
        self.head = nn.Linear(4, 3)
        self.parameter, self.buffer = parameter, buffer
        setattr(self, parameter, nn.Parameter(torch.randn(3)))
        self.register_buffer(buffer, torch.randn(3))

    def forward(self, x):
        return torch.nn.functional.linear(x, self.head.weight, self.head.bias) * getattr(self, self.buffer) + \
            getattr(self, self.parameter) * 0.5


ADAM = lambda parameters: torch.optim.Adam(parameters, lr=0.01)
MOMENTUM = lambda parameters: torch.optim.SGD(parameters, lr=0.01, momentum=0.9, dampening=0.5)
CASES = {
    **{name: (lambda name=name: Named(name), ADAM, nn.CrossEntropyLoss()) for name in OURS},
    "a buffer": (lambda: Named("label", "step"), MOMENTUM, nn.CrossEntropyLoss()),
    "a loss's graph": (lambda: Named("label", "loss"), ADAM, nn.CrossEntropyLoss(reduction="sum")),
    "a loss's numbers": (lambda: Named("difference", "output"), ADAM, nn.MSELoss(reduction="sum")),
    "slots": (lambda: slot_names(), ADAM, nn.CrossEntropyLoss()),
}


def slot_names():
    """A module whose parameters are named like slots of another."""
    model = Named("bias")
    model.register_module("bias_", nn.Module())
    model.head.register_parameter("weight.exp_avg".replace(".", "_"), nn.Parameter(torch.ones(1)))
    return model


@pytest.mark.parametrize("name", CASES)
def test_ours_give_way(name):
    make, optimizer_of, loss = CASES[name]
    model = make().double()
    optimizer = optimizer_of(model.parameters())
    random = np.random.default_rng(2)
    labels = (lambda: random.integers(0, 3, 5)) if not isinstance(loss, nn.MSELoss) else (lambda: random.normal(size=(5, 3)))
    batches = [(torch.from_numpy(random.normal(size=(5, 4))), torch.from_numpy(labels())) for _ in range(8)]
    train(model, loss, optimizer, batches[:4])
    exported = onward.torch.export(model, loss, optimizer, (batches[0][0],))
    assert exported.check() == []
    training, trainer = exported.training[0], onward.Trainer(exported)
    names = training.names
    assert trainer.state()[names["step"]] == (4 if optimizer_of is ADAM else 1)
    assert trainer.state()[names["learning_rate"]] == 0.01
    found = [trainer.step({exported.inputs[0].name: x, names["label"]: label})[names["loss"]] for x, label in batches[4:]]
    assert np.allclose(found, train(model, loss, optimizer, batches[4:]), rtol=1e-12, atol=0)
    state, slots = trainer.state(), ("exp_avg", "exp_avg_sq") if optimizer_of is ADAM else ("momentum_buffer",)
    for key, parameter in model.named_parameters():
        if key not in state:
            continue
        assert np.allclose(state[key], parameter.detach(), rtol=1e-12, atol=1e-14), key
        for slot in slots:
            assert np.allclose(state[training.slots[key][slot]], optimizer.state[parameter][slot], rtol=1e-10, atol=1e-14)
    x = batches[0][0]
    assert np.allclose(trainer.infer({exported.inputs[0].name: x})[exported.outputs[0].name], model(x).detach(), rtol=1e-12)
