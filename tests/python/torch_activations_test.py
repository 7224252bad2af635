"""Every row of the table of activations, by each name that PyTorch has for it: results, and a step of training."""

import numpy as np
import pytest
import torch
import torch_training  # noqa: F401  (makes exports quicker)
from torch import nn

import onward
import onward.torch
from onward._activations import ACTIVATIONS

OTHERS = [-8.0, -2.5, -1.0, -0.6, -0.3, 0.2, 0.7, 1.0, 1.4, 2.6, 3.5, 7.0]


def function(name):
    return getattr(nn.functional, name, None) or getattr(torch, name)


WAYS = {**{row.torch: (row, function(row.torch)) for row in ACTIVATIONS if row.torch},
        **{row.module: (row, getattr(nn, row.module)()) for row in ACTIVATIONS if row.module}}


def places(row, compute):
    """Kinks and other numbers, where the function has a value and a derivative."""
    x = torch.tensor([*row.kinks, *OTHERS], requires_grad=True)
    y = compute(x)
    y.sum().backward()
    return x.detach()[torch.isfinite(y) & torch.isfinite(x.grad)]


class AllActivations(nn.Module):
    """Each of a parameter of its own, beside each other: one export for all."""

    def __init__(self):
        super().__init__()
        self.places = nn.ParameterDict({name: nn.Parameter(places(*way)) for name, way in WAYS.items()})

    def forward(self, x):
        return torch.cat([compute(self.places[name] + x) for name, (_, compute) in WAYS.items()], 1)


@pytest.fixture(scope="module")
def both():
    """The module after a step, what it gave before, and the same of Onward."""
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        model, loss = AllActivations(), nn.MSELoss(reduction="sum")
        optimizer = torch.optim.SGD(model.parameters(), lr=0.125)
        x = torch.zeros(2, 1)
        trainer = onward.Trainer(onward.torch.export(model, loss, optimizer, (x,)))
        results = trainer.infer({"x": x.numpy()})["output"]
        expected = model(x)
        label = torch.linspace(-1, 1, expected.numel()).reshape(expected.shape)
        loss(expected, label).backward()
        optimizer.step()
        trainer.step({"x": x.numpy(), "label": label.numpy()})
        return model, expected.detach().numpy(), results, trainer.state()
    finally:
        torch.set_default_dtype(default)


@pytest.mark.parametrize("name", WAYS)
def test_is_as_in_pytorch(both, name):
    model, expected, results, state = both
    sizes = {each: len(place) for each, place in model.places.items()}
    start = sum(sizes[each] for each in list(WAYS)[:list(WAYS).index(name)])
    columns = slice(start, start + sizes[name])
    assert sizes[name] > len(WAYS[name][0].kinks) + 3
    np.testing.assert_allclose(results[:, columns], expected[:, columns], rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(state[f"places.{name}"], model.places[name].detach().numpy(), rtol=1e-12, atol=1e-14)
