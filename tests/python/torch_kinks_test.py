"""Where a derivative jumps, or elements tie, it is PyTorch's own; function by function, in float64 to 1e-12."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import torch_training  # noqa: F401  (makes exports quicker)
from torch import nn

import onward
import onward.torch

FUNCTIONS = {
    "relu": F.relu, "abs": torch.abs, "clamp": lambda z: z.clamp(-1, 1), "clamp_min": lambda z: z.clamp_min(0),
    "clamp_max": lambda z: z.clamp_max(1), "clamp, min": lambda z: z.clamp(min=-1), "clamp, max": lambda z: z.clamp(max=2),
    "clamp to a point": lambda z: z.clamp(1, 1), "clamp crossed": lambda z: z.clamp(1, -1) + z,
    "clamp_": lambda z: (1 * z).clamp_(-1, 1), "hardtanh": F.hardtanh, "hardtanh, wide": lambda z: F.hardtanh(z, -2, 0),
    "relu6": F.relu6, "leaky": F.leaky_relu, "leaky, 0.3": lambda z: F.leaky_relu(z, 0.3),
    "leaky, 0.25": lambda z: F.leaky_relu(z, 0.25), "leaky, negative": lambda z: F.leaky_relu(z, -0.5),
    "maximum": lambda z: torch.maximum(z, z * z), "minimum": lambda z: torch.minimum(z, z * z),
    "maximum, 0": lambda z: torch.maximum(z, torch.zeros_like(z)),
    "pow 2": lambda z: z**2, "pow 3": lambda z: z**3, "pow 1": lambda z: z**1.0, "pow 0": lambda z: z**0,
    "pow 1.5": lambda z: z.abs() ** 1.5, "pow of 2": lambda z: torch.pow(2.0, z),
    "pow of both": lambda z: torch.pow(z.abs() + 1, z * z), "clamp, 0.13": lambda z: z.clamp(-0.13, 0.77),
    "amax": lambda z: z + z.amax(1, keepdim=True), "amax, 0": lambda z: z + z.amax(0, keepdim=True),
    "amin": lambda z: z + z.amin(1, keepdim=True), "amin of all": lambda z: z * z.amin(), "product": lambda z: z + z.prod(1, keepdim=True),
    "amax of all": lambda z: z * z.amax(), "where gt": lambda z: torch.where(z > 0, z, 0.3 * z),
    "where lt": lambda z: torch.where(z < 1, z, z * z), "where eq": lambda z: torch.where(z == 1, z * 3, z * z),
    "mask": lambda z: z * (z > 0), "max_pool": lambda z: F.max_pool2d(z, 2),
    "max_pool, padded": lambda z: F.max_pool2d(z, 3, 2, 1), "max_pool, ceil": lambda z: F.max_pool2d(z, 3, 2, ceil_mode=True),
    "max_pool, dilated": lambda z: F.max_pool2d(z, 2, 1, dilation=2), "max_pool, overlapping": lambda z: F.max_pool2d(z, 3, 1, 1),
    "avg_pool, ceil": lambda z: F.avg_pool2d(z, 3, 2, ceil_mode=True),
    "avg_pool, padded": lambda z: F.avg_pool2d(z, 3, 2, 1, ceil_mode=True),
    "avg_pool, uncounted": lambda z: F.avg_pool2d(z, 3, 2, 1, count_include_pad=False),
    "avg_pool, uncounted, ceil": lambda z: F.avg_pool2d(z, 3, 2, 1, count_include_pad=False, ceil_mode=True),
    "gelu": F.gelu, "silu": F.silu, "reflect": lambda z: F.pad(z, (1, 2, 2, 1), mode="reflect"),
    "circular": lambda z: F.pad(z, (1, 2, 2, 1), mode="circular"), "negative pad": lambda z: F.pad(z, (-1, 2, 2, -1), value=0.1),
    "slice": lambda z: z[..., ::2], "negative slice": lambda z: z[:, :, -3:, 1:-1],
    "numbers": lambda z: z * (1 / 3) + 0.1 - z / 0.7, "tensor": lambda z: z * torch.tensor([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]),
    "integers": lambda z: z * 16777217 / 16777216, "mean": lambda z: z - z.mean(0), "size": lambda z: z * z - z.sum(0) / z.size(0),
    "softmax, 0": lambda z: F.softmax(z, 0), "squeeze, idle": lambda z: z.squeeze(1) * 2, "squeeze, all idle": lambda z: z.squeeze() * 2,
    "squeeze": lambda z: z[:, :1].squeeze(1) + z[:, :1, :1].squeeze().unsqueeze(1), "squeeze, some": lambda z: z[:, :1].squeeze((1, 2, -1)),
    "index_select": lambda z: z.index_select(2, torch.tensor([0, 0, 3, 5])), "rsub": lambda z: 1.3 - z,
    "reciprocal": lambda z: 1 / (z.abs() + 0.7), "chunk": lambda z: z.chunk(4, -1)[1] * z.chunk(4, -1)[2].sum(),
    "split": lambda z: torch.split(z, 4, -1)[1], "unflatten": lambda z: z.unflatten(-1, (2, 3)).sum(-1),
    "expand": lambda z: z[:, :1].expand(-1, 2, -1, -1) * z, "mean of all": lambda z: z * z.mean(),
    "log": lambda z: torch.log(z.abs() + 0.3), "sqrt": lambda z: torch.sqrt(z.abs() + 0.1), "erf": torch.erf,
}


def parameter(name):
    return "w_" + "".join(letter if letter.isalnum() else "_" for letter in name)


class AllFunctions(nn.Module):
    """Each function of the data and a parameter of its own, a column for each: one export for all."""

    def __init__(self):
        super().__init__()
        for name, function in FUNCTIONS.items():
            self.register_parameter(parameter(name), nn.Parameter(torch.zeros(2, 6, 6)))
            self.register_buffer("c_" + parameter(name), torch.randn(function(torch.ones(6, 2, 6, 6)).shape[1:]))

    def forward(self, x):
        parts = []
        for name, function in FUNCTIONS.items():
            result = torch.tanh(function(x + getattr(self, parameter(name)))) * getattr(self, "c_" + parameter(name))
            parts.append(result.flatten(1).sum(1))
        return torch.stack(parts, 1)


@pytest.fixture(scope="module")
def both():
    """Both gradients by parameter, at whole numbers: there the kinks are."""
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        torch.manual_seed(0)
        model, loss = AllFunctions(), nn.MSELoss()
        x = torch.randint(-2, 3, (6, 2, 6, 6), generator=torch.Generator().manual_seed(3)).double()
        label = torch.randn(6, len(FUNCTIONS))
        trainer = onward.Trainer(onward.torch.export(model, loss, torch.optim.SGD(model.parameters(), lr=0.1), (x,)))
        found = []
        for size in (6, 4):
            model.zero_grad()
            loss(model(x[:size]), label[:size]).backward()
            found.append((trainer.gradients({"x": x[:size].numpy(), "label": label[:size].numpy()}),
                          {name: each.grad.numpy() for name, each in model.named_parameters()}))
        return found
    finally:
        torch.set_default_dtype(default)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_gradient_is_pytorch_s(both, name):
    for ours, theirs in both:
        scale = np.abs(theirs[parameter(name)]).max()
        assert scale > 0 or name in ("pow 0", "clamp to a point")
        assert np.allclose(ours[parameter(name)], theirs[parameter(name)], rtol=0, atol=1e-12 * max(scale, 1))
