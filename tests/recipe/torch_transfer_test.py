"""A new classifier starts as PyTorch starts its layers, behind what PyTorch's exporters write of a network."""

import os
import re
import subprocess

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper
from torch import nn


def prepared(model, folder, *options):
    done = subprocess.run([os.environ["ONWARD"], "prepare", str(model), "-o", str(folder / "t.onnx"), "--loss",
                           "softmax_cross_entropy", *map(str, options)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout, onnx.load(folder / "t.onnx")


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)
        self.down = nn.Conv2d(inputs, outputs, 1, stride, bias=False) if stride > 1 else nn.Identity()

    def forward(self, x):
        return torch.relu(self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x))))) + self.down(x))


class Network(nn.Module):
    """The parts of a ResNet, with fewer channels."""

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8)
        self.layer1, self.layer2 = Block(8, 8, 1), Block(8, 16, 2)
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(16, 10)

    def forward(self, x):
        x = self.layer2(self.layer1(torch.relu(self.bn1(self.conv1(x)))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


@pytest.fixture(scope="module", params=["optimized", "as written"])
def exported(request, tmp_path_factory):
    torch.manual_seed(0)
    file = tmp_path_factory.mktemp("model") / "m.onnx"
    torch.onnx.export(Network().eval(), (torch.zeros(1, 3, 32, 32),), dynamo=True, verbose=False,
                      optimize=request.param == "optimized").save(str(file))
    return file


def test_other_classes_and_any_batch(exported, tmp_path):
    text, model = prepared(exported, tmp_path, "--classes", 5, "--freeze-backbone")
    assert "the batch size was fixed at 1 and is open now" in text, text
    assert "has 5 classes in place of 10" in text and "since the model was written by pytorch" in text, text
    tensors = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    weights = [array for array in tensors.values() if 5 in array.shape[:2] and array.ndim == 2]
    assert [sorted(array.shape) for array in weights] == [[5, 16]]
    assert np.abs(weights[0]).max() <= 0.25
    trained = re.search(r"trained \((\d) tensors, (\d+) parameters\)", text)
    assert trained and trained.groups() == ("2", "85"), text


@pytest.mark.parametrize("layer", [nn.Linear(400, 500), nn.Conv2d(16, 500, 5)])
def test_the_bound_is_pytorch_s(layer, tmp_path):
    """PyTorch's own numbers fill the interval that the note tells, and go no further."""
    shape = (1, 400) if isinstance(layer, nn.Linear) else (1, 16, 5, 5)
    torch.onnx.export(layer.eval(), (torch.zeros(shape),), str(tmp_path / "m.onnx"), dynamo=True, verbose=False)
    text, _ = prepared(tmp_path / "m.onnx", tmp_path, "--classes", 500)
    bound = float(re.search(r"uniform up to ([0-9.e-]+)", text)[1])
    assert bound == 0.05
    for tensor in (layer.weight, layer.bias):
        largest = tensor.detach().abs().max().item()
        assert 0.97 * bound <= largest <= bound * (1 + 1e-6)
