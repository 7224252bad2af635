"""A training that moves from PyTorch to Onward, beside the same that does not."""

import functools

import numpy as np
from torch.onnx._internal._lazy_import import onnxscript_apis

import onward
import onward.torch

# For every export PyTorch reads the sources of all its ONNX functions anew, which takes longer than the rest.
onnxscript_apis.get_torchlib_ops = functools.cache(onnxscript_apis.get_torchlib_ops)


def train(model, loss, optimizer, batches):
    model.train()
    losses = []
    for x, label in batches:
        optimizer.zero_grad()
        value = loss(model(x), label)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses


def assert_goes_on(model, loss, optimizer, batches, begun=5, steps=50, within=1e-9, compare_state=True):
    """Trains `begun` steps in torch, exports, and compares the next steps, and the state at their end."""
    batches = list(batches)
    train(model, loss, optimizer, batches[:begun])
    exported = onward.torch.export(model, loss, optimizer, (batches[0][0],))
    assert exported.check() == []
    trainer = onward.Trainer(exported)
    name = exported.inputs[0].name
    assert_same_outputs(trainer, model, {name: batches[0][0]}, within)
    losses = [float(trainer.step({name: x.numpy(), "label": label.numpy()})["loss"]) for x, label in batches[begun:]]
    expected = train(model, loss, optimizer, batches[begun:])
    assert len(losses) == steps
    assert np.allclose(losses, expected, rtol=0, atol=within), np.abs(np.subtract(losses, expected)).max()
    if compare_state:
        assert_same_state(trainer.state(), model, optimizer, within)
        assert_same_outputs(trainer, model, {name: batches[0][0]}, within)
    return trainer


def assert_same_state(state, model, optimizer, within):
    for key, tensor in model.state_dict().items():
        if key in state:
            assert np.allclose(state[key], tensor.numpy(), rtol=0, atol=within), key
    for key, parameter in model.named_parameters():
        for slot, value in optimizer.state.get(parameter, {}).items():
            if slot != "step" and value is not None:
                assert np.allclose(state[f"{key}.{slot}"], value.numpy(), rtol=0, atol=within), (key, slot)


def assert_same_outputs(trainer, model, inputs, within):
    model.eval()
    expected = model(*inputs.values()).detach().numpy()
    result = trainer.infer({name: tensor.numpy() for name, tensor in inputs.items()})["output"]
    assert np.allclose(result, expected, rtol=0, atol=within), np.abs(result - expected).max()
