"""Every function of PyTorch that can be exported computes and trains as in PyTorch, in float64."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch_training import assert_goes_on

from onward import _torch_program as programs
from onward._activations import ACTIVATIONS

EPS = 2.0**-16


class Rows(nn.Module):
    """A function of rows of six numbers, some of which are exactly zero."""

    def __init__(self, function):
        super().__init__()
        self.first = nn.Linear(4, 6)
        self.scale = nn.Parameter(torch.linspace(0.5, 1.5, 6))
        self.register_buffer("places", torch.tensor([4, 0, 2]))
        self.function = function

    def forward(self, x):
        return self.function(self, self.first(x))


def smooth(m, x):
    a = torch.exp(-x.abs())
    b = torch.log(a + 1.3)
    c = torch.sqrt(b + 0.7) * torch.rsqrt(b + 0.9)
    d = torch.erf(c) / (c.reciprocal() + 0.3)
    return torch.tanh(d) + torch.sigmoid(x) + F.silu(x) - F.gelu(x) + F.gelu(x, approximate="tanh") + x**2 + (0.7 - x)


def piecewise(m, x):
    on = torch.relu(x)  # with zeros, where the slopes of the others jump
    a = F.leaky_relu(on, 0.2) + F.leaky_relu(x, 0.3) + F.relu6(on) * 0.7 + F.hardtanh(on) + F.hardtanh(x, -0.25, 0.125)
    b = on.clamp(0, 1) + on.clamp_min(0.0) + x.clamp_max(0.1) + F.leaky_relu(on, 0.5)
    c = torch.maximum(on, torch.zeros_like(on)) + torch.minimum(on, torch.ones_like(on) * 0.1)
    inside = torch.logical_and(x > -0.4, torch.logical_not(x < -2))
    return a + b + c + torch.where(torch.logical_or(inside, x == 0.3), x, 0.1 * x)


def shapes(m, x):
    n = x.shape[0]
    a = x.reshape(n, 2, 3).transpose(1, 2).contiguous().view(n, 6)
    b = x.unflatten(1, (3, 2)).permute(0, 2, 1).flatten(1).clone()
    c = torch.cat(x.chunk(2, 1)[::-1], 1) + torch.cat(x.split(4, 1)[::-1], 1) + torch.cat(x.split([1, 5], 1)[::-1], 1)
    d = torch.stack([x, 2 * x], 1).select(1, 1) + x.unsqueeze(1).expand(-1, 2, -1)[:, 1] + x[:, None].squeeze(1)
    e = F.pad(x.narrow(1, 1, 3), (1, 2)) + F.pad(x[:, 1:5:2], (4, 0), value=0.3)
    f = F.pad(x.index_select(1, m.places), (0, 3)) + m.scale.expand_as(x) + m.scale[None].t().squeeze(1)
    return a + b + c + d + e + f + (x.T * 0.1).T


def products(m, x):
    square = x.T.matmul(x)
    a = torch.mm(x, square) + torch.bmm(x[:, None], square.expand(x.shape[0], -1, -1)).squeeze(1)
    b = torch.addmm(m.scale, x, square) + F.linear(x, square, m.scale)
    c = F.softmax(x, 1) + F.log_softmax(x, -1) + F.layer_norm(x, (6,), m.scale, None, EPS) + F.rms_norm(x, (6,), m.scale)
    return (a + b) * 0.01 + c + x.sum(1, keepdim=True) + x.mean() + torch.relu(x - 0.2).amax(1, keepdim=True)


def steps(m, x):
    a = torch.floor(3 * x) + torch.ceil(2 * x) + torch.round(4 * x)
    b = torch.where(torch.logical_xor(x >= 0.5, x <= -0.5), x, 0.5 * x) + torch.where(x != 0.25, x, 2 * x)
    c = torch.where(torch.isnan(x), 0.1, x) + torch.where(torch.isinf(x), 0.1, x)
    return 0.1 * (a + torch.sign(x)) * x + b + c


def along(m, x):
    a = x.flip(1) + x.tril() + x.triu(1) + torch.stack(x.unbind(1)[::-1], 1)
    b = x.amin(1, keepdim=True) + x.gather(1, x.argmax(1, keepdim=True)) - x.gather(1, x.argmin(1, keepdim=True))
    c = x.cumsum(1) + torch.logsumexp(x, 1, keepdim=True) + (1 + 0.1 * x).prod(1, keepdim=True)
    d = torch.einsum("ij,jk->ik", x, x.T @ x) + torch.sum(x > 0, 1, keepdim=True, dtype=torch.int64) * x
    e = torch.arange(6) * x + torch.full((6,), 0.5) * x + torch.full_like(x, 0.25) * x + x.new_zeros(6)
    f = F.pad(x[:, m.places], (0, 3)) + torch.tile(x[:, :2], (1, 3)) + x[...]
    return 0.1 * (a + b + c + d + e + f)


def types(m, x):
    shift = torch.tensor([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], dtype=torch.float64)
    return x.to(torch.float32).to(torch.float64) + shift + F.dropout(x, 0.5, training=False) + F.dropout(x, 0.0)


class Images(nn.Module):
    """The layers for images of some dimensions."""

    def __init__(self, dimensions):
        super().__init__()
        layer = lambda name: getattr(nn, f"{name}{dimensions}d")
        self.first = layer("Conv")(2, 4, 3, padding="same")
        self.norm = layer("BatchNorm")(4, eps=EPS, momentum=0.3)
        self.second = layer("Conv")(4, 4, 3, stride=2, padding=2, dilation=2, groups=2, bias=False)
        self.pools = nn.ModuleList([layer("MaxPool")(3, 2, 1, ceil_mode=True), layer("AvgPool")(3, 2, 1),
                                    layer("AvgPool")(2, ceil_mode=True, count_include_pad=False)])
        self.mirrored = layer("Conv")(4, 3, 3, padding=1, padding_mode="reflect")
        self.round = layer("Conv")(4, 3, 3, padding=1, padding_mode="circular")
        self.larger = nn.ModuleList([layer("ConvTranspose")(4, 3, 3, stride=2, padding=1, output_padding=1),
                                     layer("ConvTranspose")(4, 2, 2, groups=2, dilation=2, bias=False)])
        self.last = layer("AdaptiveAvgPool")(1)

    def forward(self, x):
        x = self.second(torch.relu_(self.norm(self.first(x))))
        results = [pool(x) for pool in self.pools] + [self.last(self.mirrored(x)), self.last(self.round(x))]
        results += [layer(x) for layer in self.larger]
        return torch.cat([result.flatten(1) for result in results], 1)


MODULES = {
    **{function.__name__: (lambda function=function: Rows(function), (6, 4))
       for function in (smooth, piecewise, shapes, products, steps, along, types)},
    "1 dimension": (lambda: Images(1), (3, 2, 9)),
    "2 dimensions": (lambda: Images(2), (3, 2, 7, 7)),
    "3 dimensions": (lambda: Images(3), (3, 2, 6, 6, 6)),
}
ELSEWHERE = {"embedding",  # in torch_export_test.py
             "gru", "lstm", "rnn_relu", "rnn_tanh", "zeros",  # in torch_recurrent_test.py
             *(row.torch for row in ACTIVATIONS)}  # in torch_activations_test.py


def made(name):
    torch.manual_seed(1)
    make, shape = MODULES[name]
    return make().double(), torch.from_numpy(np.random.default_rng(2).normal(size=shape))


@pytest.mark.parametrize("name", MODULES)
def test_functions_train_as_in_pytorch(name):
    model, x = made(name)
    with torch.no_grad():
        label = 0.1 * torch.ones_like(model(x))
    random = np.random.default_rng(3)
    batches = [(x + torch.from_numpy(0.1 * random.normal(size=x.shape)), label) for _ in range(13)]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.5)
    assert_goes_on(model, nn.MSELoss(), optimizer, batches, begun=3, steps=10)


def test_no_function_is_left_out():
    called = set()
    for name in MODULES:
        model, x = made(name)
        program = programs.capture(model, (x,), ({0: torch.export.Dim("N")},))
        called |= {programs._name(node) for node in programs._calls(program)
                   if isinstance(node.target, torch._ops.OpOverload)}
    assert set(programs.FUNCTIONS) - called - ELSEWHERE == set()
