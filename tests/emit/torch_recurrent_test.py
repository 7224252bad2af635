"""A module with recurrent layers that was imported from PyTorch is exported as the same module."""

import numpy as np
import pytest
import torch
from torch import nn

import onward.torch
from emitted import module_of, onward as program


class Tagger(nn.Module):
    """A recurrent layer between an embedding and a head."""

    def __init__(self, kind, **options):
        super().__init__()
        self.words = nn.Embedding(20, 4)
        self.layer = kind(4, 3, batch_first=True, **options)
        self.head = nn.Linear(6 if options.get("bidirectional") else 3, 5)

    def forward(self, x):
        y, _ = self.layer(self.words(x))
        return self.head(y[:, -1])


MODULES = {
    "LSTM": (lambda: Tagger(nn.LSTM), "nn.LSTM(4, 3, batch_first=True"),
    "LSTM both ways": (lambda: Tagger(nn.LSTM, bidirectional=True), "nn.LSTM(4, 3, batch_first=True, bidirectional=True"),
    "GRU": (lambda: Tagger(nn.GRU, bias=False), "nn.GRU(4, 3, bias=False, batch_first=True"),
    "GRU both ways": (lambda: Tagger(nn.GRU, bidirectional=True), "nn.GRU(4, 3, batch_first=True, bidirectional=True"),
}


@pytest.mark.parametrize("name", MODULES)
def test_the_same_module_comes_out(tmp_path, name):
    torch.manual_seed(1)
    model = MODULES[name][0]().double()
    loss, optimizer = nn.CrossEntropyLoss(), torch.optim.Adam(model.parameters(), lr=0.01)
    x, label = torch.randint(0, 20, (6, 7)), torch.randint(0, 5, (6,))

    def step(one, criterion, its_optimizer):
        one.train()
        its_optimizer.zero_grad()
        value = criterion(one(x), label)
        value.backward()
        its_optimizer.step()
        return value.item()

    for _ in range(3):
        step(model, loss, optimizer)
    onward.torch.export(model, loss, optimizer, (x,)).save(tmp_path / "job.onnx")
    program("export", tmp_path / "job.onnx", "--to", "torch", "-o", tmp_path / "torch")
    source = (tmp_path / "torch/model.py").read_text()
    assert f"self.layer = {MODULES[name][1]}" in source and "= self.layer(" in source
    module = module_of(tmp_path / "torch")
    emitted, its_loss, its_optimizer = module.load()
    assert emitted.state_dict().keys() == model.state_dict().keys()
    for key, tensor in emitted.state_dict().items():
        torch.testing.assert_close(model.state_dict()[key], tensor, rtol=0, atol=0)
    for _ in range(5):
        expected = step(model, loss, optimizer)
        np.testing.assert_allclose(step(emitted, its_loss, its_optimizer), expected, rtol=1e-9)
    module.save(emitted, its_optimizer)
    program("import-weights", tmp_path / "torch", tmp_path / "job.onnx", "-o", tmp_path / "taken.onnx")
    program("export", tmp_path / "taken.onnx", "--to", "torch", "-o", tmp_path / "again")
    again, _, _ = module_of(tmp_path / "again").load()
    for key, tensor in emitted.state_dict().items():
        torch.testing.assert_close(again.state_dict()[key], tensor, rtol=0, atol=0)
