"""Where a derivative is not defined, a job in PyTorch has Onward's."""

import re

import torch
import torch.nn.functional as F
from emitted import module_of
from emitted import onward as command
from kinks import differing, job
from torch import nn

import onward.torch


def test_gradients(tmp_path):
    data, label, ours = job(tmp_path, "torch")
    model, loss_function, _ = module_of(tmp_path / "torch").load()
    model.train()
    loss_function(model(*map(torch.from_numpy, data)), torch.from_numpy(label)).backward()
    assert differing(ours, {name: each.grad.numpy() for name, each in model.named_parameters() if each.grad is not None}) == []


class Clamps(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 4)

    def forward(self, x):
        x = self.linear(x)
        return F.relu6(x) + F.hardtanh(x) + x.clamp(-0.5, 0.25) + x.clamp(min=0.5) + x.clamp(max=2) + x.clamp(1, 1)


def test_a_clamp_comes_back_as_one(tmp_path):
    module = Clamps().double()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    exported = onward.torch.export(module, nn.MSELoss(), optimizer, (torch.ones(2, 3).double(),))
    exported.save(tmp_path / "job.onnx")
    command("export", tmp_path / "job.onnx", "--to", "torch", "-o", tmp_path / "torch")
    text = (tmp_path / "torch/model.py").read_text()
    limits = re.findall(r"torch\.clamp\(x, ([^)]*)\)", text)
    assert limits == ["min=0.0, max=6.0", "min=-1.0, max=1.0", "min=-0.5, max=0.25", "min=0.5", "max=2.0", "min=1.0, max=1.0"]
    assert "torch.where" not in text
