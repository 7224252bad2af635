"""Recurrent layers of PyTorch, with the optimizer's state, go on in Onward."""

import numpy as np
import pytest
import torch
from torch import nn
from torch_training import assert_goes_on

import onward
import onward.torch


class Classifier(nn.Module):
    """What reads a text or a signal: a recurrent layer, its sequence and its last states."""

    def __init__(self, kind, batch_first=True, **options):
        super().__init__()
        self.layer = kind(4, 3, batch_first=batch_first, **options)
        self.batch_first = batch_first
        ways = 2 if options.get("bidirectional") else 1
        self.head = nn.Linear(3 * ways + 3, 5)

    def forward(self, x):
        y, last = self.layer(x if self.batch_first else x.transpose(0, 1))
        last = last[1] if isinstance(last, tuple) else last
        mean = y.mean(1 if self.batch_first else 0)
        return self.head(torch.cat([mean, last[-1]], dim=1))


LAYERS = {
    f"{kind.__name__} {name}": lambda kind=kind, options=options: Classifier(kind, **options)
    for kind in (nn.LSTM, nn.GRU, nn.RNN)
    for name, options in {"plain": {}, "time first": {"batch_first": False}, "both ways": {"bidirectional": True},
                          "two layers": {"num_layers": 2}, "without biases": {"bias": False},
                          "two layers both ways": {"num_layers": 2, "bidirectional": True}}.items()
} | {"RNN relu": lambda: Classifier(nn.RNN, nonlinearity="relu")}


def texts(steps):
    random = np.random.default_rng(3)
    for _ in range(steps):
        yield torch.from_numpy(random.normal(size=(6, 7, 4))), torch.from_numpy(random.integers(0, 5, 6))


@pytest.mark.parametrize("name", LAYERS)
def test_layers_go_on(name):
    torch.manual_seed(2)
    model = LAYERS[name]().double()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    trainer = assert_goes_on(model, nn.CrossEntropyLoss(), optimizer, list(texts(13)), begun=3, steps=10)
    assert set(trainer.model.parameters) == {each for each, _ in model.named_parameters()}


class Stateful(nn.Module):
    """A first state that is learned."""

    def __init__(self):
        super().__init__()
        self.first = nn.Parameter(torch.randn(1, 1, 3))
        self.layer = nn.GRU(4, 3, batch_first=True)

    def forward(self, x):
        return self.layer(x, self.first.expand(1, x.shape[0], 3).contiguous())[0][:, -1]


def test_a_learned_state_goes_on():
    torch.manual_seed(2)
    model = Stateful().double()
    batches = [(x, label % 3) for x, label in texts(13)]
    assert_goes_on(model, nn.CrossEntropyLoss(), torch.optim.AdamW(model.parameters(), lr=0.01), batches, begun=3, steps=10)


class Packed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.LSTM(4, 3, batch_first=True)

    def forward(self, x):
        packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([7, 5, 4, 3, 2, 1]), batch_first=True)
        return self.layer(packed)[1][0][-1]


REFUSED = {
    "dropout": (lambda: Classifier(nn.LSTM, num_layers=2, dropout=0.25), "lstm in LSTM 'layer' with dropout=0.25"),
    "projection": (lambda: Classifier(nn.LSTM, proj_size=2), "LSTM 'layer' with proj_size"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_exact_is_refused(name):
    model, message = REFUSED[name][0](), REFUSED[name][1]
    if name == "projection":
        model.head = nn.Linear(2 + 3, 5)
    with pytest.raises(onward.Error, match=message.replace("'", ".")):
        onward.torch.export(model, nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=0.1), (torch.zeros(2, 7, 4),))
