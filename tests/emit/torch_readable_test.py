"""Emitted source of models that people write in PyTorch reads like theirs: docs/emitted_source.md shows both.

As a script, it writes that page: `torch_readable_test.py FOLDER` with the environment of the tests."""

import ast
import copy
import pathlib
import re
import sys
import tempfile

import numpy as np
import pytest
import torch
from torch import nn

import models
import onward.torch
from emitted import module_of, onward as program
from pages import LONGEST, PAGE, classes_in, complaints, original_of, section, write_sections

MODELS = {
    "vit": (models.VisionTransformer, [models.Attention, models.EncoderBlock, models.VisionTransformer]),
    "gpt": (models.GPT, [models.CausalSelfAttention, models.MLP, models.Block, models.GPT]),
    "resnet18": (models.ResNet18, [models.BasicBlock, models.ResNet18]),
}


def made_up(name, size=4, length=8):
    """A batch: what the model reads, and what it should give."""
    torch.manual_seed(size + length)
    if name == "gpt":
        return torch.randint(0, 50, (size, length)), torch.randn(size, length, 50)
    side = 16 if name == "vit" else 32
    return torch.randn(size, 3, side, side), torch.randint(0, 10, (size,))


def prepare_gpt(model, x, folder):
    """A job from what torch.onnx.export writes, for texts of any length: a training that begins."""
    size, length = torch.export.Dim("N"), torch.export.Dim("T", max=12)
    program_of_model = torch.onnx.export(model.eval(), (x,), dynamo=True, optimize=False, verbose=False,
                                         dynamic_shapes=({0: size, 1: length},))
    program_of_model.save(folder / "gpt.onnx")
    program("prepare", folder / "gpt.onnx", "-o", folder / "job.onnx", "--loss", "mse", "--optimizer", "adamw",
            "--formula", "torch", "--lr", "0.01", "--weight-decay", "0.01", "--freeze", "*.mask")


def job_of(name, folder):
    """The model in training, its loss and optimizer, and the folder that its job was emitted to."""
    torch.manual_seed(0)
    model = MODELS[name][0]()
    loss = nn.MSELoss() if name == "gpt" else nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    x, label = made_up(name)
    if name != "gpt":
        step(model, loss, optimizer, x, label)
    if name == "gpt":
        prepare_gpt(model, x, folder)
    else:
        onward.torch.export(model, loss, optimizer, (x,)).save(folder / "job.onnx")
    program("export", folder / "job.onnx", "--to", "torch", "-o", folder / "torch")
    return model, loss, optimizer


def step(model, loss, optimizer, x, label):
    model.train()
    optimizer.zero_grad()
    value = loss(model(x), label)
    value.backward()
    optimizer.step()
    return value.item()


@pytest.fixture(scope="module", params=MODELS)
def job(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    return request.param, folder, *job_of(request.param, folder)


def test_length(job):
    name, folder, *_ = job
    emitted, original = classes_in((folder / "torch/model.py").read_text()), original_of(MODELS[name][1])
    assert len(emitted.splitlines()) <= LONGEST * len(original.splitlines())


def test_reads_well(job):
    name, folder, *_ = job
    source = classes_in((folder / "torch/model.py").read_text())
    assert "ModuleDict" not in source and "torch.tensor(" not in source
    variables = {node.id for node in ast.walk(ast.parse(source))
                 if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    assert not [each for each in variables if re.search(r"\d", each)]
    # Nothing is spelled out that is a layer.
    assert not re.findall(r"F\.(?!softmax)\w+", source)
    assert {node.name for node in ast.parse(source).body} >= {each.__name__ for each in MODELS[name][1]}


def test_ruff_has_no_complaints(job):
    _, folder, *_ = job
    assert complaints(folder / "torch/model.py") == ""


def test_goes_on(job):
    """The same results for any size, the same step, and the way back."""
    name, folder, model, loss, optimizer = job
    model, optimizer = copied(model, optimizer)
    module = module_of(folder / "torch")
    emitted, its_loss, its_optimizer = module.load()
    assert set(emitted.state_dict()) == set(model.state_dict())
    for size, length in ((4, 8), (1, 5), (3, 12)):
        x, _ = made_up(name, size, length)
        np.testing.assert_allclose(emitted.eval()(x).detach(), model.eval()(x).detach(), rtol=1e-4, atol=1e-5)
    for size in (4, 3):
        x, label = made_up(name, size, size + 4)
        expected = step(model, loss, optimizer, x, label)
        assert step(emitted, its_loss, its_optimizer, x, label) == pytest.approx(expected, rel=1e-4)
    module.save(emitted, its_optimizer)
    program("take", folder / "torch", folder / "job.onnx", "-o", folder / "taken.onnx")
    program("export", folder / "taken.onnx", "--to", "torch", "-o", folder / "again")
    again, _, _ = module_of(folder / "again").load()
    for key, tensor in emitted.state_dict().items():
        if not key.endswith("num_batches_tracked"):
            torch.testing.assert_close(again.state_dict()[key], tensor, rtol=0, atol=0)


def copied(model, optimizer):
    """Both, so that a test can train them."""
    twin = copy.deepcopy(model)
    other = torch.optim.AdamW(twin.parameters(), lr=0.01)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    return twin, other


def test_page(job):
    name, folder, *_ = job
    emitted = classes_in((folder / "torch/model.py").read_text())
    assert f"```python\n{original_of(MODELS[name][1])}```" in PAGE.read_text()
    assert f"```python\n{emitted}```" in PAGE.read_text()


if __name__ == "__main__":
    sections = {}
    for each, (kind, classes) in MODELS.items():
        with tempfile.TemporaryDirectory() as made:
            job_of(each, pathlib.Path(made))
            text = classes_in((pathlib.Path(made) / "torch/model.py").read_text())
        sections[kind.__name__] = section(kind.__name__, original_of(classes), text)
    write_sections(sections)
    sys.exit(0)
