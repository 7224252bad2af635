"""A loss reads what the module gives, whatever computed that: nothing is looked through."""

import numpy as np
import pytest
import torch
import torch_training  # noqa: F401  (makes exports quicker)
from torch import nn

import onward
import onward.torch

CLASSES = torch.tensor([2, 0, 1, 1, 2])
NUMBERS = torch.tensor(np.random.default_rng(1).uniform(size=(5, 3)))
X = torch.tensor(np.random.default_rng(2).normal(size=(5, 4)))

LOSSES = {
    "cross entropy": (nn.CrossEntropyLoss(), CLASSES),
    "cross entropy, sum": (nn.CrossEntropyLoss(reduction="sum"), CLASSES),
    "cross entropy, weights": (nn.CrossEntropyLoss(weight=torch.tensor([0.5, 1.5, 2.0], dtype=torch.float64)), CLASSES),
    "likelihood": (nn.NLLLoss(), CLASSES),
    "binary": (nn.BCEWithLogitsLoss(), NUMBERS),
    "binary, sum": (nn.BCEWithLogitsLoss(reduction="sum"), NUMBERS),
    "squares": (nn.MSELoss(), NUMBERS),
    "squares, sum": (nn.MSELoss(reduction="sum"), NUMBERS),
    "absolute": (nn.L1Loss(), NUMBERS),
}
MORE_LOSSES = {
    "cross entropy, smoothed": (nn.CrossEntropyLoss(label_smoothing=0.2), CLASSES),
    "cross entropy, smoothed, weights, sum": (nn.CrossEntropyLoss(
        weight=torch.tensor([0.5, 1.5, 2.0], dtype=torch.float64), label_smoothing=0.2, reduction="sum"), CLASSES),
    "cross entropy, smoothed, weights": (nn.CrossEntropyLoss(
        weight=torch.tensor([0.5, 1.5, 2.0], dtype=torch.float64), label_smoothing=0.2), CLASSES),
    "likelihood, weights": (nn.NLLLoss(weight=torch.tensor([0.5, 1.5, 2.0], dtype=torch.float64)), CLASSES),
    "binary, weight": (nn.BCEWithLogitsLoss(pos_weight=torch.tensor(2.5, dtype=torch.float64)), NUMBERS),
    "smooth absolute": (nn.SmoothL1Loss(), NUMBERS),
    "smooth absolute, beta": (nn.SmoothL1Loss(beta=0.3, reduction="sum"), NUMBERS),
    "Huber": (nn.HuberLoss(), NUMBERS),
    "Huber, delta": (nn.HuberLoss(delta=0.3), NUMBERS),
    "divergence": (nn.KLDivLoss(reduction="sum"), NUMBERS),
    "divergence, zeros": (nn.KLDivLoss(), NUMBERS.round()),
    "divergence of logarithms": (nn.KLDivLoss(log_target=True), NUMBERS),
    "Poisson": (nn.PoissonNLLLoss(), NUMBERS),
    "Poisson of rates": (nn.PoissonNLLLoss(log_input=False, eps=1e-4), NUMBERS),
    "binary of probabilities": (nn.BCELoss(), NUMBERS),
    "binary of probabilities, sum": (nn.BCELoss(reduction="sum"), NUMBERS.round()),
}
FUNCTIONS = {
    "softmax": lambda x: x.softmax(1),
    "softmax of another axis": lambda x: x.softmax(0),
    "log softmax": lambda x: x.log_softmax(-1),
    "sigmoid": lambda x: x.sigmoid(),
}
AFTERWARDS = {
    "nothing": lambda x: x,
    "clone": lambda x: x.clone(),
    "contiguous": lambda x: x.contiguous(),
    "to": lambda x: x.to(torch.float64),
    "Identity": nn.Identity(),
    "dropout": nn.Dropout(0.0),
    "reshape": lambda x: x.reshape(-1, 3),
    "transposed twice": lambda x: x.transpose(0, 1).contiguous().permute(1, 0),
    "slice": lambda x: x[:, :3],
    "a product": lambda x: x * 1.0,
    "twice": lambda x: torch.softmax(x, 1),
}


class Model(nn.Module):
    """All of FUNCTIONS or all of AFTERWARDS on heads of their own; the loss reads one of them."""

    def __init__(self, function, afterwards):
        super().__init__()
        torch.manual_seed(3)
        self.head = nn.Linear(4, 3).double()
        self.function, self.afterwards = function, afterwards

    def forward(self, x):
        return self.afterwards(self.function(self.head(x)))


def assert_same_loss(model, loss, label, x=X):
    """The loss and the gradients of a step, and what the step leaves."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    trainer = onward.Trainer(onward.torch.export(model, loss, optimizer, (x,)))
    batch = {"x": x.numpy(), "label": label.numpy()}
    value = loss(model.train()(x), label)
    value.backward()
    gradients = trainer.gradients(batch)
    for name, parameter in model.named_parameters():
        assert np.allclose(gradients[name], parameter.grad, rtol=1e-12, atol=1e-14), name
    assert np.allclose(trainer.step(batch)["loss"], value.item(), rtol=1e-12, atol=0)


CASES = [*((loss, function, "clone") for loss in LOSSES for function in FUNCTIONS if "squares" not in loss),
         *(("cross entropy", "softmax", afterwards) for afterwards in AFTERWARDS),
         *(("binary", "sigmoid", afterwards) for afterwards in AFTERWARDS),
         ("squares", "sigmoid", "clone"), ("squares, sum", "softmax", "Identity"),
         *((loss, "sigmoid", "nothing") for loss in MORE_LOSSES),
         ("likelihood", "log softmax", "nothing"), ("cross entropy", "log softmax", "nothing")]


@pytest.mark.parametrize("loss, function, afterwards", CASES)
def test_a_loss_reads_the_output(loss, function, afterwards):
    assert_same_loss(Model(FUNCTIONS[function], AFTERWARDS[afterwards]), *(LOSSES | MORE_LOSSES)[loss])


@pytest.mark.parametrize("loss", [each for each in LOSSES | MORE_LOSSES if each.startswith(("cross entropy", "likelihood"))])
def test_labels_of_minus_100_are_ignored(loss):
    label = torch.tensor([2, -100, 1, -100, 0])
    assert_same_loss(Model(lambda x: x, lambda x: x), (LOSSES | MORE_LOSSES)[loss][0], label)


def test_pixels_of_minus_100_are_ignored():
    model = nn.Sequential(nn.Conv2d(1, 3, 1)).double()
    model.forward = lambda x: model[0](x)
    label = torch.tensor(np.random.default_rng(4).integers(0, 3, (2, 4, 4)))
    label[0, 1:3, 2] = -100
    assert_same_loss(model, nn.CrossEntropyLoss(), label, torch.randn(2, 1, 4, 4, dtype=torch.float64))


class Zero(nn.Module):
    """An output of exactly zero, where the parts of the binary loss have kinks."""

    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(3, dtype=torch.float64))

    def forward(self, x):
        return 0 * x[:, :3] + self.bias


@pytest.mark.parametrize("loss", ["binary", "binary, sum"])
def test_slopes_of_the_binary_loss_at_zero(loss):
    assert_same_loss(Zero(), *LOSSES[loss])


def test_slope_of_the_absolute_loss_at_zero():
    assert_same_loss(Zero(), nn.L1Loss(), torch.tensor([[0.0, 1.0, 0.0]] * 5, dtype=torch.float64))
